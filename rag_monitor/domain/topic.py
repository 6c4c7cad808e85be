"""What questions are about, and how well each topic is answered."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from rag_monitor.domain.fault import Fault

NO_TOPIC: Final = 0
"""Stands for the topic of questions that belong to none yet."""
_GROWTH: Final = math.log(1.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A group of questions of one application."""

    id: int
    """Above 0, never given to another topic of the application."""
    name: str
    """Words of its questions: untrusted text. Empty: they share none."""
    first_seen: datetime
    """When the first question was asked that made it a topic."""
    last_seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuestion:
    """A judged trace, as far as topics need it."""

    project: str
    trace_id: str
    day: date
    app: str
    started_at: datetime
    question: str
    fault: Fault | None = None
    """None: not diagnosed."""
    at_fault: float | None = None
    """P(anything is at fault)."""
    faithfulness: float | None = None
    refused: bool = False
    end_to_end_ms: float | None = None


@dataclass(slots=True)
class TopicSums:
    """What the questions of one topic add up to. Times and traces are those of the store."""

    questions: int = 0
    diagnosed: int = 0
    at_fault: float = 0.0
    """Sum of P(anything is at fault)."""
    faults: Counter[str] = field(default_factory=Counter)
    """How many have each fault, `none` left out."""
    refused: int = 0
    scored: int = 0
    """With a score of faithfulness."""
    total: float = 0.0
    squares: float = 0.0
    rated: int = 0
    """That users rated."""
    satisfied: float = 0.0
    """Those of them that satisfied their users."""
    latencies: Counter[int] = field(default_factory=Counter)
    """How many took up to 1.05 ** key milliseconds."""

    def add(
        self,
        *,
        fault: str | None,
        at_fault: float | None,
        faithfulness: float | None,
        refused: bool,
        end_to_end_ms: float | None,
    ) -> None:
        """One more question."""
        self.questions += 1
        self.refused += refused
        if fault is not None and at_fault is not None:
            self.diagnosed += 1
            self.at_fault += at_fault
            if fault != Fault.NONE:
                self.faults[fault] += 1
        if faithfulness is not None:
            self.scored += 1
            self.total += faithfulness
            self.squares += faithfulness**2
        if end_to_end_ms is not None:
            self.latencies[latency_bucket(end_to_end_ms)] += 1

    def merge(self, other: TopicSums) -> None:
        """Add those of another day."""
        for name in ("questions", "diagnosed", "at_fault", "refused", "scored", "total", "squares"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.rated += other.rated
        self.satisfied += other.satisfied
        self.faults.update(other.faults)
        self.latencies.update(other.latencies)

    def latency_ms(self, share: float) -> float | None:
        """A quantile of the latencies, at most 5 % too high; None without any."""
        wanted = share * self.latencies.total()
        passed = 0
        for bucket in sorted(self.latencies):
            passed += self.latencies[bucket]
            if passed >= wanted:
                return math.exp(bucket * _GROWTH)
        return None


def latency_bucket(milliseconds: float) -> int:
    """The bucket of a latency, of `TopicSums.latencies`."""
    return math.ceil(math.log(max(1.0, milliseconds)) / _GROWTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQuestion:
    """A question of a topic, for people to read."""

    trace_id: str
    question: str
    started_at: datetime
    fault: str | None = None
