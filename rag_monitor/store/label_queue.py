"""Which traces a person should look at next, and who looks at which.

First those that people contradict one another on: one more mark settles them. Then those that were
sampled for people: by chance, so that their marks may correct the estimates. Then those that tell
a judge's calibration most: where judges contradict one another, and where the judge itself was
unsure. Nobody is asked about a trace twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, and_, delete, exists, literal_column, select

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.decision import PEOPLE
from rag_monitor.domain.label import QUESTION, marks_missing, tied
from rag_monitor.domain.stored import TraceSummary
from rag_monitor.store import listing
from rag_monitor.store.engine import Database
from rag_monitor.store.label_marks import newest_marks
from rag_monitor.store.tables import decisions, label_claims, scores, traces
from rag_monitor.store.trace_reads import days_of
from rag_monitor.store.types import storable_name


class LabelReason(StrEnum):
    """What a mark on the trace would teach."""

    PEOPLE_DISAGREE = "people_disagree"
    """As many reviewers call it supported as not."""
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
"""Newest scores among which the telling ones are chosen."""
UNSURE: Final = (0.25, 0.75)
"""A judge's probability between these is no clear word."""
CLAIMED_FOR: Final = timedelta(minutes=15)
"""How long a reviewer who was given a trace has it to themselves."""
_METRIC: Final = "answer_supported"
_OVERTAKING: Final = timedelta(hours=1)
"""Marks may come before the trace they are about."""
_STREAM: Final = 500
_TRIED: Final = 20
"""Traces tried for one claim; others may claim the same ones at this moment."""


@dataclass(slots=True)
class _Judged:
    """What judges said of one trace."""

    trace_id: str
    day: date
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


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A trace that wants a mark."""

    trace_id: str
    day: date
    reason: LabelReason


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelQuery:
    """Which traces to ask about, and whom."""

    project: str
    since: datetime
    """Only traces that were sampled, or that happened, from then on."""
    app: str | None = None
    """None: of all."""
    reviewer: str | None = None
    """Leaves out what this person has marked, and what others have claimed; None: nobody's."""
    marks_per_trace: int = 1


@dataclass(slots=True)
class _Answers:
    """What is marked and claimed already."""

    query: LabelQuery
    marks: Mapping[str, Mapping[str, float]]
    """By trace and reviewer."""
    claims: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    """Who has it, by trace and slot."""

    def missing(self, trace_id: str) -> int:
        """How many more reviewers are to be asked."""
        given = self.marks.get(trace_id, {})
        return marks_missing(given.values(), self.query.marks_per_trace)

    def open(self, trace_id: str) -> bool:
        """Whether the reviewer is to be asked."""
        missing = self.missing(trace_id)
        who = self.query.reviewer
        if not missing or who is None:
            return missing > 0
        others = sum(holder != who for holder in self.claims.get(trace_id, {}).values())
        return who not in self.marks.get(trace_id, {}) and missing > others


class LabelQueue:
    """Traces that wait for a mark, the most telling first."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def waiting(self, query: LabelQuery, limit: int = 50) -> list[LabelTask]:
        """Traces that wait for a mark, at most `limit`."""
        query = _stored(query)
        with self._database.read() as connection:
            answers = self._answers(connection, query)
            judged = _judged(connection, query)
            candidates = _candidates(connection, query, answers, lambda: judged)
            chosen = list(islice(candidates, limit))
            rows = listing.rows_of(connection, query.project, chosen)
            summaries = listing.summaries(connection, query.project, rows)
        reasons = {one.trace_id: one.reason for one in chosen}
        return [
            _task(summary, reasons[summary.trace_id], judged.get(summary.trace_id))
            for summary in summaries
        ]

    def claim(self, query: LabelQuery) -> str | None:
        """Give the reviewer a trace to mark, theirs alone for a while; None: nothing waits.

        Whoever claims again before they have marked it gets the same trace.

        Args:
            query: Must name the reviewer.
        """
        query = _stored(query)
        reviewer = _reviewer(query)

        def work(connection: Connection) -> str | None:
            answers = self._answers(connection, query)
            held = [id for id, slots in answers.claims.items() if reviewer in slots.values()]
            for trace_id in held:
                if answers.open(trace_id) and _is_of(connection, query, trace_id):
                    self._take(connection, query, answers, trace_id)
                    return trace_id
            waiting = _candidates(connection, query, answers, lambda: _judged(connection, query))
            for candidate in islice(waiting, _TRIED):
                if self._take(connection, query, answers, candidate.trace_id):
                    return candidate.trace_id
            return None

        return self._database.transact(work)

    def hold(self, query: LabelQuery, trace_id: str) -> bool:
        """Give the reviewer this trace, if it still waits for them.

        Args:
            query: Must name the reviewer.
            trace_id: Which trace.
        """
        query = _stored(query)

        def work(connection: Connection) -> bool:
            answers = self._answers(connection, query)
            return answers.open(trace_id) and self._take(connection, query, answers, trace_id)

        return self._database.transact(work)

    def release(self, project: str, trace_id: str, reviewer: str) -> None:
        """Give a claim back, because the trace is marked."""
        mine = (
            label_claims.c.project == project,
            label_claims.c.trace_id == trace_id,
            label_claims.c.reviewer == reviewer,
        )
        self._database.transact(
            lambda connection: connection.execute(delete(label_claims).where(*mine))
        )

    def _answers(self, connection: Connection, query: LabelQuery) -> _Answers:
        answers = _Answers(
            query, newest_marks(connection, query.project, since=query.since - _OVERTAKING)
        )
        rows = connection.execute(
            select(label_claims).where(
                label_claims.c.project == query.project,
                label_claims.c.claimed_until > self._clock.now(),
            )
        )
        for row in rows:
            answers.claims[row.trace_id][row.slot] = row.reviewer
        return answers

    def _take(
        self, connection: Connection, query: LabelQuery, answers: _Answers, trace_id: str
    ) -> bool:
        """Whether the claim is ours: of two who want the last one at once, one gets it."""
        now, reviewer = self._clock.now(), _reviewer(query)
        connection.execute(delete(label_claims).where(label_claims.c.claimed_until <= now))
        taken = answers.claims.get(trace_id, {})
        slots = {holder: slot for slot, holder in taken.items()}
        slot = slots.get(reviewer, next(n for n in range(len(taken) + 1) if n not in taken))
        row = {
            "project": query.project,
            "trace_id": trace_id,
            "slot": slot,
            "reviewer": reviewer,
            "claimed_until": now + CLAIMED_FOR,
        }
        statement = self._database.insert(label_claims).values(row)
        statement = statement.on_conflict_do_update(
            index_elements=("project", "trace_id", "slot"),
            set_={"claimed_until": statement.excluded.claimed_until},
            where=label_claims.c.reviewer == statement.excluded.reviewer,
        )
        return connection.execute(statement).rowcount == 1


def _stored(query: LabelQuery) -> LabelQuery:
    """The query with the reviewer's name as marks hold it."""
    if query.reviewer is None:
        return query
    return replace(query, reviewer=storable_name(query.reviewer))


def _reviewer(query: LabelQuery) -> str:
    if query.reviewer is None:
        raise ValueError("a claim needs a reviewer")
    return query.reviewer


def _task(summary: TraceSummary, reason: LabelReason, judged: _Judged | None) -> LabelTask:
    return LabelTask(
        trace=summary,
        reason=reason,
        low=min(judged.values) if judged else None,
        high=max(judged.values) if judged else None,
    )


def _candidates(
    connection: Connection,
    query: LabelQuery,
    answers: _Answers,
    judged: Callable[[], Mapping[str, _Judged]],
) -> Iterator[_Candidate]:
    """Every trace to ask about, once, in order; `judged` is called if it comes to that."""
    contested = {
        trace_id
        for trace_id, given in answers.marks.items()
        if tied(given.values()) and answers.open(trace_id)
    }
    yield from _contested(connection, query, contested)
    sampled = set()
    for row in _sampled_for_people(connection, query):
        sampled.add(row.trace_id)
        if row.trace_id not in contested and answers.open(row.trace_id):
            yield _Candidate(row.trace_id, row.day, LabelReason.SAMPLED)
    left = sampled | contested
    for one in sorted(judged().values(), key=lambda one: one.place):
        if one.reason and one.trace_id not in left and answers.open(one.trace_id):
            yield _Candidate(one.trace_id, one.day, one.reason)


def _contested(
    connection: Connection, query: LabelQuery, trace_ids: set[str]
) -> Iterator[_Candidate]:
    """Those of them that are stored, the newest first."""
    if not trace_ids:
        return
    conditions = [
        traces.c.project == query.project,
        traces.c.trace_id.in_(trace_ids),
        traces.c.day.in_(days_of(connection, query.project, trace_ids)),
    ]
    if query.app is not None:
        conditions.append(traces.c.app == query.app)
    rows = connection.execute(
        select(traces.c.trace_id, traces.c.day)
        .where(*conditions)
        .order_by(traces.c.started_at.desc(), traces.c.trace_id)
    ).all()
    for row in rows:
        yield _Candidate(row.trace_id, row.day, LabelReason.PEOPLE_DISAGREE)


def _sampled_for_people(connection: Connection, query: LabelQuery) -> Iterator[Any]:
    """The draws for people that a judge has scored, the newest first.

    A mark on a trace without a score would correct nothing, and mostly there are no passages.
    """
    same = [decisions.c[name] == traces.c[name] for name in ("project", "trace_id", "day")]
    scored = exists().where(
        *(scores.c[name] == decisions.c[name] for name in ("project", "trace_id", "day")),
        scores.c.metric.in_((QUESTION, _METRIC)),
        scores.c.superseded.is_(False),
        scores.c.value.is_not(None),
    )
    statement = (
        select(decisions.c.trace_id, decisions.c.day)
        .select_from(decisions.join(traces, and_(*same)))
        .where(
            decisions.c.project == query.project,
            # In the words of the partial index, without which SQLite does not see that it fits.
            decisions.c.judge == literal_column(f"'{PEOPLE}'"),
            decisions.c.decided_at >= query.since,
            decisions.c.included.is_(True),
            scored,
        )
        .order_by(decisions.c.decided_at.desc(), decisions.c.trace_id)
    )
    if query.app is not None:
        statement = statement.where(traces.c.app == query.app)
    with connection.execute(statement, execution_options={"yield_per": _STREAM}) as rows:
        yield from rows


def _judged(connection: Connection, query: LabelQuery) -> dict[str, _Judged]:
    """The newest scores, by trace."""
    columns = [scores.c[name] for name in ("trace_id", "day", "value", "flagged")]
    statement = (
        select(*columns)
        .where(
            scores.c.project == query.project,
            scores.c.metric == _METRIC,
            scores.c.started_at >= query.since,
            scores.c.superseded.is_(False),
            scores.c.value.is_not(None),
        )
        .order_by(scores.c.started_at.desc())
        .limit(LOOKED_AT)
    )
    if query.app is not None:
        statement = statement.where(scores.c.app == query.app)
    judged: dict[str, _Judged] = {}
    for row in connection.execute(statement):
        one = judged.setdefault(row.trace_id, _Judged(row.trace_id, row.day, [], set()))
        one.values.append(row.value)
        if row.flagged is not None:
            one.flags.add(row.flagged)
    return judged


def _is_of(connection: Connection, query: LabelQuery, trace_id: str) -> bool:
    """Whether the trace is stored, and one of those that are asked about."""
    mine = [
        traces.c.project == query.project,
        traces.c.trace_id == trace_id,
        traces.c.day.in_(days_of(connection, query.project, [trace_id])),
    ]
    if query.app is not None:
        mine.append(traces.c.app == query.app)
    return connection.execute(select(traces.c.trace_id).where(*mine)).first() is not None
