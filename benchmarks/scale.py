"""What more processes bring: traces judged a second by workers, made durable a second by ingest.

    python -m benchmarks.scale --postgresql URL [--traces 1500] [--workers 1 2 4] [--ingest 1 2]

Judging: a fresh database is filled with traces that wait to be judged; worker processes are
started and timed from a tenth to nine tenths of the work. `embedded` is bound by processors;
`remote` asks a scripted server that answers every call after `--latency` seconds, of every trace,
beside the embedded judge. Ingest: as `benchmarks/ingest.py`, several servers on one PostgreSQL.

Prints one JSON object. Beside traces a second it gives the CPU a trace cost in the workers (or in
ingest) and in all, for on a machine with few or busy cores the rate is theirs, not the design's.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import ingest
from benchmarks.stub_server import Answer, Body, StubServer, obliging

ROOT = Path(__file__).resolve().parents[1]
APPS = 4


def fill(url: str, count: int) -> None:
    """Put `count` traces into the database that wait to be judged."""
    from rag_monitor.store import migration
    from rag_monitor.store.options import StoreOptions
    from rag_monitor.store.store import Store
    from rag_monitor.worker.jobs import derive_everything

    migration.upgrade(url)
    with Store.open(StoreOptions(url=url, root_delay_s=0.0)) as store:
        store.writer.start()
        asyncio.run(write(store, count, "scale"))
        from rag_monitor.domain.clock import SystemClock

        derive_everything(store, SystemClock().now())


async def write(store: Any, count: int, name: str) -> None:
    """Take `count` different traces in."""
    from rag_monitor.ingest.receiver import Receiver

    receiver = Receiver(store.writer)
    batch = 100
    for start in range(0, count, batch):
        rows = [
            {
                "id": f"{name}-{n}",
                "app": f"app-{n % APPS}",
                "question": f"How long is the warranty of model {n}?",
                "contexts": [
                    f"The standard warranty of model {n} lasts {n % 60} months. It covers parts."
                    " Batteries are covered for six months only. Keep the receipt." * 2
                    for _ in range(5)
                ],
                "answer": f"The warranty of model {n} lasts {n % 60} months. It covers parts.",
            }
            for n in range(start, min(start + batch, count))
        ]
        await receiver.receive_json(json.dumps(rows).encode(), "default")


@contextlib.contextmanager
def stub(latency_s: float) -> Iterator[str]:
    """A model server in a process of its own; gives its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.scale", "--stub", str(latency_s)],
        stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


async def serve_stub(latency_s: float) -> None:
    """Answer every call after `latency_s`, until standard input closes."""

    def script(path: str, body: Body) -> Answer:
        return Answer(payload=obliging(path, body).payload, delay_s=latency_s)

    async with StubServer(script, keep=False) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextlib.contextmanager
def serving(role: str, count: int, url: str, folder: Path) -> Iterator[list[tuple[int, int]]]:
    """`count` processes of a role; gives their pids and ports."""
    started: list[subprocess.Popen[bytes]] = []
    found = []
    try:
        for number in range(count):
            with socket.create_server(("127.0.0.1", 0)) as probe:
                port = probe.getsockname()[1]
            environment = {
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "RAG_MONITOR_DATABASE_URL": url,
                "RAG_MONITOR_PORT": str(port),
            }
            command = [sys.executable, "-m", "rag_monitor", "serve", "--role", role]
            with (folder / f"{role}-{number}.log").open("wb") as log:
                process = subprocess.Popen(command, env=environment, cwd=folder, stderr=log)
            started.append(process)
            found.append((process.pid, port))
        yield found
    finally:
        for process in started:
            process.terminate()
        for process in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def left(url: str) -> int:
    """Tasks that are not finished."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        row = connection.execute("SELECT count(*) FROM evaluation_tasks").fetchone()
        return int(row[0]) if row else 0


def judging(base: str, workers: int, traces: int, judge_url: str | None) -> dict[str, Any]:
    """Traces a second that `workers` processes judge."""
    with ingest.database("scale", base) as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(url, traces)
        if judge_url is not None:
            (folder / "rag_monitor.toml").write_text(
                'judge = "openai_compatible"\n[judges.openai_compatible]\n'
                f'base_url = "{judge_url}"\nmodel = "stub"\nprobe_every = 0\n'
                "[sampling]\nrate = 1.0\n",
                encoding="utf-8",
            )
        # The lexical variant must not take over because the queue was full at the start.
        os.environ["RAG_MONITOR_EVALUATION_LAG_LIMIT_S"] = "100000"
        with serving("worker", workers, url, folder) as processes:
            marks: list[tuple[float, int, float]] = []
            while not marks or marks[-1][1]:
                time.sleep(0.2)
                used = sum(ingest.cpu_s(pid) for pid, _ in processes)
                marks.append((time.monotonic(), left(url), used))
        return _middle(marks, traces) | {"leader_cpu_ms_per_trace": adding_up(url, traces)}


def adding_up(url: str, traces: int) -> float:
    """CPU it takes the leader to add up one judged trace once; the database's is not in it."""
    import psycopg

    from rag_monitor.aggregation.rollup import summarise
    from rag_monitor.domain.stored import ChangedMinute
    from rag_monitor.store.options import StoreOptions
    from rag_monitor.store.store import Store

    minutes = "SELECT DISTINCT project, app, date_trunc('minute', started_at) FROM traces"
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        rows = connection.execute(minutes).fetchall()
    dirty = [ChangedMinute(project=p, app=a, minute=m, version=0) for p, a, m in rows]
    with Store.open(StoreOptions(url=url)) as store:
        before = time.process_time()
        summarise(store.rollups.facts(dirty))
        return round((time.process_time() - before) / traces * 1e3, 3)


def _middle(marks: Sequence[tuple[float, int, float]], traces: int) -> dict[str, Any]:
    """Rate and CPU between a tenth and nine tenths of the work."""
    first = next(mark for mark in marks if mark[1] <= traces * 0.9)
    last = next(mark for mark in marks if mark[1] <= traces * 0.1)
    done = max(1, first[1] - last[1])
    seconds = max(1e-9, last[0] - first[0])
    return {
        "traces_per_s": round(done / seconds, 1),
        "worker_cpu_ms_per_trace": round((last[2] - first[2]) / done * 1e3, 2),
        "seconds": round(seconds, 1),
        "load_average": round(os.getloadavg()[0], 1),
    }


def ingesting(base: str, servers: int, seconds: float, batch: int) -> dict[str, Any]:
    """Traces a second that `servers` processes make durable; each has its own load generator."""
    from rag_monitor.store import migration

    with ingest.database("scale", base) as url, tempfile.TemporaryDirectory() as name:
        migration.upgrade(url)
        with serving("ingest", servers, url, Path(name)) as processes:
            for pid, port in processes:
                _await(port, pid)
            before = sum(ingest.cpu_s(pid) for pid, _ in processes)
            command = [
                sys.executable,
                str(ROOT / "benchmarks" / "ingest.py"),
                "--batch",
                str(batch),
            ]
            loads = [
                subprocess.Popen(
                    [*command, "--load", str(port), "--seconds", str(seconds)],
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for _, port in processes
            ]
            found = [json.loads(load.communicate()[0]) for load in loads]
            used = sum(ingest.cpu_s(pid) for pid, _ in processes) - before
        acknowledged = sum(item["acknowledged"] for item in found)
        return {
            "traces_per_s": round(sum(item["traces_per_s"] for item in found), 1),
            "ingest_cpu_ms_per_trace": round(used / acknowledged * 1e3, 3),
            "request_p99_ms": max(item["request_ms"]["p99"] for item in found),
            "lost": acknowledged - ingest.stored(url),
            "load_average": round(os.getloadavg()[0], 1),
        }


def _await(port: int, pid: int) -> None:
    import urllib.request

    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and Path(f"/proc/{pid}").exists():
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
            return
        time.sleep(0.2)
    raise SystemExit("a server did not become ready")


def report(given: argparse.Namespace) -> dict[str, Any]:
    """Every count of every kind."""
    out: dict[str, Any] = {
        "cpus": os.cpu_count(),
        "load_average_before": os.getloadavg(),
        "traces": given.traces,
        "latency_s": given.latency,
        "embedded": {},
        "remote": {},
        "ingest": {},
    }
    for count in given.workers:
        out["embedded"][count] = judging(given.postgresql, count, given.traces, None)
        say(f"embedded, {count}", out["embedded"][count])
    with stub(given.latency) as url:
        for count in given.workers:
            out["remote"][count] = judging(given.postgresql, count, given.traces, url)
            say(f"remote, {count}", out["remote"][count])
    for count in given.ingest:
        out["ingest"][count] = ingesting(given.postgresql, count, given.seconds, given.batch)
        say(f"ingest, {count}", out["ingest"][count])
    return out


def say(what: str, figures: Mapping[str, Any]) -> None:
    """One result as soon as it is there, on standard error."""
    sys.stderr.write(f"{what}: {json.dumps(figures)}\n")
    sys.stderr.flush()


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", help="URL of a server in which a database may be made")
    parser.add_argument("--traces", type=int, default=1500)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--ingest", type=int, nargs="*", default=[1, 2])
    parser.add_argument(
        "--latency", type=float, default=1.0, help="seconds of a remote judge's call"
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="of load on ingest")
    parser.add_argument("--batch", type=int, default=100, help="traces per request")
    parser.add_argument("--stub", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stub is not None:
        asyncio.run(serve_stub(given.stub))
    elif given.postgresql is None:
        parser.error("--postgresql is needed: several processes share a database")
    else:
        print(json.dumps(report(given), indent=2))


if __name__ == "__main__":
    main()
