"""Which traces a person should look at next. Reads the newest judged ones, however many there are.

First those that were sampled for people: by chance, so that their marks may correct the
estimates. Then those that tell a judge's calibration most: where judges contradict one another, and
where the judge itself was unsure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, exists, literal_column, select

from rag_monitor.domain.decision import PEOPLE
from rag_monitor.domain.stored import TraceSummary
from rag_monitor.store import listing
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import decisions, feedback, scores, traces


class LabelReason(StrEnum):
    """What a mark on the trace would teach."""

    SAMPLED = "drawn"
    """Sampled for people by chance: only such marks may correct the estimates."""
    DISAGREE = "judges_disagree"
    """One judge flags it, another does not."""
    UNSURE = "unsure"
    """The judge's probability lies near one half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTask:
    """A trace to look at."""

    trace: TraceSummary
    reason: LabelReason
    low: float | None = None
    high: float | None = None
    """Least and largest `answer_supported` the judges gave; None where none gave any."""


LOOKED_AT: Final = 4000
"""Newest scores among which the telling ones are found."""
UNSURE: Final = (0.25, 0.75)
"""A judge's probability between these is no clear word."""
_METRIC: Final = "answer_supported"


@dataclass(slots=True)
class _Judged:
    """What judges said of one trace."""

    trace_id: str
    day: Any
    values: list[float]
    flags: set[bool]

    @property
    def reason(self) -> LabelReason | None:
        if len(self.flags) > 1:
            return LabelReason.DISAGREE
        if any(UNSURE[0] < value < UNSURE[1] for value in self.values):
            return LabelReason.UNSURE
        return None

    @property
    def place(self) -> tuple[bool, float]:
        """Contradictions before doubts, the greatest of either first."""
        if self.reason is LabelReason.DISAGREE:
            return False, min(self.values) - max(self.values)
        return True, min(abs(value - 0.5) for value in self.values)


class LabelQueue:
    """Traces nobody has marked, the most telling first."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(
        self, project: str, since: datetime, limit: int = 50, app: str | None = None
    ) -> list[LabelTask]:
        """Traces that wait for a mark.

        Args:
            project: Tenant.
            since: Only traces that were sampled, or that happened, from then on.
            limit: At most this many.
            app: Of this app only; None: of all.
        """
        with self._database.read() as connection:
            sampled = _sampled_for_people(connection, project, since, limit, app)
            judged = _judged(connection, project, since, app)
            sampled_ids = {row.trace_id for row in sampled}
            telling = sorted(
                (one for one in judged.values() if one.reason and one.trace_id not in sampled_ids),
                key=lambda one: one.place,
            )[: limit - len(sampled)]
            rows = [*sampled, *listing.rows_of(connection, project, telling)]
            summaries = listing.summaries(connection, project, rows)
        return [_task(summary, judged.get(summary.trace_id), sampled_ids) for summary in summaries]


def _task(summary: TraceSummary, judged: _Judged | None, sampled: set[str]) -> LabelTask:
    reason = judged.reason if judged and summary.trace_id not in sampled else None
    return LabelTask(
        trace=summary,
        reason=reason or LabelReason.SAMPLED,
        low=min(judged.values) if judged else None,
        high=max(judged.values) if judged else None,
    )


def _sampled_for_people(
    connection: Connection, project: str, since: datetime, limit: int, app: str | None
) -> Sequence[Any]:
    """The newest draws for people that nobody has answered."""
    same = [decisions.c[name] == traces.c[name] for name in ("project", "trace_id", "day")]
    statement = (
        select(*(traces.c[name] for name in listing.COLUMNS))
        .select_from(decisions.join(traces, and_(*same)))
        .where(
            decisions.c.project == project,
            # In the words of the partial index, without which SQLite does not see that it fits.
            decisions.c.judge == literal_column(f"'{PEOPLE}'"),
            decisions.c.decided_at >= since,
            decisions.c.included.is_(True),
            _unmarked(decisions.c),
        )
        .order_by(decisions.c.decided_at.desc(), decisions.c.trace_id)
        .limit(limit)
    )
    if app is not None:
        statement = statement.where(traces.c.app == app)
    return connection.execute(statement).all()


def _judged(
    connection: Connection, project: str, since: datetime, app: str | None
) -> dict[str, _Judged]:
    """The newest scores of traces that nobody has marked, by trace."""
    columns = [scores.c[name] for name in ("trace_id", "day", "value", "flagged")]
    statement = (
        select(*columns)
        .where(
            scores.c.project == project,
            scores.c.metric == _METRIC,
            scores.c.started_at >= since,
            scores.c.superseded.is_(False),
            scores.c.value.is_not(None),
            _unmarked(scores.c),
        )
        .order_by(scores.c.started_at.desc())
        .limit(LOOKED_AT)
    )
    if app is not None:
        statement = statement.where(scores.c.app == app)
    judged: dict[str, _Judged] = {}
    for row in connection.execute(statement):
        one = judged.setdefault(row.trace_id, _Judged(row.trace_id, row.day, [], set()))
        one.values.append(row.value)
        if row.flagged is not None:
            one.flags.add(row.flagged)
    return judged


def _unmarked(table: Any) -> ColumnElement[bool]:
    """No reviewer marked it; a user's rating answers no question of the labelling page."""
    return ~exists().where(
        feedback.c.project == table.project,
        feedback.c.trace_id == table.trace_id,
        feedback.c.kind.is_(None),
    )
