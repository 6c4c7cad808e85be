"""Marks on sessions of which something changed, set inside the transaction that changed it.

They are set before the marks on minutes, by everybody in this order: no deadlocks.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from rag_monitor.store import bulk
from rag_monitor.store.session_tables import changed_sessions
from rag_monitor.store.types import storable_name

_BITS: Final = 62


def mark_changed(
    connection: Connection, sessions: Iterable[tuple[str, str | None]], now: datetime
) -> None:
    """Have sessions counted again. The version is random: a mark set anew never equals an old one.

    Args:
        connection: A writing one.
        sessions: Project and session id of traces that changed; without an id there is no session.
        now: When.
    """
    named = {(project, storable_name(name)) for project, name in sessions if name}
    rows = [
        {
            "project": project,
            "session_id": session_id,
            "version": secrets.randbits(_BITS),
            "marked_at": now,
        }
        for project, session_id in sorted(named)  # one order: no deadlocks
    ]
    bulk.upsert(connection, changed_sessions, rows, ["version"])
