"""From the evidence of a trace to the `Trace`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.trace import Trace
from rag_monitor.ingest.conventions import ours
from rag_monitor.ingest.spans import decode_spans, unique_spans
from rag_monitor.ingest.trace_json import decode_trace, parse_row


def derive(
    project: str, blobs: Sequence[tuple[BlobFormat, bytes]], received_at: datetime
) -> Trace | None:
    """The trace that `blobs` are evidence of; None when they hold no answered question.

    Raises:
        MalformedPayload: The evidence cannot be read.
    """
    rows = [payload for format_, payload in blobs if format_ is BlobFormat.TRACE_JSON]
    if rows:
        return decode_trace(parse_row(rows[-1]), project=project, received_at=received_at)
    spans = unique_spans(s for format_, payload in blobs for s in decode_spans(payload))
    root = ours.find_root(spans)
    if root is not None:
        return ours.read_root(project, root, received_at)
    return None
