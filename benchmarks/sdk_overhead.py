r"""What capturing one RAG trace costs the application: ours and bare OpenTelemetry, side by side.

One trace is a root, a retrieval of 5 passages of 200 words and a generation, paced 1 ms apart. Each
variant runs in a fresh process against a sink in another process. Prints one JSON object:

    python benchmarks/sdk_overhead.py [--traces N] [--rounds N] [--cores-may-sleep] [--peers PYTHON]

`in_call_us` is the time the traced call takes above the same call untraced; `cpu_us` is all CPU of
the process per trace, background thread and final flush included, above the same paced loop
untraced; `rss_mib` is how much the process grew. Server states: `up` answers, `down` refuses,
`hung` accepts and never answers. Every variant runs once per round, in turn, and the medians of the
rounds are given, because a shared machine is never quiet for all of them.

A process of the lowest priority keeps each core from falling asleep meanwhile: an application that
serves has little idle time, while a paced loop alone on a virtual machine wakes a halted core for
every call, and pays for that more than for the call. `--cores-may-sleep` measures without it.

OpenTelemetry is measured twice: `opentelemetry` keeps the passages as one JSON attribute, as its
conventions say, and `opentelemetry_flat` as one attribute per passage, which costs less in the
call. The ratios compare ours with the cheaper one.

`--peers PYTHON` also runs the SDKs of Opik, Langfuse, Logfire and OpenInference with that
interpreter, so that their dependencies stay out of ours; what it cannot import is listed:

    python -m venv /tmp/peers
    /tmp/peers/bin/pip install opik langfuse logfire openinference-instrumentation \
        opentelemetry-exporter-otlp-proto-http
    python benchmarks/sdk_overhead.py --peers /tmp/peers/bin/python
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [path for path in sys.path if Path(path).resolve() != ROOT / "benchmarks"]
"""`statistics` is the name of a file beside this one, which libraries must not find."""
PASSAGE = " ".join(f"word{n}" for n in range(200))
DOCUMENTS = [{"id": f"doc-{n}", "content": PASSAGE, "score": 0.9 - n / 10} for n in range(5)]
QUESTION = "How long does the standard warranty last?"
ANSWER = "The standard warranty lasts 24 months from the day of purchase. " * 5
PEERS = ("opik", "langfuse", "logfire", "openinference")
RIVALS = ("opentelemetry", "opentelemetry_flat")
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
    provider = _provider(endpoint)
    return _three_spans(provider, flat=False), lambda: provider.force_flush(5000)


def opentelemetry_flat(endpoint: str) -> tuple[Handler, Callable[[], Any]]:
    """The same, one attribute per passage: no JSON in the call."""
    provider = _provider(endpoint)
    return _three_spans(provider, flat=True), lambda: provider.force_flush(5000)


def _provider(endpoint: str) -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": "bench"}))
    exporter = OTLPSpanExporter(endpoint=endpoint + "/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _three_spans(provider: Any, *, flat: bool) -> Handler:
    tracer = provider.get_tracer("bench")

    def answer(question: str) -> str:
        with tracer.start_as_current_span("invoke_workflow answer") as root:
            root.set_attribute("input.value", question)
            with tracer.start_as_current_span("retrieval kb") as span:
                span.set_attribute("gen_ai.operation.name", "retrieval")
                span.set_attribute("gen_ai.data_source.id", "kb")
                if flat:
                    for number, document in enumerate(DOCUMENTS):
                        key = f"retrieval.documents.{number}.document"
                        span.set_attribute(f"{key}.id", document["id"])
                        span.set_attribute(f"{key}.content", document["content"])
                        span.set_attribute(f"{key}.score", document["score"])
                else:
                    span.set_attribute("gen_ai.retrieval.documents", json.dumps(DOCUMENTS))
            with tracer.start_as_current_span("chat model") as span:
                span.set_attribute("gen_ai.operation.name", "chat")
                span.set_attribute("gen_ai.request.model", "model")
            root.set_attribute("output.value", ANSWER)
            return ANSWER

    return answer


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


def logfire(endpoint: str) -> tuple[Handler, Callable[[], Any]]:
    """Logfire's spans, exported to the sink instead of its own service."""
    import logfire as peer
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter = OTLPSpanExporter(endpoint=endpoint + "/v1/traces")
    processor = BatchSpanProcessor(exporter)
    peer.configure(send_to_logfire=False, console=False, additional_span_processors=[processor])

    def answer(question: str) -> str:
        with peer.span("answer", question=question) as root:
            with peer.span("retrieval kb", documents=DOCUMENTS):
                pass
            with peer.span("chat model", model="model"):
                pass
            root.set_attribute("answer", ANSWER)
            return ANSWER

    return answer, lambda: peer.force_flush(5000)


def openinference(endpoint: str) -> tuple[Handler, Callable[[], Any]]:
    """OpenInference's tracer, as Phoenix sets it up, with batch export."""
    from openinference.instrumentation import OITracer, TraceConfig

    provider = _provider(endpoint)
    tracer = OITracer(provider.get_tracer("bench"), config=TraceConfig())

    def answer(question: str) -> str:
        with tracer.start_as_current_span("answer", openinference_span_kind="chain") as root:
            root.set_input(question)
            with tracer.start_as_current_span("kb", openinference_span_kind="retriever") as span:
                span.set_input(question)
                for number, document in enumerate(DOCUMENTS):
                    for name, value in document.items():
                        key = f"retrieval.documents.{number}.document.{name}"
                        span.set_attribute(key, value)
            with tracer.start_as_current_span("chat", openinference_span_kind="llm") as span:
                span.set_attribute("llm.model_name", "model")
            root.set_output(ANSWER)
            return ANSWER

    return answer, lambda: provider.force_flush(5000)


VARIANTS: dict[str, Callable[[str], tuple[Handler, Callable[[], Any]]]] = {
    "bare": bare,
    "ours": ours,
    "opentelemetry": opentelemetry,
    "opentelemetry_flat": opentelemetry_flat,
    "opik": opik,
    "langfuse": langfuse,
    "logfire": logfire,
    "openinference": openinference,
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


def run(variant: str, state: str, traces: int, python: str = sys.executable) -> dict[str, Any]:
    """Run one variant in a fresh process."""
    with sink(state) as endpoint:
        command = [python, __file__, "--worker", variant, "--endpoint", endpoint]
        done = subprocess.run(
            [*command, "--traces", str(traces)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@contextlib.contextmanager
def cores_awake() -> Iterator[None]:
    """A process of the lowest priority spins on each core meanwhile."""
    spin = "import os\nos.nice(19)\nwhile os.getppid() == int(os.environ['OWNER']): pass"
    environment = {**os.environ, "OWNER": str(os.getpid())}
    spinners = [
        subprocess.Popen([sys.executable, "-c", spin], env=environment)
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def report(traces: int, rounds: int, peers: str | None) -> dict[str, Any]:
    """Everything, as one JSON object."""
    jobs = [("ours", state, sys.executable) for state in ("up", "down", "hung")]
    jobs += [(name, "up", sys.executable) for name in RIVALS]
    if peers:
        jobs += [(name, "up", peers) for name in PEERS]
    load = os.getloadavg()
    runs: dict[str, list[dict[str, Any]]] = {}
    for _ in range(rounds):
        base = run("bare", "down", traces)["cpu_us"]
        for variant, state, python in jobs:
            result = run(variant, state, traces, python)
            if "failed" not in result:
                result["cpu_us"] = round(result["cpu_us"] - base, 1)
            runs.setdefault(f"{variant}/{state}", []).append(result)
    results = {name: _median(found) for name, found in runs.items()}
    return {
        "traces": traces,
        "rounds": rounds,
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load_average": {"before": load, "after": os.getloadavg()},
        "results": results,
        "ratios_to_the_cheaper_opentelemetry": _ratios(results),
    }


def _median(found: list[dict[str, Any]]) -> dict[str, Any]:
    good = [result for result in found if "failed" not in result]
    if not good:
        return found[0]
    return {
        "in_call_us": {
            name: _middle(result["in_call_us"][name] for result in good)
            for name in good[0]["in_call_us"]
        },
        "cpu_us": round(_middle(result["cpu_us"] for result in good), 1),
        "rss_mib": max(result["rss_mib"] for result in good),
        "outcome": good[-1]["outcome"],
    }


def _middle(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _ratios(results: dict[str, Any]) -> dict[str, float]:
    mine = results["ours/up"]
    others = [results[f"{name}/up"] for name in RIVALS]
    if "failed" in mine or any("failed" in other for other in others):
        return {}
    p50 = min(other["in_call_us"]["p50"] for other in others)
    cpu = min(other["cpu_us"] for other in others)
    return {
        "in_call_p50": round(mine["in_call_us"]["p50"] / p50, 3),
        "cpu": round(mine["cpu_us"] / cpu, 3),
    }


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--traces", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", metavar="PYTHON", help="interpreter that has the peers")
    parser.add_argument("--cores-may-sleep", action="store_true", help="do not keep cores awake")
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
        awake = not given.cores_may_sleep
        with cores_awake() if awake else contextlib.nullcontext():
            found = report(given.traces, given.rounds, given.peers)
        print(json.dumps({"cores_kept_awake": awake, **found}, indent=2))


if __name__ == "__main__":
    main()
