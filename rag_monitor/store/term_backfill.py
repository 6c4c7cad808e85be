"""Indexes what traces of older releases carry; see `trace_terms`."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, select, update

from rag_monitor.store.bulk import Key
from rag_monitor.store.tables import traces
from rag_monitor.store.trace_reads import load_traces
from rag_monitor.store.trace_terms import place, terms_of

_KEY: Final = ("project", "trace_id", "day")


def index_older(connection: Connection, limit: int) -> int:
    """Index traces that are not yet, the newest first; returns how many."""
    key = [traces.c[name] for name in _KEY]
    rows = connection.execute(
        select(*key)
        .where(traces.c.terms.is_(None))
        .order_by(traces.c.project, traces.c.started_at.desc())
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    if not rows:
        return 0
    keys: list[Key] = [(row.project, row.trace_id) for row in rows]
    loaded = load_traces(connection, keys)
    placed = place(connection, [terms_of(loaded[key][1]) for key in keys])
    connection.execute(
        update(traces)
        .where(*(part == bindparam(f"key_{part.name}") for part in key))
        .values(terms=bindparam("place")),
        [
            {f"key_{name}": row._mapping[name] for name in _KEY} | {"place": where}
            for row, where in zip(rows, placed, strict=True)
        ],
    )
    return len(rows)
