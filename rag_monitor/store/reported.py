"""Scores of other tools: one for each source, name and span of a trace, the latest reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from sqlalchemy import Connection, select

from rag_monitor.domain.reported import ReportedScore
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import reported_scores
from rag_monitor.store.types import storable_name

MOST_SHOWN: Final = 500
"""Of one trace; whoever sends more keeps them, but a page must stay readable."""
_COLUMNS: Final = tuple(field.name for field in fields(ReportedScore))
_KEY: Final = ("project", "trace_id", "source", "name", "span_id")


class ReportedScores:
    """Keeps what other tools say. Its rows enter no rollup, no rule and no estimate."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, scores: Sequence[ReportedScore]) -> None:
        """Keep the scores. Their traces may not be there yet: a score can overtake its trace.

        Raises:
            StoreUnavailable: It did not go through in time; nothing was kept.
        """
        newest: dict[tuple[str, ...], ReportedScore] = {}
        for score in scores:
            key = tuple(storable_name(part) for part in score.key)
            if key not in newest or newest[key].reported_at <= score.reported_at:
                newest[key] = score
        # One order for all: two requests about the same traces must not wait for one another.
        rows = [{name: getattr(newest[key], name) for name in _COLUMNS} for key in sorted(newest)]
        if not rows:
            return
        statement = self._database.insert(reported_scores)
        statement = statement.on_conflict_do_update(
            index_elements=_KEY,
            set_={name: statement.excluded[name] for name in _COLUMNS if name not in _KEY},
            where=reported_scores.c.reported_at <= statement.excluded.reported_at,
        )
        with self._database.reserved():
            self._database.transact(lambda connection: connection.execute(statement, rows))


def load_reported(connection: Connection, project: str, trace_id: str) -> list[ReportedScore]:
    """What other tools say of a trace, by source and name; of very many the latest."""
    rows = connection.execute(
        select(reported_scores)
        .where(reported_scores.c.project == project, reported_scores.c.trace_id == trace_id)
        .order_by(reported_scores.c.reported_at.desc())
        .limit(MOST_SHOWN)
    )
    found = [_load(row) for row in rows]
    return sorted(found, key=lambda score: (score.source, score.name, score.span_id))


def _load(row: Any) -> ReportedScore:
    return ReportedScore(**{name: row._mapping[name] for name in _COLUMNS})
