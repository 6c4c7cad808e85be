"""What knowledge bases hold, as their owners say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Final

from sqlalchemy import Connection, delete, func, literal, or_, select, tuple_

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.document import DocumentKind, InventoryDocument
from rag_monitor.store.bulk import LOOKUP, upsert
from rag_monitor.store.document_tables import document_inventory, documents
from rag_monitor.store.engine import Database
from rag_monitor.store.types import Name

MAX_DOCUMENTS: Final = 200_000
"""Documents of one knowledge base."""
_FIELDS: Final = ("title", "updated_at", "version", "effective_date")


class Inventory:
    """Lists of documents by project and knowledge base."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def add(
        self, project: str, knowledge_base: str, listed: Sequence[InventoryDocument]
    ) -> int | None:
        """Add documents, or replace what is said of them; returns how many are there then.

        None: that would be more than `MAX_DOCUMENTS`, and nothing was changed.
        """
        now = self._clock.now()
        names = sorted({document.document for document in listed})

        def work(connection: Connection) -> int | None:
            there = _count(connection, project, knowledge_base)
            listed_before = _count_listed(connection, project, knowledge_base, names)
            if there + len(names) - listed_before > MAX_DOCUMENTS:
                return None
            seen = _last_seen(connection, project, knowledge_base, names)
            rows = {
                document.document: {
                    "project": project,
                    "knowledge_base": knowledge_base,
                    "document": document.document,
                    **{name: getattr(document, name) for name in _FIELDS},
                    "imported_at": now,
                    "last_retrieved": seen.get(document.document),
                }
                for document in listed
            }
            ordered = [rows[name] for name in sorted(rows)]
            upsert(connection, document_inventory, ordered, (*_FIELDS, "imported_at"))
            return there + len(names) - listed_before

        return self._database.transact(work)

    def remove(self, project: str, knowledge_base: str, before: datetime | None = None) -> int:
        """Forget the list of a knowledge base; returns how many documents it named.

        Args:
            project: Tenant.
            knowledge_base: Whose list.
            before: Only documents that were last imported before this.
        """
        table = document_inventory.c
        where = [table.project == project, table.knowledge_base == knowledge_base]
        if before is not None:
            where.append(table.imported_at < before)
        return self._database.transact(
            lambda connection: connection.execute(delete(document_inventory).where(*where)).rowcount
        )

    def count(self, project: str, knowledge_base: str) -> int:
        """How many documents the list of a knowledge base names."""
        with self._database.read() as connection:
            return _count(connection, project, knowledge_base)

    def never_retrieved(
        self,
        project: str,
        since: date,
        limit: int,
        knowledge_base: str | None = None,
        after: tuple[str, str] | None = None,
    ) -> list[tuple[str, InventoryDocument]]:
        """Documents that no trace of that day or later retrieved, with their knowledge bases.

        Args:
            project: Tenant.
            since: First day, UTC.
            limit: How many.
            knowledge_base: Only of this one.
            after: Knowledge base and document that the page before ended with.
        """
        table = document_inventory.c
        began = datetime.combine(since, time(), UTC)
        where: list[Any] = [
            table.project == project,
            or_(table.last_retrieved.is_(None), table.last_retrieved < began),
        ]
        if knowledge_base is not None:
            where.append(table.knowledge_base == knowledge_base)
        if after is not None:
            # Bound as names are: a cursor may hold what a database does not take.
            place = (literal(name, Name()) for name in after)
            where.append(tuple_(table.knowledge_base, table.document) > tuple_(*place))
        statement = (
            select(document_inventory)
            .where(*where)
            .order_by(table.knowledge_base, table.document)
            .limit(limit)
        )
        with self._database.read() as connection:
            return [
                (
                    row.knowledge_base,
                    InventoryDocument(
                        document=row.document,
                        last_retrieved=row.last_retrieved,
                        **{name: row._mapping[name] for name in _FIELDS},
                    ),
                )
                for row in connection.execute(statement)
            ]


def _count(connection: Connection, project: str, knowledge_base: str) -> int:
    table = document_inventory.c
    where = (table.project == project, table.knowledge_base == knowledge_base)
    count: int = connection.execute(
        select(func.count()).select_from(document_inventory).where(*where)
    ).scalar_one()
    return count


def _count_listed(
    connection: Connection, project: str, knowledge_base: str, names: Sequence[str]
) -> int:
    """How many of them the list names already."""
    table, listed_before = document_inventory.c, 0
    for start in range(0, len(names), LOOKUP):
        listed_before += connection.execute(
            select(func.count())
            .select_from(document_inventory)
            .where(
                table.project == project,
                table.knowledge_base == knowledge_base,
                table.document.in_(names[start : start + LOOKUP]),
            )
        ).scalar_one()
    return listed_before


def _last_seen(
    connection: Connection, project: str, knowledge_base: str, names: Sequence[str]
) -> dict[str, datetime]:
    """When traces were last given the documents, of those that are counted."""
    seen: dict[str, datetime] = {}
    for start in range(0, len(names), LOOKUP):
        statement = select(documents.c.document, documents.c.last_seen).where(
            documents.c.project == project,
            documents.c.knowledge_base == knowledge_base,
            documents.c.kind == DocumentKind.ID.value,
            documents.c.document.in_(names[start : start + LOOKUP]),
        )
        seen.update({row.document: row.last_seen for row in connection.execute(statement)})
    return seen
