"""Passages that were retrieved before for an application, the newest first."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import Select, and_, exists, select

from rag_monitor.store.engine import Database
from rag_monitor.store.tables import retrievals, traces
from rag_monitor.store.trace_reads import load_passages

TRACES: Final = 300
"""Newest traces of the application that are looked at."""
PASSED_OVER: Final = 3_000
"""Newest traces of the application among which those of a knowledge base are found."""
PASSAGES: Final = 500
"""Different passages that are read of them."""

_KEY: Final = ("project", "trace_id", "day")


class EarlierPassages:
    """Answers from an index of the application's traces, and is bounded by their number."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def newest(self, project: str, app: str, knowledge_bases: Collection[str]) -> list[str]:
        """The texts of at most `PASSAGES` passages, those of the newest traces first.

        Args:
            project: Whose.
            app: Of which application.
            knowledge_bases: Only of traces that retrieved from one of these; empty: of any.
        """
        with self._database.read() as connection:
            rows = connection.execute(_newest(project, app, knowledge_bases)).scalars()
            digests = list(dict.fromkeys(digest for named in rows for digest in named))
            digests = digests[:PASSAGES]
            texts = load_passages(connection, project, digests)
        return [texts[digest] for digest in digests if digest in texts]


def _newest(project: str, app: str, knowledge_bases: Collection[str]) -> Select[Any]:
    newest = (traces.c.started_at.desc(), traces.c.trace_id.desc())
    of_app = (traces.c.project == project, traces.c.app == app)
    if not knowledge_bases:
        return select(traces.c.passages).where(*of_app).order_by(*newest).limit(TRACES)
    columns = [traces.c[name] for name in (*_KEY, "started_at", "passages")]
    recent = select(*columns).where(*of_app).order_by(*newest).limit(PASSED_OVER).subquery()
    same = [retrievals.c[name] == recent.c[name] for name in _KEY]
    from_these = exists().where(and_(*same, retrievals.c.knowledge_base.in_(knowledge_bases)))
    newest = (recent.c.started_at.desc(), recent.c.trace_id.desc())
    return select(recent.c.passages).where(from_these).order_by(*newest).limit(TRACES)
