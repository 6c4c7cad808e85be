"""Rows of `session_verdicts` as verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Final

from sqlalchemy import Connection, select

from rag_monitor.domain.session_verdict import SessionVerdict
from rag_monitor.store.bulk import chunks
from rag_monitor.store.session_tables import session_verdicts

_COLUMNS: Final = tuple(session_verdicts.c[field.name] for field in fields(SessionVerdict))


def load_verdicts(
    connection: Connection, project: str, session_ids: Sequence[str]
) -> dict[str, SessionVerdict]:
    """The verdicts on sessions of a project, by session."""
    table = session_verdicts.c
    loaded: dict[str, SessionVerdict] = {}
    for name, part in chunks((project, session_id) for session_id in session_ids):
        rows = connection.execute(
            select(*_COLUMNS).where(table.project == name, table.session_id.in_(part))
        )
        loaded |= {row.session_id: SessionVerdict(**row._mapping) for row in rows}
    return loaded
