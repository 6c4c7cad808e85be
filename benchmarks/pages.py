"""How large the pages are and how long they take over a hundred thousand stored traces.

Fills a fresh database through the store, with five applications over a day (six metrics judged on
every trace, latencies, hits, two releases each, marks on every hundredth trace), and asks a real
server process for every page, over HTTP, in both languages. Prints JSON.

    python -m benchmarks.pages [--traces 100000] [--apps 5] [--rounds 15] [--postgresql URL]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import httpx

from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.totals import merged
from rag_monitor.domain.clock import SystemClock
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.ports import BlobFormat, IngestBatch, SpanBlob
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Timings, Trace
from rag_monitor.errors import StoreUnavailable
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import make_trace

METRICS: Final = (
    "faithfulness",
    "answer_supported",
    "answer_relevance",
    "context_relevance",
    "context_precision",
    "context_utilization",
)
JUDGE: Final = JudgeIdentity(name="embedded-lexical", model="benchmark")
BATCH: Final = 1000
LIMIT_BYTES: Final = 200_000
LIMIT_MS: Final = 300.0


def some_trace(number: int, count: int, apps: int, now: datetime) -> Trace:
    """One of `count` traces, spread evenly over the last day."""
    share = number / count
    return make_trace(
        question=f"How long is the warranty of product {number}, bought in the spring?",
        answer="It lasts 24 months from the day of purchase. Batteries are covered for 12 months.",
        contexts=("The warranty lasts 24 months. " * 8, "Batteries: 12 months. " * 8),
        id=f"page-{number}",
        app=f"app-{number % apps}",
        release="1.0" if share < 0.7 else "1.1",
        started_at=now - timedelta(days=1) + share * timedelta(hours=23, minutes=59),
        timings=Timings(
            first_byte_ms=200.0 + number % 300,
            generation_ms=900.0,
            end_to_end_ms=1100.0 + number % 700,
            retrieval_ms=80.0,
        ),
        hits=(
            Hit(kind=HitKind.KNOWLEDGE_BASE, name="manuals", items=2),
            Hit(kind=HitKind.PLUGIN, name="calculator", ok=number % 9 != 0),
        ),
    )


def fill(store: Store, count: int, apps: int) -> None:
    """Traces, scores, marks, and the rollups that the worker would make of them."""
    now = SystemClock().now()
    chance = random.Random(7)
    for start in range(0, count, BATCH):
        batch = [
            some_trace(number, count, apps, now)
            for number in range(start, min(start + BATCH, count))
        ]
        _write(store, batch, now)
        # They are due from the moment they were derived, which is later than `now`.
        tasks = store.tasks.claim("benchmark", BATCH, 600, SystemClock().now())
        if len(tasks) != len(batch):
            raise SystemExit(f"{len(tasks)} of {len(batch)} traces wait to be judged")
        store.tasks.complete_many([(task, _scores(chance, now), ()) for task in tasks])
        for trace in batch[::100]:
            store.feedback.add(
                Feedback(
                    project=trace.project,
                    trace_id=trace.trace_id,
                    value=float(chance.random() < 0.8),
                    metric="faithfulness",
                    author="amy",
                    created_at=now,
                )
            )
    _roll_up(store, SystemClock().now() + timedelta(hours=1))


def _write(store: Store, batch: list[Trace], now: datetime) -> None:
    blobs = tuple(
        SpanBlob(
            trace_id=trace.trace_id,
            format=BlobFormat.TRACE_JSON,
            payload=trace.trace_id.encode(),
            complete=True,
        )
        for trace in batch
    )
    evidence = IngestBatch(project=batch[0].project, received_at=now, blobs=blobs)
    while True:
        try:
            asyncio.run(store.writer.write(evidence))
            break
        except StoreUnavailable:  # a busy machine: what is stored already is a duplicate
            time.sleep(1.0)
    by_id = {trace.trace_id: trace for trace in batch}
    due = store.spans.due(now + timedelta(minutes=1), BATCH)
    store.traces.save_derived([(pending, by_id[pending.trace_id]) for pending in due])


def _scores(chance: random.Random, now: datetime) -> tuple[Score, ...]:
    return tuple(
        Score(
            metric=metric,
            status=ScoreStatus.SCORED,
            value=min(1.0, max(0.0, chance.gauss(0.85, 0.15))),
            judge=JUDGE,
            created_at=now,
        )
        for metric in METRICS
    )


def _roll_up(store: Store, quiet: datetime) -> None:
    """Rollups and their blocks, as they are once nothing has changed for a while."""
    while dirty := store.rollups.changed(100):
        store.rollups.replace(dirty, summarise(store.rollups.facts(dirty)))
    while stale := store.rollups.stale(quiet, 200):
        for _, alike in groupby(stale, key=lambda block: block.minutes):
            store.rollups.put_blocks(
                [(block, merged(store.rollups.parts(block), block.minute)) for block in alike]
            )


@contextlib.contextmanager
def server(folder: Path, database: str) -> Iterator[tuple[str, int]]:
    """A server process with nothing left to judge; its address and process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_MONITOR_")}
    environment |= {
        "RAG_MONITOR_DATABASE_URL": database,
        "RAG_MONITOR_JUDGE": "embedded-lexical",
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "rag_monitor", "serve", "--port", str(port)],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 90
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{url}/healthz", trust_env=False).is_success:
                    break
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError((folder / "server.log").read_text()[-2000:])
            time.sleep(0.2)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far, on Linux."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def settle(pid: int, longest_s: float = 60.0) -> None:
    """Wait until a server that has just begun is idle: its first look at the rules takes long."""
    deadline = time.monotonic() + longest_s
    while time.monotonic() < deadline:
        before = cpu_seconds(pid)
        time.sleep(2.0)
        if cpu_seconds(pid) - before < 0.2:
            return


def measure(url: str, pid: int, rounds: int) -> list[dict[str, Any]]:
    """Every page, `rounds` times after a first one that counts for nothing."""
    with httpx.Client(base_url=url, trust_env=False, timeout=60) as http:
        newest = http.get("/api/v1/traces", params={"limit": "1"}).json()["items"][0]["trace_id"]
        pages = {
            "overview": "/",
            "overview, one app": "/?app=app-0",
            "overview, one app, 7 days": "/?app=app-0&window=7d",
            "traces": "/traces",
            "traces, filtered": "/traces?app=app-1&metric=faithfulness&below=0.5&since=24h",
            "traces, searched": "/traces?q=product+4242",
            "traces, searched in answers": "/traces?q=word+of+nobody&in=answer",
            "traces, searched in passages": "/traces?q=word+of+nobody&in=passages",
            "trace": f"/traces/{newest}",
            "alerts": "/alerts",
            "judges": "/judges",
            "labels": "/labels",
            "compare": "/compare?app=app-0",
            "compare, times": "/compare?app=app-0&against=before&window=6h",
            "settings": "/settings",
            "docs": "/docs",
        }
        found = []
        for name, path in pages.items():
            took, size, used = [], 0, 0.0
            for number in range(rounds + 1):
                language = "zh" if number % 2 else "en"
                start = time.perf_counter()
                answer = http.get(path, params=dict(httpx.URL(path).params) | {"lang": language})
                took.append(1000 * (time.perf_counter() - start))
                if number == 0:
                    used = cpu_seconds(pid)
                answer.raise_for_status()
                size = max(size, len(answer.content))
            used = cpu_seconds(pid) - used
            took = sorted(took[1:])
            found.append(
                {
                    "page": name,
                    "p50_ms": round(statistics.median(took), 1),
                    "max_ms": round(took[-1], 1),
                    "cpu_ms": round(1000 * used / rounds, 1),
                    "bytes": size,
                    "within": size <= LIMIT_BYTES and statistics.median(took) <= LIMIT_MS,
                }
            )
        return found


def main() -> None:
    """Fill, serve, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--apps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--postgresql", help="an empty database; SQLite without it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rag-monitor-pages-") as name:
        folder = Path(name)
        database = given.postgresql or f"sqlite:///{folder / 'pages.db'}"
        start = time.perf_counter()
        store = Store.open(StoreOptions(url=database, auto_migrate=True))
        store.writer.start()
        try:
            fill(store, given.traces, given.apps)
        finally:
            store.close()
        filled = time.perf_counter() - start
        with server(folder, database) as (url, pid):
            settle(pid)
            pages = measure(url, pid, given.rounds)
    print(
        json.dumps(
            {
                "traces": given.traces,
                "apps": given.apps,
                "database": "postgresql" if given.postgresql else "sqlite",
                "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
                "load": os.getloadavg()[0],
                "filled_s": round(filled, 1),
                "pages": pages,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
