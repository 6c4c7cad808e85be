"""A Session: the traces of one session id, as the turns of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.filters import TraceQuery
from rag_monitor.domain.hit import Hit
from rag_monitor.domain.score import ReportedSessionScore
from rag_monitor.domain.session_verdict import SessionVerdict
from rag_monitor.domain.trace import Timings, TraceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery(TraceQuery):
    """Which sessions to list: those with a turn that fits, each at the first such turn there is.

    `cursor` is `SessionPage.next_cursor` of the page before.
    """

    resolved: bool | None = None
    """Whether the session, as it is listed, is resolved: see `aggregation.sessions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question of a session with its answer, and what is known of it."""

    trace_id: str
    app: str
    release: str | None = None
    environment: str | None = None
    user_id: str | None = None
    tags: tuple[str, ...] = ()
    started_at: datetime
    status: TraceStatus = TraceStatus.OK
    error: str | None = None
    question: str | None = None
    """None: withheld."""
    answer: str | None = None
    """None: withheld, or never begun."""
    timings: Timings = field(default_factory=Timings)
    hits: tuple[Hit, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)
    """Current value by metric; of several judges the newest; None: no value."""
    flagged: bool | None = None
    """Of the newest score of `answer_supported`, as in `Score`; None: it was not judged."""
    faults: tuple[Diagnosis, ...] = ()
    """Of each judge, the newest first."""
    feedback: tuple[Feedback, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation, or the newest part of a long one."""

    session_id: str
    total: int
    """Turns in all, at least 1."""
    first_at: datetime
    """When its first turn began."""
    last_at: datetime
    turns: tuple[Turn, ...]
    """In order; of more than were asked for the newest."""
    earlier_cursor: str | None = None
    """Where the turns before these end; None: there are none."""
    reported: tuple[ReportedSessionScore, ...] = ()
    """What other tools say of it as a whole; only where one session is read."""
    verdict: SessionVerdict | None = None
    """What a judge said of it as a whole, maybe before its last turns; only where it is counted or
    one session is read."""

    @property
    def goal_reached(self) -> float | None:
        """P(the user got what they came for), of the session as it is; None: it is not judged."""
        verdict = self.verdict
        return verdict.value if verdict is not None and verdict.upto == self.last_at else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """A page of sessions and where the next one starts."""

    items: tuple[Session, ...]
    next_cursor: str | None = None
    """Opaque; None on the last page."""
    partial: bool = False
    """The page ends, full or not, where so much was looked through; the next goes on."""
    indexed_since: datetime | None = None
    """As in `TracePage`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The traces before and after one in its session; None: it is the first, or the last."""

    previous: str | None = None
    following: str | None = None
