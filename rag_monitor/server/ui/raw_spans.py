"""The evidence that a trace was read from, as it came: spans with their attributes, or JSON rows.

Senders choose all of it, names and sizes too: what is shown is bounded in number and in length.
Instrumentation records headers and requests, so keys and tokens are hidden.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.charts.numbers import count_text
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.span import Span
from rag_monitor.ingest.spans import decode_spans, unique_spans
from rag_monitor.redaction.redactor import HIDDEN, without_secrets

MAX_SPANS: Final = 100
MAX_ROWS: Final = 5
"""Trace JSON that was sent again comes as a further row; the newest counts."""
MAX_ATTRIBUTES: Final = 60
MAX_EVENTS: Final = 20
MAX_NAME: Final = 120
MAX_VALUE: Final = 2_000
MAX_TEXT: Final = 100_000
"""Characters of all values together: a page stays a page."""
_SECRET_NAME: Final = re.compile(
    r"(?i)(?:^|[._-])(?:authorization|(?:set-)?cookie|api[_-]?key|passwd|password|secret"
    r"|(?:access|auth|refresh)[_-]?token)$"
)
_NS_PER_MS: Final = 1e6
_MAX_DEPTH: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Attributes of a span, or of one of its events."""

    name: str
    at_ms: float | None
    """After the first span began; None: it is not told."""
    attributes: Sequence[tuple[str, str]]
    left_out: int
    """Attributes that are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanView:
    """A span."""

    span_id: str
    depth: int
    """How many spans it is inside of."""
    scope: str
    length_ms: float | None
    """None: the sender does not know its end."""
    failed: bool
    message: str
    own: Part
    events: Sequence[Part]
    more_events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is stored of what was sent."""

    spans: Sequence[SpanView] = ()
    rows: Sequence[str] = ()
    """Trace JSON, the newest first."""
    left_out: int = 0
    """Spans or rows that are not shown."""


@dataclass(slots=True)
class _Room:
    """How much text may still be shown."""

    left: int = MAX_TEXT

    def take(self, text: str, most: int) -> str:
        """The text without secrets, as far as there is room; what is left out is counted."""
        kept = text[: min(most, self.left)]
        self.left -= len(kept)
        shown, left_out = without_secrets(kept), len(text) - len(kept)
        return f"{shown}… (+{count_text(left_out)})" if left_out else shown


@dataclass(slots=True)
class _Reading:
    start_ns: int
    room: _Room = field(default_factory=_Room)

    def part(self, name: str, at_ns: int, attributes: Mapping[str, object]) -> Part:
        shown = sorted(attributes)[:MAX_ATTRIBUTES]
        return Part(
            name=name[:MAX_NAME],
            at_ms=(at_ns - self.start_ns) / _NS_PER_MS if at_ns else None,
            attributes=[
                (key[:MAX_NAME], self.room.take(_shown(key, attributes[key]), MAX_VALUE))
                for key in shown
            ],
            left_out=len(attributes) - len(shown),
        )

    def span(self, span: Span, depth: int) -> SpanView:
        ended = span.end_ns >= span.start_ns > 0
        return SpanView(
            span_id=span.span_id,
            depth=depth,
            scope=span.scope[:MAX_NAME],
            length_ms=(span.end_ns - span.start_ns) / _NS_PER_MS if ended else None,
            failed=span.status_code == 2,
            message=self.room.take(span.status_message, MAX_VALUE),
            own=self.part(span.name, span.start_ns, span.attributes),
            events=[
                self.part(event.name, event.time_ns, event.attributes)
                for event in span.events[:MAX_EVENTS]
            ],
            more_events=max(0, len(span.events) - MAX_EVENTS),
        )


def evidence_of(blobs: Iterable[tuple[BlobFormat, bytes]]) -> Evidence:
    """What people may read of stored evidence.

    Args:
        blobs: As they were stored, in order of arrival.

    Raises:
        MalformedPayload: The evidence cannot be read.
    """
    stored = list(blobs)
    rows = [payload for format_, payload in stored if format_ is BlobFormat.TRACE_JSON]
    spans = unique_spans(
        span
        for format_, payload in stored
        if format_ is not BlobFormat.TRACE_JSON
        for span in decode_spans(payload)
    )
    reading = _Reading(min((span.start_ns for span in spans if span.start_ns), default=0))
    depths = _depths(spans)
    return Evidence(
        spans=[reading.span(span, depths[span.span_id]) for span in spans[:MAX_SPANS]],
        rows=[reading.room.take(_pretty(payload), MAX_TEXT) for payload in rows[::-1][:MAX_ROWS]],
        left_out=max(0, len(spans) - MAX_SPANS) + max(0, len(rows) - MAX_ROWS),
    )


def _depths(spans: Sequence[Span]) -> dict[str, int]:
    """How deep each span is nested; one that is its own ancestor stops counting."""
    parents = {span.span_id: span.parent_span_id for span in spans}
    depths = {}
    for span_id in parents:
        depth, above = 0, parents[span_id]
        while above in parents and depth < _MAX_DEPTH:
            depth, above = depth + 1, parents[above]
        depths[span_id] = depth
    return depths


def _shown(name: str, value: object) -> str:
    """A value as text; hidden where its name says that it is secret, however it looks."""
    return HIDDEN if _SECRET_NAME.search(name) else _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _pretty(payload: bytes) -> str:
    text = payload.decode("utf-8", "replace")
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text
