"""What counting sessions costs where traces come in as fast as they can be stored.

    python -m benchmarks.session_costs [--traces 4000] [--rounds 5] [--postgresql URL]

The same traces twice, in turn, in one process: without a session, and in sessions of five turns.
Each is stored, assembled and added up by minutes as a worker does it, in batches of 400 with the
job that counts sessions after each, which is as often as it ever runs under load. Left out: HTTP
and judging, which are the same for both and would make the ratio smaller. Times are of the
process's own processor; on PostgreSQL those of the server are not in them, the wall's are.
Prints one JSON object, medians over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks import ingest
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.session_sums import summarise_sessions
from rag_monitor.domain.ports import BlobFormat, IngestBatch, SpanBlob
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.trace_encoding import encode_trace
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from rag_monitor.worker.session_counting import SessionCounting

BATCH: Final = 400
TURNS: Final = 5
_PASSAGE: Final = "The standard warranty of the lamp lasts twenty-four months from delivery. " * 6


def blobs_of(count: int, turns: int) -> list[SpanBlob]:
    """Evidence of so many traces, ten a second; without turns none is of a session.

    Turns of a session are apart by as many traces as sessions go on at a time.
    """
    blobs = []
    for number in range(count):
        running = BATCH // 4
        place = number // (running * turns) * running + number % running if turns else 0
        trace = make_trace(
            f"How long is the warranty of lamp {number % 97}?",
            "Twenty-four months.",
            contexts=(_PASSAGE, _PASSAGE[::-1]),
            id=f"trace {number}",
            app="shop",
            session_id=f"session {place}" if turns else None,
            started_at=EPOCH + timedelta(seconds=number / 10),
        )
        payload = json.dumps(encode_trace(trace)).encode()
        blobs.append(
            SpanBlob(
                trace_id=trace.trace_id,
                format=BlobFormat.TRACE_JSON,
                payload=payload,
                complete=True,
            )
        )
    return blobs


def run(url: str, blobs: list[SpanBlob]) -> dict[str, dict[str, float]]:
    """Processor and wall seconds by part."""
    clock = ManualClock()
    cpu: Counter[str] = Counter()
    wall: Counter[str] = Counter()

    def timed(part: str, work: Callable[[], Any]) -> Any:
        began = time.process_time(), time.perf_counter()
        try:
            return work()
        finally:
            cpu[part] += time.process_time() - began[0]
            wall[part] += time.perf_counter() - began[1]

    options = StoreOptions(url=url, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as store:
        store.writer.start()
        counting = SessionCounting(store.session_outcomes, timedelta(minutes=30))
        for start in range(0, len(blobs), BATCH):
            part = tuple(blobs[start : start + BATCH])
            clock.advance(BATCH / 10)
            batch = IngestBatch(project="default", received_at=clock.now(), blobs=part)
            timed("store", lambda b=batch: asyncio.run(store.writer.write(b)))  # type: ignore[misc]
            timed("assemble", lambda: _assemble(store, clock))
            timed("count sessions", lambda: _all(counting))
            timed("add up", lambda: _add_up(store))
    return {"cpu": dict(cpu), "wall": dict(wall)}


def _assemble(store: Store, clock: ManualClock) -> None:
    pending = store.spans.due(clock.now(), BATCH)
    store.traces.save_derived(
        [(one, derive(one.project, one.blobs, one.received_at)) for one in pending]
    )


def _all(counting: SessionCounting) -> None:
    while asyncio.run(counting.count_due()):
        pass


def _add_up(store: Store) -> None:
    while dirty := store.rollups.changed(60):
        sessions = summarise_sessions(store.session_outcomes.counted_in(dirty))
        store.rollups.replace(dirty, [*summarise(store.rollups.facts(dirty)), *sessions])


@contextmanager
def _database(base: str | None) -> Any:
    if base is not None:
        with ingest.database("session_costs", base) as url:
            yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{Path(folder) / 'monitor.db'}"


def measure(base: str | None, traces: int, rounds: int) -> dict[str, Any]:
    """Both variants in turn."""
    variants = {"without": blobs_of(traces, 0), "sessions": blobs_of(traces, TURNS)}
    found: dict[str, list[dict[str, dict[str, float]]]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, blobs in variants.items():
            with _database(base) as url:
                found[name].append(run(url, blobs))
    told: dict[str, Any] = {}
    for kind in ("cpu", "wall"):
        sums = {
            name: [sum(one[kind].values()) for one in results] for name, results in found.items()
        }
        ratios = [a / b for a, b in zip(sums["sessions"], sums["without"], strict=True)]
        told[f"{kind}_us_per_trace"] = {
            name: {
                part: round(statistics.median(one[kind][part] for one in results) / traces * 1e6, 1)
                for part in results[0][kind]
            }
            for name, results in found.items()
        }
        told[f"{kind}_ratio"] = round(statistics.median(ratios), 3)
        told[f"{kind}_ratios"] = [round(ratio, 3) for ratio in ratios]
    return told


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--traces", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--postgresql", help="URL of a server in which a database may be made")
    given = parser.parse_args()
    out: dict[str, Any] = {"traces": given.traces, "turns_of_a_session": TURNS}
    out["sqlite"] = measure(None, given.traces, given.rounds)
    if given.postgresql:
        out["postgresql"] = measure(given.postgresql, given.traces, given.rounds)
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
