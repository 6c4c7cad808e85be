"""What the turns of a session say of it as a whole: on pages, and as rollups count it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.session import Session, SessionQuery, Turn
from rag_monitor.domain.session_outcome import (
    ABANDONED_RATE,
    COMPLAINT_RATE,
    GOAL_REACHED_RATE,
    REPEATED_QUESTION_RATE,
    RESOLVED_RATE,
    SESSION_FAITHFULNESS,
    SESSION_FAITHFULNESS_MEAN,
    SESSION_TURNS,
    ChangedSession,
    SessionOutcome,
)
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.language.complaints import complains
from rag_monitor.language.repetition import repeated_turns

_HALF = 0.5
_ABOUT_THE_ANSWER = frozenset({None, "faithfulness"})
"""What a mark that says whether an answer was good may be about."""
_CUT: Final = frozenset({TraceStatus.ABANDONED, TraceStatus.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMetrics:
    """Of the turns that were read: see docs/metrics.md."""

    turns: int
    """In all."""
    worst_faithfulness: float | None
    """Of the least faithful answer; None: none has a score."""
    mean_faithfulness: float | None
    repeated: tuple[int | None, ...]
    """Of each turn, the 0-based place of the earlier turn whose question it repeats."""
    complaints: tuple[bool, ...]
    """Of each turn, whether its question complains about an answer before it."""
    resolved: bool | None
    """None: nothing speaks against it, but the last answer is not judged."""
    abandoned: bool
    """Nobody stayed for the end of the last answer."""

    @property
    def repeated_questions(self) -> int:
        """Turns that ask again for what an earlier one asked for."""
        return sum(place is not None for place in self.repeated)

    @property
    def complained(self) -> bool:
        """Whether any turn complains."""
        return any(self.complaints)


def keeps(query: SessionQuery) -> Callable[[Session], bool] | None:
    """What a query asks of a whole session; None: nothing."""
    if query.resolved is None:
        return None
    return lambda session: session_metrics(session).resolved is query.resolved


def session_metrics(session: Session) -> SessionMetrics:
    """The metrics of a session, from the turns it was read with."""
    turns = session.turns
    faithful = [value for turn in turns if (value := turn.scores.get("faithfulness")) is not None]
    repeated = repeated_turns([turn.question for turn in turns])
    # The first question of a conversation has no answer before it to complain about.
    is_first = [session.earlier_cursor is None and place == 0 for place in range(len(turns))]
    complaints = tuple(
        not first and turn.question is not None and complains(turn.question)
        for turn, first in zip(turns, is_first, strict=True)
    )
    return SessionMetrics(
        turns=session.total,
        worst_faithfulness=min(faithful, default=None),
        mean_faithfulness=sum(faithful) / len(faithful) if faithful else None,
        repeated=repeated,
        complaints=complaints,
        resolved=_resolved(turns, repeated, complaints),
        abandoned=bool(turns) and turns[-1].status in _CUT,
    )


def outcome_of(changed: ChangedSession, idle: timedelta) -> SessionOutcome | None:
    """What a session is counted as, in the minute in which it has been idle for so long.

    A later turn moves it to a later minute, so that it is counted once. Until that minute has come
    no window reaches it.

    Args:
        changed: The session with all its turns; None is returned where there are none.
        idle: So long after its last turn began a session has ended.
    """
    session, days = changed.session, changed.days
    if session is None or days is None or not session.turns:
        return None
    last = session.turns[-1]
    return SessionOutcome(
        project=changed.project,
        session_id=changed.session_id,
        app=last.app,
        release=last.release,
        minute=(session.last_at + idle).replace(second=0, microsecond=0),
        first_day=days[0],
        day=days[1],
        metrics=_values(session, session_metrics(session)),
    )


def _values(session: Session, metrics: SessionMetrics) -> dict[str, float | None]:
    """One number for each of `SESSION_METRICS`; None: it cannot be told."""
    withheld = any(turn.question is None for turn in session.turns)

    def of_questions(occurs: bool) -> float | None:
        return None if withheld and not occurs else float(occurs)

    return {
        SESSION_TURNS: float(metrics.turns),
        SESSION_FAITHFULNESS: metrics.worst_faithfulness,
        SESSION_FAITHFULNESS_MEAN: metrics.mean_faithfulness,
        RESOLVED_RATE: None if metrics.resolved is None else float(metrics.resolved),
        REPEATED_QUESTION_RATE: of_questions(metrics.repeated_questions > 0),
        COMPLAINT_RATE: of_questions(metrics.complained),
        ABANDONED_RATE: float(metrics.abandoned),
        GOAL_REACHED_RATE: session.goal_reached,
    }


def _resolved(
    turns: tuple[Turn, ...], repeated: tuple[int | None, ...], complaints: tuple[bool, ...]
) -> bool | None:
    if any(place is not None for place in repeated) or any(complaints):
        return False
    if any(_is_negative(mark) for turn in turns for mark in turn.feedback):
        return False
    last = turns[-1] if turns else None
    return None if last is None else _all_of(_answer_is_good(last))


def _is_negative(mark: Feedback) -> bool:
    is_about_it = mark.metric in _ABOUT_THE_ANSWER and mark.statement is None
    return is_about_it and mark.fault is None and mark.value < _HALF


def _answer_is_good(turn: Turn) -> Iterable[bool | None]:
    """Whether it came, is supported, is relevant and is no refusal; None: not known."""
    yield turn.status is TraceStatus.OK
    yield None if turn.flagged is None else not turn.flagged
    relevance, refusal = turn.scores.get("answer_relevance"), turn.scores.get("refusal_rate")
    yield None if relevance is None else relevance >= _HALF
    yield None if refusal is None else refusal < _HALF


def _all_of(conditions: Iterable[bool | None]) -> bool | None:
    """Whether all hold: False as soon as one does not, None where one is not known."""
    outcomes = list(conditions)
    if any(outcome is False for outcome in outcomes):
        return False
    return None if None in outcomes else True
