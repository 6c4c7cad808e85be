"""A SessionVerdict: what a judge says of a conversation as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rag_monitor.domain.conversation import EarlierTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRequest:
    """A conversation to judge: did the user get what they came for?"""

    project: str
    """Whose budget pays."""
    turns: Sequence[EarlierTurn]
    """In order; the last is the newest."""
    left_out: int = 0
    """Turns before these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationReply:
    """A judge's answer to a `ConversationRequest`."""

    probability: float
    """That the user got what they came for."""
    judge: str
    """Identity."""
    suspect: str | None = None
    """Why it is not to be trusted: `injection_plea`, `canary_leaked`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSession:
    """A session that waits for its verdict."""

    project: str
    session_id: str
    ended: datetime
    """The minute in which it counts; another than that of its verdict if turns came since."""
    attempts: int = 0
    """Calls that failed so far, for the session as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionVerdict:
    """The verdict on a session as it was at one time, or why there is none."""

    project: str
    session_id: str
    value: float | None
    """P(the user got what they came for); None: see `reason`."""
    judge: str = ""
    reason: str | None = None
    """`not_drawn`, `injection_plea`, or what went wrong."""
    turns: int
    """That it had."""
    upto: datetime
    """When the last of them began."""
    ended: datetime
    attempts: int = 0
    retry_at: datetime | None = None
    """When it is asked again after a failure; None: not at all."""
    judged_at: datetime
