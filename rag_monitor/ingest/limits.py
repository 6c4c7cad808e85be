"""How much one request may bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.errors import ConfigurationError

_ABOVE_ZERO: Final = (
    "max_bytes", "max_spans", "max_depth", "max_keys", "max_in_flight_bytes", "decode_workers",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Limits of the ingest stage."""

    max_bytes: int = 16 * 2**20
    """Largest body, before and after decompression. OTLP recommends 64 MiB; ours is lower because
    a body is held in memory, and can be raised: by `http.max_body_bytes`, which it follows."""
    max_spans: int = 50_000
    """Most spans (or rows, or log records) in one request; counted before any is decoded."""
    max_depth: int = 64
    """Deepest nesting of a JSON body."""
    max_keys: int = 250_000
    """Most object keys in one JSON body."""
    max_in_flight_bytes: int = 64 * 2**20
    """Bytes taken in and not yet committed; above it senders are told to wait."""
    decode_workers: int = 2
    """Large bodies decoded at the same time, each in a thread."""
    inline_bytes: int = 64 * 1024
    """Bodies up to this size are decoded on the event loop (a few milliseconds at most)."""
    inline_compressed_bytes: int = 8 * 1024
    """The same for compressed bodies."""
    retry_after_s: int = 2
    """What a sender is told to wait when we are full; above 5 clients drop the batch."""
    retry_after_store_s: int = 5
    """The same when the database does not answer."""

    def __post_init__(self) -> None:
        for name in ("retry_after_s", "retry_after_store_s"):
            if not 1 <= getattr(self, name) <= 5:
                raise ConfigurationError(
                    f"[ingest]: `{name}` must be 1 to 5, not {getattr(self, name)}: senders drop a "
                    "batch that is to wait longer"
                )
        for name in _ABOVE_ZERO:
            if getattr(self, name) < 1:
                raise ConfigurationError(
                    f"[ingest]: `{name}` must be at least 1, not {getattr(self, name)}: nothing "
                    "could be taken in"
                )
        for name in ("inline_bytes", "inline_compressed_bytes"):
            if getattr(self, name) < 0:
                raise ConfigurationError(
                    f"[ingest]: `{name}` must be 0 (never on the event loop) or more, not "
                    f"{getattr(self, name)}"
                )


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
