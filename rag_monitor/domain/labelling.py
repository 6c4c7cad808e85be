"""Traces that wait for a person's mark, and why it would help."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rag_monitor.domain.stored import TraceSummary


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
