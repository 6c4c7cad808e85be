"""Documents of knowledge bases: how they are told apart, and what became of them in a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final, NamedTuple

SHARES: Final = ("relevant", "useful", "used", "at_fault")
"""What is told of a document as a share of the judged traces that had it in their contexts."""

EFFECTIVE_NAMES: Final = ("effective_date", "effective_from", "valid_from")
UPDATED_NAMES: Final = (
    "updated_at", "last_updated", "last_modified", "modified_at", "published_at", "published",
    "date",
)  # fmt: skip
VERSION_NAMES: Final = ("version", "year")
AGE_NAMES: Final = (*EFFECTIVE_NAMES, *UPDATED_NAMES, *VERSION_NAMES)
"""Metadata that tells how new a passage is, what decides first."""


class DocumentKind(StrEnum):
    """How a document is told apart; the names stand in the database and in the API."""

    ID = "id"
    """By the id that its retriever gives it."""
    PASSAGE = "passage"
    """By its text, where it has no id: the first 32 digits of its SHA-256."""
    REST = "rest"
    """Further documents of a knowledge base, counted together."""
    ALL = "all"
    """Not a document: every trace of an app that had any in its contexts."""


class DocumentKey(NamedTuple):
    """One document of a project."""

    knowledge_base: str
    """Empty: the sender names none."""
    kind: DocumentKind
    document: str
    """Empty for `rest` and `all`."""


class DocumentConflict(NamedTuple):
    """Two documents in one context that state different values for the same thing."""

    used: DocumentKey
    """The one whose value the answer states."""
    other: DocumentKey
    outdated: bool
    """The other one is known to be newer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentUse:
    """One document in one trace."""

    key: DocumentKey
    rank: int | None = None
    """1-based, the best of its passages; None: it was not retrieved, or nobody says at which."""
    in_context: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedUses:
    """What one judge says of the documents of a trace."""

    weight: float = 1.0
    """1 / the probability that it judged the trace."""
    verdicts: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    """By share, of the documents by their place in `TraceUses.documents`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceUses:
    """What a trace adds to the counts of documents."""

    app: str
    day: date
    """UTC, on which it began."""
    documents: tuple[DocumentUse, ...] = ()
    judges: Mapping[str, JudgedUses] = field(default_factory=dict)
    """By the identity of the judge as text."""
    conflicts: tuple[DocumentConflict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentInfo:
    """What is known of a document apart from counts; texts as its metadata write them."""

    title: str | None = None
    updated_at: str | None = None
    version: str | None = None
    effective_date: str | None = None
    passage: str | None = None
    """SHA-256 of its newest passage."""
    last_seen: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSums:
    """Sums of a share, as a sampled judge gives them."""

    count: int = 0
    """Judged traces."""
    weight: float = 0.0
    total: float = 0.0
    """Weight of those that say yes."""
    squares: float = 0.0
    """Sum of the squared weights."""

    def plus(self, other: ShareSums, sign: int = 1) -> ShareSums:
        """Both together; with `sign` -1 without the other."""
        return ShareSums(
            count=self.count + sign * other.count,
            weight=self.weight + sign * other.weight,
            total=self.total + sign * other.total,
            squares=self.squares + sign * other.squares,
        )

    @property
    def value(self) -> float | None:
        """The weighted share; None: nothing was judged."""
        if self.count <= 0 or self.weight <= 0:
            return None
        return min(1.0, max(0.0, self.total / self.weight))

    @property
    def effective(self) -> float:
        """Kish's effective number of traces: (sum of weights)^2 / sum of squared weights."""
        return self.weight * self.weight / self.squares if self.squares > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCounts:
    """What became of a document of one app over some days, by one judge."""

    key: DocumentKey
    app: str
    judge: str
    """Empty: the counts that need none."""
    retrieved: int = 0
    """Traces."""
    ranks: int = 0
    """Sum of its ranks."""
    in_context: int = 0
    shares: Mapping[str, ShareSums] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictCounts:
    """How often two documents stood in one context with different values."""

    used: DocumentKey
    other: DocumentKey
    traces: int
    outdated: int
    trace_id: str
    """The newest of them; empty: it was erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryDocument:
    """A document that a knowledge base holds, as its owner says."""

    document: str
    """Its id, as retrievers give it."""
    title: str | None = None
    updated_at: str | None = None
    version: str | None = None
    effective_date: str | None = None
    last_retrieved: datetime | None = None
    """None: not since it was imported."""
