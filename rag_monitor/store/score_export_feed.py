"""Scores in the order they were made, for whoever passes them on, and how far that has come."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import false, func, select

from rag_monitor.domain.stored import PlacedScore
from rag_monitor.store.cursors import Cursors
from rag_monitor.store.score_rows import load_score
from rag_monitor.store.tables import scores


class ScoreExportFeed(Cursors):
    """Reads new scores of all projects; a cursor says up to when they were passed on."""

    def between(self, after: datetime, until: datetime, limit: int) -> list[PlacedScore]:
        """Current scores made after `after` and no later than `until`, oldest first.

        About `limit` of them: scores of the same microsecond are never torn apart, so that the time
        of the last one is a cursor.
        """
        made = scores.c.created_at
        new = (made > after, made <= until, scores.c.superseded == false())
        first = select(made).where(*new).order_by(made).limit(limit).subquery()
        with self._database.read() as connection:
            last = connection.execute(select(func.max(first.c.created_at))).scalar_one()
            if last is None:
                return []
            columns = [column for column in scores.c if column.name != "verdicts"]
            rows = connection.execute(
                select(*columns)
                .where(made > after, made <= last, scores.c.superseded == false())
                .order_by(made, scores.c.trace_id, scores.c.metric, scores.c.judge)
            ).all()
        return [
            PlacedScore(
                project=row.project, trace_id=row.trace_id, app=row.app, score=load_score(row)
            )
            for row in rows
        ]
