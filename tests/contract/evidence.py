"""Ways to put evidence and traces into a store under test."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from rag_monitor.domain.ports import BlobFormat, IngestBatch, SpanBlob, WriteOutcome
from rag_monitor.domain.stored import EvaluationTask
from rag_monitor.domain.trace import Trace
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH


def blob(trace_id: str = "a" * 32, payload: bytes = b"evidence", **fields: bool) -> SpanBlob:
    """A blob; `complete` and `has_root` by keyword."""
    return SpanBlob(trace_id=trace_id, format=BlobFormat.TRACE_JSON, payload=payload, **fields)


def write(
    store: Store, *blobs: SpanBlob, project: str = "default", at: datetime = EPOCH
) -> WriteOutcome:
    """Write one batch and wait for its commit."""
    batch = IngestBatch(project=project, received_at=at, blobs=blobs)
    return asyncio.run(store.writer.write(batch))


def ingest(store: Store, *traces: Trace, at: datetime = EPOCH, payload: bytes = b"v1") -> int:
    """Write evidence of traces and save them as if they had been derived from it."""
    for project in {trace.project for trace in traces}:
        mine = [trace for trace in traces if trace.project == project]
        blobs = (blob(trace.trace_id, payload, complete=True) for trace in mine)
        write(store, *blobs, project=project, at=at)
    by_key = {(trace.project, trace.trace_id): trace for trace in traces}
    due = store.spans.due(at, 1000)
    return store.traces.save_derived(
        [(pending, by_key.get((pending.project, pending.trace_id))) for pending in due]
    )


def claim(store: Store, *, owner: str = "w1", at: datetime = EPOCH) -> Sequence[EvaluationTask]:
    """All tasks that wait, leased for a minute."""
    return store.tasks.claim(owner, 1000, 60, at)
