"""A body of Trace JSON: one object, a list of objects, or one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rag_monitor.domain.ports import BlobFormat, SpanBlob
from rag_monitor.errors import IngestError, MalformedPayload, PayloadTooLarge
from rag_monitor.ingest import evaluations
from rag_monitor.ingest.evaluations import EvaluationRecord
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.replies import RowError
from rag_monitor.ingest.strict_json import parse
from rag_monitor.ingest.trace_encoding import unknown_fields
from rag_monitor.ingest.trace_json import decode_trace


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRows:
    """The rows of one body."""

    blobs: tuple[SpanBlob, ...]
    unknown_fields: tuple[str, ...]
    errors: tuple[RowError, ...]
    reported: tuple[EvaluationRecord, ...] = ()
    """Scores of other tools that the rows bring."""


def decode_rows(
    body: bytes, *, project: str, received_at: datetime, options: IngestOptions
) -> DecodedRows:
    """Every row on its own: a bad one becomes an error and leaves its neighbours alone.

    Raises:
        MalformedPayload: The body as a whole is not JSON, or empty.
        PayloadTooLarge: Too many bytes, rows or keys.
    """
    if len(body) > options.max_bytes:
        raise PayloadTooLarge(
            "the body is larger than {most} bytes; send fewer rows, or raise "
            "`http.max_body_bytes` of the server",
            most=options.max_bytes,
        )
    blobs: list[SpanBlob] = []
    errors: list[RowError] = []
    unknown: set[str] = set()
    reported: list[EvaluationRecord] = []
    for place, row in enumerate(_rows(body, options)):
        if isinstance(row, IngestError):
            errors.append(RowError(row=place, id=None, message=str(row)))
            continue
        try:
            if not isinstance(row, Mapping):
                raise MalformedPayload('a trace is a JSON object, e.g. {"question": …}')
            trace = decode_trace(row, project=project, received_at=received_at)
        except IngestError as error:
            field = error.field if isinstance(error, MalformedPayload) else ""
            errors.append(RowError(row=place, id=_id_of(row), message=str(error), field=field))
            continue
        unknown |= unknown_fields(row)
        blobs.append(_blob(trace.trace_id, row))
        reported += evaluations.of_row(row.get("reported_scores"), trace.trace_id)
    return DecodedRows(
        blobs=tuple(blobs),
        unknown_fields=tuple(sorted(unknown)),
        errors=tuple(errors),
        reported=tuple(reported),
    )


def _rows(body: bytes, options: IngestOptions) -> Sequence[Any]:
    """Parsed rows; a line that does not parse is its error."""
    try:
        value = parse(body, max_keys=options.max_keys, max_depth=options.max_depth)
    except MalformedPayload:
        lines = list(_lines(body, options))
        if not any(isinstance(line, dict) for line in lines):
            raise
        return lines
    rows = value if isinstance(value, list) else [value]
    if not rows:
        raise MalformedPayload("the body holds no trace; send an object, a list or JSON lines")
    _check_count(len(rows), options)
    return rows


def _lines(body: bytes, options: IngestOptions) -> Iterator[Any]:
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) < 2:
        return
    _check_count(len(lines), options)
    for line in lines:
        try:
            yield parse(line, max_keys=options.max_keys, max_depth=options.max_depth)
        except MalformedPayload as error:
            yield error


def _check_count(count: int, options: IngestOptions) -> None:
    if count > options.max_spans:
        raise PayloadTooLarge(
            "{count} rows in one request; send at most {most}", count=count, most=options.max_spans
        )


def _blob(trace_id: str, row: Mapping[str, Any]) -> SpanBlob:
    content = {**row, "trace_id": trace_id}
    return SpanBlob(
        trace_id=trace_id,
        format=BlobFormat.TRACE_JSON,
        payload=json.dumps(content, ensure_ascii=True, sort_keys=True).encode(),
        complete=True,
        has_root=True,
    )


def _id_of(row: object) -> str | None:
    id_ = row.get("id", row.get("trace_id")) if isinstance(row, Mapping) else None
    return None if id_ is None else str(id_)[:200]
