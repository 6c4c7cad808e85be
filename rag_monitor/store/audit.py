"""Who changed what: rows are added and grow old, nothing changes them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from rag_monitor.domain.stored import AuditEvent
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import audit

_COLUMNS = ("project", "at", "actor", "actor_name", "address", "action", "target", "details")


class AuditLog:
    """The audit log of all projects; every question names one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, event: AuditEvent) -> None:
        """Keep an event; its id is given here."""
        row = {name: getattr(event, name) for name in _COLUMNS} | {"details": dict(event.details)}
        statement = self._database.insert(audit)
        self._database.transact(lambda connection: connection.execute(statement, [row]))

    def list(
        self,
        project: str,
        *,
        action: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[AuditEvent]:
        """Events, the newest first.

        Args:
            project: Whose.
            action: Only of this kind, or of kinds that begin with it and a dot.
            before: Only those with a smaller id: the last of the page before.
            limit: At most so many.
        """
        statement = select(audit).where(audit.c.project == project)
        if action is not None:
            statement = statement.where(
                (audit.c.action == action)
                | audit.c.action.startswith(f"{action}.", autoescape=True)
            )
        if before is not None:
            statement = statement.where(audit.c.id < before)
        statement = statement.order_by(audit.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [_load(row) for row in connection.execute(statement)]


def _load(row: Any) -> AuditEvent:
    return AuditEvent(id=row.id, **{name: getattr(row, name) for name in _COLUMNS})
