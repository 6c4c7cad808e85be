"""Planted traces through the product: stored, judged by the embedded judge, diagnosed."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.planted_faults.application import PlantedTrace
from rag_monitor.config import Settings
from rag_monitor.domain.clock import SystemClock
from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.ports import BlobFormat, IngestBatch, SpanBlob
from rag_monitor.evaluation.pipeline import Outcome, Pipeline
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import make_task
from rag_monitor.worker.fault_finding import FaultFinder
from rag_monitor.worker.judging import create_plan

_BATCH: Final = 32
"""Traces that are judged at once."""
_WRITTEN: Final = 500
"""Traces that are written at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """A planted trace and what the monitor says of it."""

    planted: PlantedTrace
    outcome: Outcome
    diagnosis: Diagnosis | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Milliseconds of processor time a trace."""

    judging_ms: float
    diagnosing_ms: float
    """The search among earlier passages is in it."""


def diagnose(
    planted: Sequence[PlantedTrace], judged: Sequence[Outcome] = ()
) -> tuple[list[Diagnosed], Cost]:
    """What the monitor says of traces. All are stored before the first is judged.

    Args:
        planted: Of any number of applications.
        judged: What the judge said of each, where it has been asked before.
    """
    clock = SystemClock()
    results: list[Diagnosed] = []
    judging_s = diagnosing_s = 0.0
    with tempfile.TemporaryDirectory(prefix="rag-monitor-planted-") as folder:
        url = f"sqlite:///{folder}/planted.db"
        with Store.open(StoreOptions(url=url, auto_migrate=True), clock) as store:
            store.writer.start()
            _save(store, planted, clock)
            pipeline = Pipeline(create_plan(Settings(), store), Sampler(), clock)
            finder = FaultFinder(store.earlier_passages, clock)
            for start in range(0, len(planted), _BATCH):
                batch = planted[start : start + _BATCH]
                tasks = [make_task(one.trace) for one in batch]
                began = time.process_time()
                outcomes = judged[start : start + _BATCH] or asyncio.run(pipeline.evaluate(tasks))
                between = time.process_time()
                diagnoses = finder.diagnose(tasks, outcomes)
                judging_s += between - began
                diagnosing_s += time.process_time() - between
                results += [
                    Diagnosed(planted=one, outcome=outcome, diagnosis=diagnoses.get(task.id))
                    for one, task, outcome in zip(batch, tasks, outcomes, strict=True)
                ]
    cost = Cost(
        judging_ms=round(judging_s / len(planted) * 1e3, 3),
        diagnosing_ms=round(diagnosing_s / len(planted) * 1e3, 3),
    )
    return results, cost


def _save(store: Store, planted: Sequence[PlantedTrace], clock: SystemClock) -> None:
    for batch in _batches(planted, _WRITTEN):
        blobs = tuple(
            SpanBlob(
                trace_id=one.trace.trace_id,
                format=BlobFormat.TRACE_JSON,
                payload=one.trace.trace_id.encode(),
                complete=True,
            )
            for one in batch
        )
        now = clock.now()
        evidence = IngestBatch(project="default", received_at=now, blobs=blobs)
        asyncio.run(store.writer.write(evidence))
        traces = {one.trace.trace_id: one.trace for one in batch}
        due = store.spans.due(now, len(batch))
        saved = store.traces.save_derived([(p, traces[p.trace_id]) for p in due])
        if saved != len(batch):
            raise SystemExit(f"{saved} of {len(batch)} traces were stored")


def _batches(items: Sequence[PlantedTrace], size: int) -> Iterator[Sequence[PlantedTrace]]:
    return (items[start : start + size] for start in range(0, len(items), size))
