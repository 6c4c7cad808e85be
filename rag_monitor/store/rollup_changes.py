"""Marks on minutes whose rollups no longer match. Set inside the transaction that changed them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from rag_monitor.store import bulk
from rag_monitor.store.tables import dirty_minutes

_BITS: Final = 62

Minute = tuple[str, str, datetime]
"""Project, app, start of the minute."""


def mark(connection: Connection, minutes: Iterable[Minute], now: datetime) -> None:
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
    bulk.upsert(connection, dirty_minutes, rows, ["version"])
