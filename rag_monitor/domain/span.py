"""A Span as it came over the wire: decoded, validated, not yet understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """Something that happened at one moment of a span; its time may lie after the span's end."""

    name: str
    time_ns: int
    attributes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One OpenTelemetry span."""

    trace_id: str
    """32 lower-case hex digits."""
    span_id: str
    """16 lower-case hex digits."""
    parent_span_id: str | None
    name: str
    start_ns: int
    end_ns: int
    """0 where the sender does not know it."""
    attributes: Mapping[str, object]
    events: tuple[SpanEvent, ...] = ()
    kind: int = 0
    status_code: int = 0
    """0 unset, 1 ok, 2 error."""
    status_message: str = ""
    flags: int = 0
    scope: str = ""
    resource: Mapping[str, object] = field(default_factory=dict)
    dropped: int = 0
    """Attributes, events and links the sender says it dropped."""
