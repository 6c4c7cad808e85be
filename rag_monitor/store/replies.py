"""Judges' replies to requests that were asked before."""

from __future__ import annotations

from sqlalchemy import select

from rag_monitor.domain.clock import Clock
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import replies


class Replies:
    """A `ReplyCache`; its keys name a request completely, project included."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def get(self, key: str) -> str | None:
        """The stored reply, or None."""
        with self._database.read() as connection:
            return connection.execute(
                select(replies.c.reply).where(replies.c.key == key)
            ).scalar_one_or_none()

    def put(self, key: str, reply: str, *, project: str, trace_id: str) -> None:
        """Store a reply; the first one for a key stays."""
        row = {
            "project": project,
            "key": key,
            "trace_id": trace_id,
            "reply": reply,
            "created_at": self._clock.now(),
        }
        statement = self._database.insert(replies).on_conflict_do_nothing()
        self._database.transact(lambda connection: connection.execute(statement, [row]))
