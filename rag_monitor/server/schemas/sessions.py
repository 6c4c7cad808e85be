"""Sessions as the API tells them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Self

from pydantic import Field

from rag_monitor.aggregation.sessions import SessionMetrics, session_metrics
from rag_monitor.domain.session import Session, SessionPage, Turn
from rag_monitor.server.schemas.faults import FaultOut
from rag_monitor.server.schemas.feedback import FeedbackOut
from rag_monitor.server.schemas.reported import ReportedScoreOut
from rag_monitor.server.schemas.traces import HitOut, TimingsOut
from rag_monitor.server.schemas.values import Hints, IndexedSince, Partial, Wire, finite


class SessionFaithfulness(Wire):
    """How well the answers of a session are supported; null: none was judged."""

    worst: float | None
    mean: float | None


class SessionRow(Wire):
    """A session in a list, with its metrics over its newest turns."""

    session_id: str
    apps: list[str]
    user_ids: list[str]
    releases: list[str]
    first_at: datetime = Field(description="When its first turn began.")
    last_at: datetime
    first_question: str | None = Field(description="Of the turns that were read.")
    last_question: str | None
    session_turns: int = Field(description="Questions in all.", examples=[3])
    turns_read: int = Field(description="The newest, from which the other numbers are worked out.")
    session_faithfulness: SessionFaithfulness
    repeated_questions: int = Field(
        description="Turns that ask again for what an earlier one asked for."
    )
    complaint: bool = Field(description="Whether a turn complains about an answer before it.")
    resolved: bool | None = Field(
        description="Whether the user got what they came for; null: the last answer is not judged."
    )

    @classmethod
    def from_domain(cls, session: Session) -> Self:
        """The session as it goes out."""
        return cls(**_row(session, session_metrics(session)))


def _row(session: Session, metrics: SessionMetrics) -> dict[str, Any]:
    turns = session.turns
    return {
        "session_id": session.session_id,
        "apps": _each(turn.app for turn in turns),
        "user_ids": _each(turn.user_id for turn in turns),
        "releases": _each(turn.release for turn in turns),
        "first_at": session.first_at,
        "last_at": session.last_at,
        "first_question": turns[0].question if turns else None,
        "last_question": turns[-1].question if turns else None,
        "session_turns": metrics.turns,
        "turns_read": len(turns),
        "session_faithfulness": SessionFaithfulness(
            worst=finite(metrics.worst_faithfulness), mean=finite(metrics.mean_faithfulness)
        ),
        "repeated_questions": metrics.repeated_questions,
        "complaint": metrics.complained,
        "resolved": metrics.resolved,
    }


def _each(values: Iterable[str | None]) -> list[str]:
    """Each value once, in order."""
    return list(dict.fromkeys(value for value in values if value is not None))


class SessionList(Wire):
    """A page of sessions, in the order asked for."""

    items: list[SessionRow]
    next_cursor: str | None = Field(description="Send it as `cursor` for the next page.")
    partial: Partial
    indexed_since: IndexedSince
    hints: Hints

    @classmethod
    def from_domain(cls, page: SessionPage, hints: Sequence[str] = ()) -> SessionList:
        """The page as it goes out."""
        return cls(
            items=[SessionRow.from_domain(session) for session in page.items],
            next_cursor=page.next_cursor,
            partial=page.partial,
            indexed_since=page.indexed_since,
            hints=list(hints),
        )


class TurnOut(Wire):
    """One question of a session with its answer."""

    trace_id: str
    app: str
    release: str | None
    environment: str | None
    user_id: str | None
    tags: list[str]
    started_at: datetime
    status: str
    error: str | None
    question: str | None = Field(description="null where the sender withheld it.")
    answer: str | None
    timings: TimingsOut
    hits: list[HitOut]
    scores: dict[str, float | None] = Field(examples=[{"faithfulness": 0.83}])
    supported: bool | None = Field(description="The judge's verdict; null: not judged.")
    faults: list[FaultOut] = Field(description="Of each judge, the newest first.")
    feedback: list[FeedbackOut]
    repeats: str | None = Field(description="The trace whose question this one asks again.")
    complaint: bool

    @classmethod
    def from_domain(cls, turn: Turn, repeats: str | None, complaint: bool) -> TurnOut:
        """The turn as it goes out."""
        return cls(
            trace_id=turn.trace_id,
            app=turn.app,
            release=turn.release,
            environment=turn.environment,
            user_id=turn.user_id,
            tags=list(turn.tags),
            started_at=turn.started_at,
            status=turn.status.value,
            error=turn.error,
            question=turn.question,
            answer=turn.answer,
            timings=TimingsOut.from_domain(turn.timings),
            hits=[HitOut.from_domain(hit) for hit in turn.hits],
            scores={metric: finite(value) for metric, value in turn.scores.items()},
            supported=None if turn.flagged is None else not turn.flagged,
            faults=[FaultOut.from_domain(fault) for fault in turn.faults],
            feedback=[FeedbackOut.from_domain(mark) for mark in turn.feedback],
            repeats=repeats,
            complaint=complaint,
        )


class SessionVerdictOut(Wire):
    """What a judge says of a session as a whole."""

    value: float | None = Field(
        description="P(the user got what they came for); null: `reason` says why."
    )
    judge: str | None = Field(description="Its identity.")
    reason: str | None
    turns: int = Field(description="That the session had.")
    current: bool = Field(description="Whether no turn came since.")
    judged_at: datetime

    @classmethod
    def from_domain(cls, session: Session) -> Self | None:
        """The verdict as it goes out."""
        verdict = session.verdict
        if verdict is None:
            return None
        return cls(
            value=finite(verdict.value),
            judge=verdict.judge or None,
            reason=verdict.reason,
            turns=verdict.turns,
            current=verdict.upto == session.last_at,
            judged_at=verdict.judged_at,
        )


class SessionDetail(SessionRow):
    """A session with its turns in order; of a long one the newest."""

    turns: list[TurnOut]
    earlier_cursor: str | None = Field(description="Send it as `cursor` for the turns before.")
    reported_scores: list[ReportedScoreOut] = Field(
        description="What other tools reported of the whole session."
    )
    goal_reached: SessionVerdictOut | None = Field(
        description="Where sessions are judged as a whole (`sessions.judge`), once it has ended."
    )

    @classmethod
    def from_domain(cls, session: Session) -> Self:
        """The session as it goes out."""
        metrics = session_metrics(session)
        turns = session.turns
        return cls(
            **_row(session, metrics),
            turns=[
                TurnOut.from_domain(
                    turn, None if place is None else turns[place].trace_id, complaint
                )
                for turn, place, complaint in zip(
                    turns, metrics.repeated, metrics.complaints, strict=True
                )
            ],
            earlier_cursor=session.earlier_cursor,
            reported_scores=[ReportedScoreOut.from_domain(score) for score in session.reported],
            goal_reached=SessionVerdictOut.from_domain(session),
        )
