"""Counts of no documents, and an inventory in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime

from rag_monitor.domain.document import (
    ConflictCounts,
    DocumentCounts,
    DocumentInfo,
    DocumentKey,
    InventoryDocument,
)
from rag_monitor.store.documents import DocumentQuery, Documents
from rag_monitor.store.inventory import Inventory


class FakeDocuments(Documents):
    """Nothing was counted yet."""

    def __init__(self) -> None:
        """It has no database."""

    def knowledge_bases(self, project: str) -> list[str]:
        return []

    def counts(self, query: DocumentQuery) -> list[DocumentCounts]:
        return []

    def conflicts(self, query: DocumentQuery) -> list[ConflictCounts]:
        return []

    def infos(self, project: str, keys: Iterable[DocumentKey]) -> dict[DocumentKey, DocumentInfo]:
        return {}


class FakeInventory(Inventory):
    """Documents by knowledge base."""

    def __init__(self) -> None:
        self.listed: dict[str, dict[str, InventoryDocument]] = {}

    def add(
        self, project: str, knowledge_base: str, listed: Sequence[InventoryDocument]
    ) -> int | None:
        mine = self.listed.setdefault(knowledge_base, {})
        mine.update({one.document: one for one in listed})
        return len(mine)

    def remove(self, project: str, knowledge_base: str, before: datetime | None = None) -> int:
        return len(self.listed.pop(knowledge_base, {}))

    def count(self, project: str, knowledge_base: str) -> int:
        return len(self.listed.get(knowledge_base, {}))

    def never_retrieved(
        self,
        project: str,
        since: date,
        limit: int,
        knowledge_base: str | None = None,
        after: tuple[str, str] | None = None,
    ) -> list[tuple[str, InventoryDocument]]:
        return []
