"""Tables of documents: what became of them day by day, and what each trace added to that."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Date, Float, Index, PrimaryKeyConstraint, Table

from rag_monitor.domain.document import SHARES
from rag_monitor.store.tables import metadata
from rag_monitor.store.types import PARTITION_BY, Moment, Name, SafeText, TraceJson
from rag_monitor.store.types import column as _column
from rag_monitor.store.types import names as _names
from rag_monitor.store.types import of_trace as _of_trace

SUMS: Final = ("count", "weight", "total", "squares")
"""Of a share: answers of the judge, their weights, the weights of those that say yes, and the
squares of all weights."""

document_days: Final = Table(
    "document_days",
    metadata,
    *_names("project", "app", "knowledge_base"),
    _column("day", Date),  # UTC, on which the traces began
    *_names("kind", "document", "judge"),  # judge empty: what needs none
    _column("retrieved", BigInteger),
    _column("ranks", BigInteger),
    _column("in_context", BigInteger),
    *(
        _column(f"{share}_{part}", BigInteger if part == "count" else Float)
        for share in SHARES
        for part in SUMS
    ),
    PrimaryKeyConstraint("project", "knowledge_base", "day", "app", "kind", "document", "judge"),
    Index("ix_document_days_day", "day"),
)

documents: Final = Table(
    "documents",
    metadata,
    *_names("project", "knowledge_base", "kind", "document"),
    Column("title", SafeText),
    Column("updated_at", SafeText),  # as the metadata write it
    Column("version", SafeText),
    Column("effective_date", SafeText),
    Column("passage", Name),  # digest of the newest one
    _column("last_seen", Moment),
    PrimaryKeyConstraint("project", "knowledge_base", "kind", "document"),
)

document_conflicts: Final = Table(
    "document_conflicts",
    metadata,
    *_names("project", "app", "knowledge_base"),
    _column("day", Date),
    *_names("kind", "document", "other_knowledge_base", "other_kind", "other"),
    _column("traces", BigInteger),  # whose answer took the value of the first
    _column("outdated", BigInteger),  # those where the first is the older one
    _column("trace_id", Name),  # the newest of them; empty: erased
    PrimaryKeyConstraint(
        "project", "knowledge_base", "day", "app", "kind", "document",
        "other_knowledge_base", "other_kind", "other",
    ),
    Index("ix_document_conflicts_day", "day"),
    Index("ix_document_conflicts_trace", "project", "trace_id"),
)  # fmt: skip

document_uses: Final = Table(
    "document_uses",
    metadata,
    *_of_trace(),
    _column("uses", TraceJson),  # what the trace was counted as
    PrimaryKeyConstraint("project", "trace_id", "day"),
    **PARTITION_BY,
)

document_inventory: Final = Table(
    "document_inventory",
    metadata,
    *_names("project", "knowledge_base", "document"),
    Column("title", SafeText),
    Column("updated_at", SafeText),
    Column("version", SafeText),
    Column("effective_date", SafeText),
    _column("imported_at", Moment),
    Column("last_retrieved", Moment),  # NULL: not since it was imported
    PrimaryKeyConstraint("project", "knowledge_base", "document"),
)
