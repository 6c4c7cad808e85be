"""Options of the ingest stage: how much one request may bring, and what one trace may hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Final

from rag_monitor.domain.ranges import at_least, between, check_ranges, not_negative
from rag_monitor.errors import ConfigurationError

_SOME: Final = at_least(
    1, "[ingest]: `{name}` must be at least 1, not {value}: nothing could be taken in"
)
_INLINE: Final = not_negative(
    "[ingest]: `{name}` must be 0 (never on the event loop) or more, not {value}"
)
_SOON: Final = between(
    1,
    5,
    "[ingest]: `{name}` must be {least} to {most}, not {value}: senders drop a batch that is to "
    "wait longer",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Limits of the ingest stage."""

    max_bytes: Annotated[int, _SOME] = 16 * 2**20
    """Largest body, before and after decompression. OTLP recommends 64 MiB; ours is lower because
    a body is held in memory, and can be raised: by `http.max_body_bytes`, which it follows."""
    max_spans: Annotated[int, _SOME] = 50_000
    """Most spans (or rows, or log records) in one request; counted before any is decoded."""
    max_depth: Annotated[int, _SOME] = 64
    """Deepest nesting of a JSON body."""
    max_keys: Annotated[int, _SOME] = 250_000
    """Most object keys in one JSON body."""
    max_in_flight_bytes: Annotated[int, _SOME] = 64 * 2**20
    """Bytes taken in and not yet committed; above it senders are told to wait."""
    decode_workers: Annotated[int, _SOME] = 2
    """Large bodies decoded at the same time, each in a thread."""
    inline_bytes: Annotated[int, _INLINE] = 64 * 1024
    """Bodies up to this size are decoded on the event loop (a few milliseconds at most)."""
    inline_compressed_bytes: Annotated[int, _INLINE] = 8 * 1024
    """The same for compressed bodies."""
    retry_after_s: Annotated[int, _SOON] = 2
    """What a sender is told to wait when we are full; above 5 clients drop the batch."""
    retry_after_store_s: Annotated[int, _SOON] = 5
    """The same when the database does not answer."""

    def __post_init__(self) -> None:
        check_ranges(self, ConfigurationError)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveLimits:
    """What one trace may hold; more is cut, and `Trace.truncated` says so."""

    max_text: int = 1_000_000
    """Characters of one text (question, answer, passage)."""
    max_documents: int = 1_000
    """Passages of one retrieval."""
    max_attributes: int = 2_000
    """Attributes of one span or event; the last ones are kept, as SDKs do."""
    max_events: int = 2_000
    """Events of one span; the last ones are kept."""
    max_spans: int = 10_000
    """Spans of one trace; the earliest are kept."""
    max_steps: int = 100
    """Tools and step errors kept in `Trace.attributes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveOptions:
    """How traces are derived from their evidence."""

    limits: DeriveLimits = field(default_factory=DeriveLimits)
    redactor: Callable[[str], str] | None = None
    """Second redaction net, applied to every text. A text whose redaction raises is dropped, never
    kept raw."""
