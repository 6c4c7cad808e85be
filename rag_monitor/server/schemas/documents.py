"""Documents of knowledge bases, as the API tells of them and takes them in."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Annotated

from pydantic import Field

from rag_monitor.aggregation.document_health import (
    DocumentHealth,
    Share,
)
from rag_monitor.aggregation.document_uses import inventory_id
from rag_monitor.domain.document import (
    DocumentInfo,
    DocumentKey,
    DocumentKind,
    InventoryDocument,
)
from rag_monitor.server.documents import ConflictPair, DocumentsPage
from rag_monitor.server.schemas.values import Given, Hints, Name, Wire
from rag_monitor.store.documents import DocumentQuery

_Detail = Annotated[str, Field(max_length=200)]
_Id = Annotated[str, Field(min_length=1, max_length=4000)]
MAX_SENT = 1_000


class ShareOut(Wire):
    """A share of judged traces, weighted by 1 / the probability of being judged."""

    judged: int
    value: float | None
    lower: float | None = Field(description="95%, Wilson.")
    upper: float | None

    @classmethod
    def from_domain(cls, share: Share) -> ShareOut:
        """The share as it goes out."""
        return cls(judged=share.judged, value=share.value, lower=share.lower, upper=share.upper)


class DocumentName(Wire):
    """Which document."""

    knowledge_base: str = Field(description="Empty: the sender names none.")
    kind: DocumentKind = Field(description="`id`, or `passage` where documents have no id.")
    document: str = Field(
        description="Its id, or 32 digits of the SHA-256 of its text.", examples=["prices-2023"]
    )
    title: str | None

    @classmethod
    def of(cls, key: DocumentKey, info: DocumentInfo) -> DocumentName:
        """The name as it goes out."""
        return cls(
            knowledge_base=key.knowledge_base,
            kind=key.kind,
            document=key.document,
            title=info.title,
        )


class DocumentOut(DocumentName):
    """What became of a document."""

    retrieved: int = Field(description="Traces that retrieved it.")
    mean_rank: float | None = Field(description="From 1; of its best passage in each trace.")
    in_context: int = Field(description="Traces in which it reached the model.")
    relevant: ShareOut
    useful: ShareOut
    used: ShareOut
    at_fault: ShareOut = Field(description="Answers at fault among those that had it.")
    excess_p: float | None = Field(
        description="Adjusted p-value of being in answers at fault more often than others."
    )
    conflicts: int = Field(
        description="Answers that took its value while another document gave another one."
    )
    outdated: int = Field(description="Those where the other one is newer.")
    last_seen: datetime | None
    age_days: int | None = Field(description="Since the date that its metadata give.")
    updated_at: str | None = Field(description="As its metadata write it.")
    version: str | None
    effective_date: str | None

    @classmethod
    def from_domain(cls, one: DocumentHealth) -> DocumentOut:
        """The document as it goes out."""
        shares = {name: ShareOut.from_domain(share) for name, share in one.shares.items()}
        return cls(
            **DocumentName.of(one.key, one.info).model_dump(),
            retrieved=one.retrieved,
            mean_rank=one.mean_rank,
            in_context=one.in_context,
            relevant=shares["relevant"],
            useful=shares["useful"],
            used=shares["used"],
            at_fault=shares["at_fault"],
            excess_p=one.excess,
            conflicts=one.conflicts,
            outdated=one.outdated,
            last_seen=one.info.last_seen,
            age_days=one.age_days,
            updated_at=one.info.updated_at,
            version=one.info.version,
            effective_date=one.info.effective_date,
        )


class ConflictOut(Wire):
    """Two documents in one context that state different values for the same thing."""

    used: DocumentName = Field(description="The one whose value the answers took.")
    other: DocumentName
    traces: int
    outdated: int = Field(description="Traces in which the other one is newer.")
    trace_id: str | None = Field(description="One of them; null: it was erased.")

    @classmethod
    def from_domain(cls, pair: ConflictPair) -> ConflictOut:
        """The pair as it goes out."""
        counts = pair.counts
        return cls(
            used=DocumentName.of(counts.used, pair.used_info),
            other=DocumentName.of(counts.other, pair.other_info),
            traces=counts.traces,
            outdated=counts.outdated,
            trace_id=counts.trace_id or None,
        )


class DocumentsOut(Wire):
    """A page of documents."""

    from_: date = Field(alias="from", description="First day, UTC.")
    to: date = Field(description="The day after the last one.")
    judge: str = Field(description="Whose verdicts the shares are; empty: there are none.")
    rest: int = Field(description="Retrievals of documents that are counted together.")
    items: list[DocumentOut]
    conflicts: list[ConflictOut] = Field(
        description="Of the list `conflicting`, in place of items."
    )
    next_cursor: str | None
    hints: Hints

    @classmethod
    def from_domain(
        cls, query: DocumentQuery, page: DocumentsPage, hints: list[str]
    ) -> DocumentsOut:
        """The page as it goes out."""
        return cls(
            **{"from": query.first},
            to=query.last + timedelta(days=1),
            judge=page.judge,
            rest=page.rest,
            items=[DocumentOut.from_domain(one) for one in page.documents],
            conflicts=[ConflictOut.from_domain(pair) for pair in page.pairs],
            next_cursor=page.next_cursor,
            hints=hints,
        )


class InventoryDocumentIn(Given):
    """A document of a knowledge base."""

    id: _Id = Field(description="As retrievers give it.", examples=["prices-2026"])
    title: _Detail | None = None
    updated_at: _Detail | None = Field(default=None, examples=["2026-01-05"])
    version: _Detail | None = None
    effective_date: _Detail | None = None

    def to_domain(self) -> InventoryDocument:
        """The document."""
        return InventoryDocument(
            document=inventory_id(self.id),
            title=self.title,
            updated_at=self.updated_at,
            version=self.version,
            effective_date=self.effective_date,
        )


class InventoryIn(Given):
    """Documents that a knowledge base holds."""

    knowledge_base: Name
    documents: Annotated[list[InventoryDocumentIn], Field(min_length=1, max_length=MAX_SENT)]


class InventoryOut(Wire):
    """How many documents a list names."""

    knowledge_base: str
    documents: int
    imported_at: datetime


class InventoryRemoved(Wire):
    """What was taken off a list."""

    knowledge_base: str
    removed: int
