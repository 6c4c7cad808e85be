"""What one trace costs in processor time, stage by stage, in one process and in the database.

    python -m benchmarks.stages --postgresql URL [--traces 400]

Takes traces in, assembles, claims, judges (embedded), saves and adds them up, one stage after the
other, and prints milliseconds of processor time a trace: of this process, and of the database's
sessions. Processor time hardly depends on what else the machine does; wall time would.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any

from benchmarks import ingest
from benchmarks.scale import write


def sessions_cpu_s(url: str) -> float:
    """CPU seconds of the database's sessions of ours so far; the server runs on this machine."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'rag-monitor'"
        ).fetchall()
    return sum(ingest.cpu_s(pid) for (pid,) in rows)


class Meter:
    """Processor time by stage."""

    def __init__(self, url: str, traces: int) -> None:
        self._url, self._traces = url, traces
        self.stages: dict[str, dict[str, float]] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Everything inside counts to `name`."""
        process, database = time.process_time(), sessions_cpu_s(self._url)
        yield
        spent = (time.process_time() - process, sessions_cpu_s(self._url) - database)
        self.stages[name] = {
            where: round(seconds / self._traces * 1e3, 3)
            for where, seconds in zip(("process_ms", "database_ms"), spent, strict=True)
        }


def measure(base: str, traces: int) -> dict[str, Any]:
    """All stages on a fresh database."""
    from rag_monitor.aggregation.rollup import summarise
    from rag_monitor.config import Settings
    from rag_monitor.domain.clock import SystemClock
    from rag_monitor.evaluation.pipeline import Pipeline
    from rag_monitor.sampling.sampler import Sampler
    from rag_monitor.store import migration
    from rag_monitor.store.options import StoreOptions
    from rag_monitor.store.store import Store
    from rag_monitor.worker.jobs import derive_everything
    from rag_monitor.worker.judging import create_plan

    clock = SystemClock()
    with ingest.database("stages", base) as url:
        migration.upgrade(url)
        meter = Meter(url, traces)
        with Store.open(StoreOptions(url=url, pool_size=1)) as store:
            store.writer.start()
            pipeline = Pipeline(create_plan(Settings(), store), Sampler(), clock)
            asyncio.run(write(store, 100, "warm"))
            derive_everything(store, clock.now())
            with meter.stage("take in"):
                asyncio.run(write(store, traces, "scale"))
            with meter.stage("assemble"):
                derive_everything(store, clock.now())
            with meter.stage("claim"):
                tasks = store.tasks.claim("bench", traces, 600, clock.now())
            with meter.stage("judge"):
                outcomes = asyncio.run(pipeline.evaluate(tasks))
            done = [(t, o.scores, o.decisions) for t, o in zip(tasks, outcomes, strict=True)]
            with meter.stage("save"):
                for start in range(0, len(done), 32):
                    store.tasks.complete_many(done[start : start + 32])
            with meter.stage("add up, once"):
                dirty = store.rollups.changed()
                store.rollups.replace(dirty, summarise(store.rollups.facts(dirty)))
    return {
        "cpus": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "traces": len(done),
        "stages": meter.stages,
    }


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", required=True, help="URL of a server on this machine")
    parser.add_argument("--traces", type=int, default=400)
    given = parser.parse_args()
    print(json.dumps(measure(given.postgresql, given.traces), indent=2))


if __name__ == "__main__":
    main()
