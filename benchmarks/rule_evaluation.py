"""How long one evaluation of all alert rules takes, on SQLite and PostgreSQL.

Twenty applications with the shipped rules and three hours of rollups (six metrics judged on every
trace, latencies, hits; ten traces a minute). Prints JSON.

    python -m benchmarks.rule_evaluation [--apps 20] [--postgresql URL] [--traces 100000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import func, insert, select

from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.rollup_cache import RollupCache
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.rules import default_rules
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.ports import BlobFormat, IngestBatch, SpanBlob
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Timings
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.store.tables import traces as trace_table
from rag_monitor.testing import EPOCH, ManualClock, make_trace

METRICS = (
    "faithfulness",
    "answer_supported",
    "answer_relevance",
    "context_relevance",
    "context_precision",
    "context_utilization",
)
JUDGE = JudgeIdentity(name="embedded", model="benchmark")
MINUTES = 180
PER_MINUTE = 10


def fill(store: Store, apps: int) -> None:
    """Rollups of three hours, through the real summary."""
    scores = tuple(
        Score(metric=metric, status=ScoreStatus.SCORED, value=0.9, judge=JUDGE)
        for metric in METRICS
    )
    hits = (Hit(kind=HitKind.KNOWLEDGE_BASE, name="loans", items=3),)
    for minute in range(MINUTES):
        facts = []
        for app in range(apps):
            trace = make_trace(
                app=f"app-{app:02d}",
                started_at=EPOCH + timedelta(minutes=minute),
                hits=hits,
                timings=Timings(first_byte_ms=120.0, generation_ms=400.0, end_to_end_ms=600.0),
            )
            facts += [TraceFacts(trace=trace, scores=scores)] * PER_MINUTE
        rollups = summarise(facts)
        places = {(row.key.project, row.key.app, row.key.minute) for row in rollups}
        store.rollups.mark_changed(places, EPOCH)
        store.rollups.replace(store.rollups.changed(len(places)), rollups)


def crowd(store: Store, traces: int, apps: int) -> None:
    """Many stored traces: one through the front door, the rest as copies of its row."""
    trace = make_trace(app="app-00")
    blob = SpanBlob(
        trace_id=trace.trace_id, format=BlobFormat.TRACE_JSON, payload=b"{}", complete=True
    )
    batch = IngestBatch(project="default", received_at=EPOCH, blobs=(blob,))
    store.writer.start()
    asyncio.run(store.writer.write(batch))
    (pending,) = store.spans.due(EPOCH, 1)
    store.traces.save_derived([(pending, trace)])
    database = store.traces._database
    with database.read() as connection:
        row = dict(connection.execute(select(trace_table)).one()._mapping)
    for start in range(0, traces, 5000):
        rows = [
            row
            | {
                "trace_id": f"{number:032x}",
                "app": f"app-{number % apps:02d}",
                "started_at": EPOCH + timedelta(seconds=number),
            }
            for number in range(start + 1, min(start + 5000, traces) + 1)
        ]
        with database.write() as connection:
            connection.execute(insert(trace_table), rows)


def measure(work: Callable[[], Any], times: int) -> dict[str, float]:
    """Milliseconds of several calls."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000.0)
    return {"median_ms": round(statistics.median(taken), 1), "max_ms": round(max(taken), 1)}


def evaluate(url: str, apps: int, rounds: int) -> dict[str, Any]:
    """One database: a run without memory, the first with it, and those every 15 s after it."""
    clock = ManualClock()
    with Store.open(StoreOptions(url=url, auto_migrate=True, exclusive=False), clock) as store:
        fill(store, apps)
        names = [f"app-{number:02d}" for number in range(apps)]
        for rule in default_rules():
            store.rules.save(rule)
        clock.advance(timedelta(minutes=MINUTES))
        memory = RollupCache(store.rollups)

        def engine(source: Any) -> AlertEngine:
            return AlertEngine(
                RuleEstimates(source, Named(names)), store.rules, store.alerts, clock
            )

        plain, remembering = engine(store.rollups), engine(memory)

        def step() -> None:
            clock.advance(15)
            memory.begin(clock.now())
            remembering.run()

        return {
            "each_look_reads_the_database": measure(plain.run, 3),
            "first_run_with_memory": measure(step, 1),
            "every_15_s_with_memory": measure(step, rounds),
            "same_findings": _agree(plain, remembering, clock, memory),
        }


def _agree(first: AlertEngine, second: AlertEngine, clock: ManualClock, memory: Any) -> bool:
    memory.begin(clock.now())
    return all(
        {a: (f.active, round(f.value or 0, 9), f.judged) for a, f in first.try_rule(rule).items()}
        == {
            a: (f.active, round(f.value or 0, 9), f.judged)
            for a, f in second.try_rule(rule).items()
        }
        for rule in default_rules()
    )


class Named:
    """Applications that are known without asking."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def app_names(self, project: str) -> list[str]:
        """Every application."""
        return self._names if project else []

    def worst(self, *_: object, **__: object) -> list[str]:
        """No trace is linked here."""
        return []


def listing(url: str, apps: int, traces: int) -> dict[str, Any]:
    """Listing applications beside many traces, against the scan it replaced."""
    with Store.open(StoreOptions(url=url, auto_migrate=True, exclusive=False), ManualClock()) as s:
        crowd(s, traces, apps)
        grouped = (
            select(trace_table.c.app, func.count(), func.max(trace_table.c.started_at))
            .where(trace_table.c.project == "default")
            .group_by(trace_table.c.app)
        )

        def scan() -> None:
            with s.traces._database.read() as connection:
                connection.execute(grouped).all()

        return {
            "traces": traces,
            "grouping_all_traces": measure(scan, 5),
            "app_names": measure(lambda: s.traces.app_names("default"), 5),
            "apps": measure(lambda: s.traces.apps("default"), 5),
            "projects": measure(s.traces.projects, 5),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--apps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--postgresql", help="URL of an empty database to use as well")
    given = parser.parse_args()
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "apps": given.apps,
        "rules": len(default_rules()),
    }
    with tempfile.TemporaryDirectory() as folder:
        urls = {"sqlite": f"sqlite:///{Path(folder) / 'monitor.db'}"}
        if given.postgresql:
            urls["postgresql"] = given.postgresql
        for name, url in urls.items():
            report[name] = {
                "run": evaluate(url, given.apps, given.rounds),
                "listing": listing(url, given.apps, given.traces),
            }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
