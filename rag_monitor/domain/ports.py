"""What stages need of one another, as protocols. Wired in `server` and `worker`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol

from rag_monitor.domain.judgement import JudgeUsage


class BlobFormat(StrEnum):
    """How the evidence in a blob is encoded (before compression)."""

    OTLP = "otlp"
    """A protobuf `TracesData`: the spans of one trace of one request, with resource and scope."""
    TRACE_JSON = "trace_json"
    """One Trace JSON object, UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanBlob:
    """The evidence of one request about one trace, kept as it came."""

    trace_id: str
    format: BlobFormat
    payload: bytes
    """Uncompressed; the store compresses."""
    spans: int = 1
    complete: bool = False
    """The trace needs no further spans: derive it at once."""
    has_root: bool = False
    """A root is among the spans: derive soon, but leave time for stragglers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestBatch:
    """What one request delivered. Committed as a whole or not at all."""

    project: str
    received_at: datetime
    blobs: tuple[SpanBlob, ...]
    bulk: bool = False
    """The sender says that it is history: it waits behind live traffic, for the full judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """What became of a batch, once it is durable."""

    new: int = 0
    """Blobs stored."""
    duplicates: int = 0
    """Blobs that were already there."""


class TraceSink(Protocol):
    """Where ingest puts what it decoded."""

    async def write(self, batch: IngestBatch) -> WriteOutcome:
        """Store the batch and return once it is committed.

        Raises:
            QueueFull: Too much is waiting to be written; answer 503.
            StoreUnavailable: The database does not answer or is full; answer 503.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """How much of today's budget is left."""

    remaining: float
    """Share 0 to 1 of the tightest limit; 1 when there is no limit."""
    exhausted: bool = False
    limits: tuple[str, ...] = field(default_factory=tuple)
    """Names of the limits that are spent."""


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class Reservation:
    """What is set aside for one judgement; whoever judges keeps it until it is settled.

    Kept in a table too: when its keeper dies, what was not sent is given back.
    """

    id: str
    project: str
    """Who pays."""
    judge: str
    """The judge's name."""
    day: date
    """The UTC day whose budget pays, also after midnight."""
    reserved: JudgeUsage
    """In all; input and output tokens are one limit."""
    sent: JudgeUsage = field(default_factory=JudgeUsage)
    """What counts as spent if nobody settles: it went to the judge, and may have been worked on."""


class BudgetLedger(Protocol):
    """Keeps the judging budget across all workers."""

    def reserve(self, project: str, judge: str, estimate: JudgeUsage) -> Reservation | None:
        """Set aside what a judgement may cost; None when today's budget does not allow it.

        Args:
            project: Who pays.
            judge: The judge's name.
            estimate: How much.
        """
        ...

    def extend(self, reservation: Reservation, more: JudgeUsage) -> Reservation | None:
        """Set aside more on the same day; None when its budget does not allow it."""
        ...

    def note_sent(self, reservation: Reservation, sent: JudgeUsage) -> Reservation:
        """Note how much of it is on its way to the judge in all, before it is sent."""
        ...

    def settle(self, reservation: Reservation, actual: JudgeUsage) -> None:
        """Replace what was set aside by what was really used."""
        ...

    def state(self, project: str, judge: str) -> BudgetState:
        """What is left of the current day."""
        ...


class ReplyCache(Protocol):
    """Remembers a model's reply to an identical request."""

    def get(self, key: str) -> str | None:
        """The stored reply, or None."""
        ...

    def put(self, key: str, reply: str, *, project: str, trace_id: str) -> None:
        """Store a reply; `trace_id` lets erasure find it."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def name(self) -> str:
        """Model name, part of the judge identity."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One unit-length vector per text, in order."""
        ...
