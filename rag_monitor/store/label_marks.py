"""The newest answer of each reviewer to the question of the labelling page."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from rag_monitor.domain.label import QUESTION
from rag_monitor.store.tables import feedback


def newest_marks(
    connection: Connection, project: str, *, since: datetime, until: datetime | None = None
) -> dict[str, dict[str, float]]:
    """Values by trace and reviewer, in the order in which they first answered.

    Marks without an author are each of a reviewer of their own.

    Args:
        connection: To the database.
        project: Tenant.
        since: Only marks made from then on.
        until: Only marks made before; None: all since.
    """
    conditions: list[ColumnElement[bool]] = [
        feedback.c.project == project,
        feedback.c.created_at >= since,
        *answers_question(feedback.c),
    ]
    if until is not None:
        conditions.append(feedback.c.created_at < until)
    columns = [feedback.c[name] for name in ("id", "trace_id", "author", "value")]
    statement = select(*columns).where(*conditions)
    marks: dict[str, dict[str, float]] = defaultdict(dict)
    for row in connection.execute(statement.order_by(feedback.c.created_at, feedback.c.id)):
        # No stored name holds a NUL.
        person = f"\0{row.id}" if row.author is None else row.author
        marks[row.trace_id][person] = row.value
    return dict(marks)


def answers_question(columns: Any) -> tuple[ColumnElement[bool], ...]:
    """Conditions on `feedback`: a reviewer's mark on what the labelling page asks."""
    return (
        columns.metric == QUESTION,
        columns.statement.is_(None),
        columns.kind.is_(None),
    )
