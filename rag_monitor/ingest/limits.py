"""How much one request may bring."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Limits of the ingest stage."""

    max_bytes: int = 16 * 2**20
    """Largest body, before and after decompression. OTLP recommends 64 MiB; ours is lower because
    a body is held in memory, and can be raised."""
    max_spans: int = 50_000
    """Most spans (or rows) in one request."""
    max_depth: int = 64
    """Deepest nesting of a JSON body."""
    retry_after_s: int = 2
    """What a sender is told to wait when we are full; above 5 clients drop the batch."""
