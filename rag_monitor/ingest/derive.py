"""From the evidence of a trace to the `Trace`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from rag_monitor import telemetry
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import MalformedPayload
from rag_monitor.ingest.assembly import assemble
from rag_monitor.ingest.conventions import rag_monitor_sdk
from rag_monitor.ingest.normalise import normalise
from rag_monitor.ingest.options import DeriveOptions
from rag_monitor.ingest.otel_trace import NoRequest, read_trace
from rag_monitor.ingest.spans import decode_spans, unique_spans
from rag_monitor.ingest.trace_json import decode_trace, parse_stored

_DEFAULT: Final = DeriveOptions()


def derive(
    project: str,
    blobs: Sequence[tuple[BlobFormat, bytes]],
    received_at: datetime,
    options: DeriveOptions | None = None,
) -> Trace | None:
    """The trace that `blobs` are evidence of; None, and counted, when they hold no request.

    The order of the blobs and spans that came twice change nothing; of several Trace JSON rows the
    last one wins, and a row wins over spans.

    Args:
        project: The tenant.
        blobs: Uncompressed evidence, in order of arrival.
        received_at: When the first of it came; stands in for times that cannot be true.
        options: Limits and redaction.

    Raises:
        MalformedPayload: The evidence cannot be read.
    """
    options = options or _DEFAULT
    rows = [payload for format_, payload in blobs if format_ is BlobFormat.TRACE_JSON]
    if rows:
        trace = decode_trace(parse_stored(rows[-1]), project=project, received_at=received_at)
        return normalise(trace, options, received_at)
    spans = unique_spans(
        s for format_, payload in blobs for s in decode_spans(payload, options.limits)
    )
    if not spans:
        return None
    cut = len(spans) > options.limits.max_spans
    read = _read(project, spans[: options.limits.max_spans], received_at)
    return None if read is None else normalise(read, options, received_at, cut=cut)


def _read(project: str, spans: list[Span], received_at: datetime) -> Trace | None:
    work = rag_monitor_sdk.find_work(spans)
    if work is not None:
        return rag_monitor_sdk.read_work(project, work, received_at)
    root = rag_monitor_sdk.find_root(spans)
    if root is None:
        return _read_otel(project, spans, received_at)
    try:
        return rag_monitor_sdk.read_root(project, root, received_at)
    except MalformedPayload:
        # A limit of the sender's SDK cut the record; the standard attributes are still there.
        telemetry.dropped("derive", "broken_record")
        trace = _read_otel(project, spans, received_at)
        return None if trace is None else replace(trace, truncated=True)


def _read_otel(project: str, spans: list[Span], received_at: datetime) -> Trace | None:
    trace = read_trace(project, assemble(spans), received_at)
    if isinstance(trace, NoRequest):
        telemetry.dropped("derive", trace.reason)
        return None
    return trace
