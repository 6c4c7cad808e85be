"""Why a trace was, or was not, given to a judge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rag_monitor.domain.judgement import JudgeUsage

PEOPLE: Final = "people"
"""In place of a judge's name: the draw of traces that people are asked to label."""


class SamplingReason(StrEnum):
    """What set the probability."""

    ALWAYS = "always"
    """The judge sees every trace."""
    BASE_RATE = "base_rate"
    STRATUM = "stratum"
    ERROR = "error"
    UNCERTAIN = "uncertain"
    """The embedded score is unsure."""
    NEW_RELEASE = "new_release"
    FEEDBACK = "feedback"
    FORCED = "forced"
    """A person asked for it (backfill, re-judge)."""
    BUDGET = "budget"
    """Lowered because the budget of the window is nearly spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingDecision:
    """The draw for one trace and one judge: a pure function of (salt, trace id, probability)."""

    judge: str
    """Name of the judge the draw was for, or `PEOPLE`."""
    included: bool
    probability: float
    """π: chance that a trace like this is judged; at least the policy's floor, at most 1."""
    reason: SamplingReason
    stratum: str = ""
    salt: str = ""
    """Names the design; a new salt starts a new one."""
    history: tuple[str, ...] = ()
    """Trace ids of the turns before the question that the judge was given, in order."""
    usage: JudgeUsage | None = None
    """What the judgement that followed used; None: nothing but this machine's processor, or it is
    not known."""
