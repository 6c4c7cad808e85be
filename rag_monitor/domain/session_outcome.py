"""A SessionOutcome: what a conversation came to, as it is counted once it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from rag_monitor.domain.session import Session

SESSIONS_METRIC: Final = "sessions"
"""In rollups: `count` the sessions, whatever is known of them."""
SESSION_TURNS: Final = "session_turns"
SESSION_FAITHFULNESS: Final = "session_faithfulness"
SESSION_FAITHFULNESS_MEAN: Final = "session_faithfulness_mean"
RESOLVED_RATE: Final = "resolved_rate"
REPEATED_QUESTION_RATE: Final = "repeated_question_rate"
COMPLAINT_RATE: Final = "complaint_rate"
ABANDONED_RATE: Final = "abandoned_rate"
GOAL_REACHED_RATE: Final = "goal_reached_rate"
SESSION_SHARES: Final = (
    RESOLVED_RATE,
    SESSION_FAITHFULNESS,
    SESSION_FAITHFULNESS_MEAN,
    REPEATED_QUESTION_RATE,
    COMPLAINT_RATE,
    ABANDONED_RATE,
    GOAL_REACHED_RATE,
)
"""Metrics of sessions from 0 to 1."""
SESSION_METRICS: Final = (*SESSION_SHARES, SESSION_TURNS)
"""Of each the mean over sessions is estimated, from one value a session; no judge is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSession:
    """A session of which something changed since it was counted, with its turns as they are."""

    project: str
    session_id: str
    version: int
    """Changes with every change; the mark is cleared only if it is still this."""
    session: Session | None
    """None: it has no trace any more, or more than a conversation has."""
    days: tuple[date, date] | None = None
    """The days by which its oldest and its newest trace are kept; None without a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutcome:
    """One session, counted once: under the app and release of its last turn."""

    project: str
    session_id: str
    app: str
    release: str | None = None
    minute: datetime
    """In which it ended, as far as is known: rollups count it there."""
    first_day: date
    """The day by which its oldest trace is kept."""
    day: date
    """The same of its newest; sums of a day outlive its traces."""
    metrics: Mapping[str, float | None]
    """One value of each of `SESSION_METRICS`; None: it cannot be told."""
