"""What capturing one RAG trace costs the application: ours and bare OpenTelemetry, side by side.

One trace is a root, a retrieval of 5 passages of 200 words and a generation, paced 1 ms apart. Each
variant runs in a fresh process against a sink in another process. Prints one JSON object:

    python benchmarks/sdk_overhead.py [--traces 3000] [--peers]

`in_call_us` is the time the traced call takes above the same call untraced; `cpu_us` is all CPU of
the process per trace, background thread and final flush included, above the same paced loop
untraced; `rss_mib` is how much the process grew. Server states: `up` answers, `down` refuses,
`hung` accepts and never answers. `--peers` also runs the SDKs of other tools that are installed
in this environment (opik, langfuse, logfire, openinference); what is missing is listed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PASSAGE = " ".join(f"word{n}" for n in range(200))
DOCUMENTS = [{"id": f"doc-{n}", "content": PASSAGE, "score": 0.9 - n / 10} for n in range(5)]
QUESTION = "How long does the standard warranty last?"
ANSWER = "The standard warranty lasts 24 months from the day of purchase. " * 5
PEERS = ("opik", "langfuse", "logfire", "openinference.instrumentation")
Handler = Callable[[str], str]


def bare(endpoint: str) -> tuple[Handler, Callable[[], Any]]:
    """The handler without any tracing."""
    del endpoint

    def answer(question: str) -> str:
        del question
        return ANSWER

    return answer, lambda: None


def ours(endpoint: str) -> tuple[Handler, Callable[[], Any]]:
    """Our SDK, default settings."""
    import rag_monitor as rm

    rm.configure(app="bench", endpoint=endpoint, strict=True)

    @rm.trace
    def answer(question: str) -> str:
        del question
        with rm.retrieval(knowledge_base="kb") as found:
            found.documents = DOCUMENTS
        with rm.generation(model="model"):
            return ANSWER

    def finish() -> Any:
        rm.flush(5.0)
        return rm.stats()

    return answer, finish


def opentelemetry(endpoint: str) -> tuple[Handler, Callable[[], Any]]:
    """Three spans of the plain OpenTelemetry SDK with the same content, batch export."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": "bench"}))
    exporter = OTLPSpanExporter(endpoint=endpoint + "/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("bench")

    def answer(question: str) -> str:
        with tracer.start_as_current_span("invoke_workflow answer") as root:
            root.set_attribute("input.value", question)
            with tracer.start_as_current_span("retrieval kb") as span:
                span.set_attribute("gen_ai.operation.name", "retrieval")
                span.set_attribute("gen_ai.data_source.id", "kb")
                span.set_attribute("gen_ai.retrieval.documents", json.dumps(DOCUMENTS))
            with tracer.start_as_current_span("chat model") as span:
                span.set_attribute("gen_ai.operation.name", "chat")
                span.set_attribute("gen_ai.request.model", "model")
            root.set_attribute("output.value", ANSWER)
            return ANSWER

    return answer, lambda: provider.force_flush(5000)


def opik(endpoint: str) -> tuple[Handler, Callable[[], Any]]:
    """Opik's decorator."""
    os.environ.update(OPIK_URL_OVERRIDE=endpoint + "/api/", OPIK_TRACK_DISABLE="false")
    import opik as peer

    @peer.track(type="tool")
    def search(question: str) -> list[dict[str, Any]]:
        del question
        return DOCUMENTS

    @peer.track(type="llm")
    def write(question: str) -> str:
        del question
        return ANSWER

    @peer.track
    def answer(question: str) -> str:
        search(question)
        return write(question)

    return answer, lambda: peer.flush_tracker(timeout=5)


def langfuse(endpoint: str) -> tuple[Handler, Callable[[], Any]]:
    """Langfuse's decorator."""
    os.environ.update(
        {
            "LANGFUSE_HOST": endpoint,
            "LANGFUSE_PUBLIC_KEY": "pk-bench",
            "LANGFUSE_SECRET_KEY": "sk-bench",
        }
    )
    import langfuse as peer

    @peer.observe(as_type="retriever")
    def search(question: str) -> list[dict[str, Any]]:
        del question
        return DOCUMENTS

    @peer.observe(as_type="generation")
    def write(question: str) -> str:
        del question
        return ANSWER

    @peer.observe
    def answer(question: str) -> str:
        search(question)
        return write(question)

    return answer, lambda: peer.get_client().flush()


VARIANTS: dict[str, Callable[[str], tuple[Handler, Callable[[], Any]]]] = {
    "bare": bare,
    "ours": ours,
    "opentelemetry": opentelemetry,
    "opik": opik,
    "langfuse": langfuse,
}


def measure(variant: str, endpoint: str, traces: int) -> dict[str, Any]:
    """Run one variant in this process."""
    handler, finish = VARIANTS[variant](endpoint)
    for _ in range(200):
        handler(QUESTION)
        time.sleep(0.0005)
    time.sleep(1.2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times: list[int] = []
    cpu = time.process_time()
    for _ in range(traces):
        start = time.perf_counter_ns()
        handler(QUESTION)
        times.append(time.perf_counter_ns() - start)
        time.sleep(0.001)
    outcome = finish()
    cpu = time.process_time() - cpu
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    times.sort()
    return {
        "in_call_us": {
            name: round(times[min(traces - 1, int(traces * share))] / 1e3, 1)
            for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
        },
        "cpu_us": round(cpu / traces * 1e6, 1),
        "rss_mib": round(grown / 1024, 1),
        "outcome": outcome,
    }


def serve(listener: socket.socket, state: str) -> None:
    """A sink: reads requests and answers 200, or never answers."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection, state), daemon=True).start()


def _answer(connection: socket.socket, state: str) -> None:
    if state == "hung":
        time.sleep(3600)
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
        while stream.readline():
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            stream.read(length)
            connection.sendall(reply)


@contextlib.contextmanager
def sink(state: str) -> Iterator[str]:
    """A sink in another process; yields its URL. `down` yields a port nobody listens on."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    if state == "down":
        listener.close()
        yield url
        return
    process = subprocess.Popen(
        [sys.executable, __file__, "--sink", state, "--fd", str(listener.fileno())],
        pass_fds=[listener.fileno()],
    )
    listener.close()
    try:
        yield url
    finally:
        process.kill()
        process.wait()


def run(variant: str, state: str, traces: int) -> dict[str, Any]:
    """Run one variant in a fresh process."""
    with sink(state) as endpoint:
        command = [sys.executable, __file__, "--worker", variant, "--endpoint", endpoint]
        done = subprocess.run(
            [*command, "--traces", str(traces)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    if done.returncode:
        return {"failed": done.stderr[-500:]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def report(traces: int, *, peers: bool) -> dict[str, Any]:
    """Everything, as one JSON object."""
    base = run("bare", "down", traces)
    out: dict[str, Any] = {
        "traces": traces,
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "results": {},
    }
    jobs = [("ours", state) for state in ("up", "down", "hung")]
    jobs += [("opentelemetry", state) for state in ("up", "down", "hung")]
    if peers:
        missing = [name for name in PEERS if _missing(name)]
        out["peers_missing"] = missing
        jobs += [(n, "up") for n in ("opik", "langfuse") if n not in missing]
    for variant, state in jobs:
        result = run(variant, state, traces)
        if "failed" not in result:
            result["cpu_us"] = round(result["cpu_us"] - base["cpu_us"], 1)
        out["results"][f"{variant}/{state}"] = result
    out["ratios"] = _ratios(out["results"])
    return out


def _ratios(results: dict[str, Any]) -> dict[str, float]:
    mine, other = results["ours/up"], results["opentelemetry/up"]
    if "failed" in mine or "failed" in other:
        return {}
    return {
        "in_call_p50": round(mine["in_call_us"]["p50"] / other["in_call_us"]["p50"], 3),
        "cpu": round(mine["cpu_us"] / other["cpu_us"], 3),
    }


def _missing(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is None
    except ModuleNotFoundError:
        return True


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--traces", type=int, default=3000)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--worker", choices=sorted(VARIANTS), help=argparse.SUPPRESS)
    parser.add_argument("--endpoint", default="", help=argparse.SUPPRESS)
    parser.add_argument("--sink", choices=("up", "hung"), help=argparse.SUPPRESS)
    parser.add_argument("--fd", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sink:
        serve(socket.socket(fileno=given.fd), given.sink)
    elif given.worker:
        print(json.dumps(measure(given.worker, given.endpoint, given.traces)))
    else:
        print(json.dumps(report(given.traces, peers=given.peers), indent=2))


if __name__ == "__main__":
    main()
