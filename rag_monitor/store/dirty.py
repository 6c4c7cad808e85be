"""Marks on minutes whose rollups no longer match. Set inside the transaction that changed them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from rag_monitor.store.engine import Database
from rag_monitor.store.tables import dirty_minutes

_BITS: Final = 62

Minute = tuple[str, str, datetime]
"""Project, app, start of the minute."""


def mark(
    database: Database, connection: Connection, minutes: Iterable[Minute], now: datetime
) -> None:
    """Mark minutes as dirty. The version is random: a mark set anew never equals an old one."""
    rows = [
        {
            "project": project,
            "app": app,
            "minute": minute,
            "version": secrets.randbits(_BITS),
            "marked_at": now,
        }
        for project, app, minute in sorted(set(minutes))  # one order: no deadlocks
    ]
    if not rows:
        return
    statement = database.insert(dirty_minutes)
    statement = statement.on_conflict_do_update(
        index_elements=["project", "app", "minute"],
        set_={"version": statement.excluded.version},
    )
    connection.execute(statement, rows)
