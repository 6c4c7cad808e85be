"""What is said of each topic: its traffic, its quality and its faults, each with an interval.

Shares have Wilson's interval, differences of shares Newcombe's. What is at fault is the mean of
the judge's probabilities: how often the judge itself errs is not in the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from math import sqrt
from typing import Final

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.topic import NO_TOPIC, Topic, TopicSums
from rag_monitor.statistics.comparison import mover_difference
from rag_monitor.statistics.wilson import effective_wilson, wilson_interval

_GROWN: Final = 1.5
"""A topic has grown whose share is so many times what it was, beyond chance."""
_EXPECTED: Final = 5.0
"""Questions that a vanished topic would have had, had its share stayed."""


class TopicEvent(StrEnum):
    """What has become of a topic in a window, beside the one before."""

    NEW = "new"
    """Its first question was asked in the window, and questions of other topics before it."""
    GROWN = "grown"
    VANISHED = "vanished"
    """Nobody asks about it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A mean between 0 and 1 with its 95 % interval."""

    value: float
    lower: float
    upper: float
    count: int
    """Questions that it rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareChange:
    """A share minus the one before, with its 95 % interval."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicReport:
    """One topic in a window; what is None rests on nothing."""

    id: int
    """`NO_TOPIC`: the questions that belong to none."""
    name: str
    first_seen: datetime | None
    last_seen: datetime | None
    event: TopicEvent | None
    questions: int
    traffic: Share | None
    change: ShareChange | None
    at_fault: Share | None
    faults: Mapping[Fault, Share]
    refusals: Share | None
    faithfulness: Share | None
    satisfaction: Share | None
    p50_ms: float | None
    p90_ms: float | None

    @property
    def impact(self) -> float:
        """Share of all questions of the application that are of this topic and at fault."""
        if self.traffic is None or self.at_fault is None:
            return 0.0
        return self.traffic.value * self.at_fault.value


def topic_reports(
    topics: Sequence[Topic],
    sums: Mapping[int, TopicSums],
    before: Mapping[int, TopicSums],
    first: date,
) -> list[TopicReport]:
    """Topics with questions in a window or in the one before, those of most impact first.

    Args:
        topics: Those that are known.
        sums: By topic, of the window.
        before: Of the window of the same length right before it.
        first: UTC day on which the window begins.
    """
    total = sum(own.questions for own in sums.values())
    total_before = sum(own.questions for own in before.values())
    rows: list[tuple[int, Topic | None]] = [(topic.id, topic) for topic in topics]
    reports = [
        _report(id_, topic, sums.get(id_), before.get(id_), total, total_before, first)
        for id_, topic in [*rows, (NO_TOPIC, None)]
        if id_ in sums or id_ in before
    ]
    return sorted(reports, key=lambda one: (-one.impact, -one.questions, one.id))


def _report(
    id_: int,
    topic: Topic | None,
    sums: TopicSums | None,
    before: TopicSums | None,
    total: int,
    total_before: int,
    first: date,
) -> TopicReport:
    own, earlier = sums or TopicSums(), before or TopicSums()
    traffic = _share(own.questions, total)
    traffic_before = _share(earlier.questions, total_before)
    change = _change(traffic, traffic_before)
    return TopicReport(
        id=id_,
        name="" if topic is None else topic.name,
        first_seen=None if topic is None else topic.first_seen,
        last_seen=None if topic is None else topic.last_seen,
        event=None if topic is None else _event(topic, first, own, traffic_before, change, total),
        questions=own.questions,
        traffic=traffic,
        change=change,
        at_fault=_share(own.at_fault, own.diagnosed),
        faults={
            Fault(name): share
            for name, count in own.faults.most_common()
            if (share := _share(count, own.diagnosed)) is not None
        },
        refusals=_share(own.refused, own.questions),
        faithfulness=_mean(own),
        satisfaction=_share(own.satisfied, own.rated),
        p50_ms=own.latency_ms(0.5),
        p90_ms=own.latency_ms(0.9),
    )


def _event(
    topic: Topic,
    first: date,
    own: TopicSums,
    before: Share | None,
    change: ShareChange | None,
    total: int,
) -> TopicEvent | None:
    if before is None:
        return None
    if own.questions and topic.first_seen.date() >= first:
        return TopicEvent.NEW
    if change is None:
        return None
    if not own.questions and before.value * total >= _EXPECTED and change.upper < 0:
        return TopicEvent.VANISHED
    grown = own.questions / total >= _GROWN * before.value
    return TopicEvent.GROWN if own.questions and grown and change.lower > 0 else None


def _share(count: float, total: int) -> Share | None:
    if not total:
        return None
    interval = wilson_interval(min(count, total), total)
    return Share(value=count / total, lower=interval.lower, upper=interval.upper, count=total)


def _change(now: Share | None, before: Share | None) -> ShareChange | None:
    if now is None or before is None:
        return None
    intervals = [wilson_interval(s.value * s.count, s.count) for s in (now, before)]
    interval = mover_difference(now.value, intervals[0], before.value, intervals[1])
    return ShareChange(value=now.value - before.value, lower=interval.lower, upper=interval.upper)


def _mean(sums: TopicSums) -> Share | None:
    if not sums.scored:
        return None
    mean = sums.total / sums.scored
    variance = max(0.0, sums.squares / sums.scored - mean**2)
    interval = effective_wilson(mean, sqrt(variance / sums.scored), sums.scored)
    return Share(value=mean, lower=interval.lower, upper=interval.upper, count=sums.scored)
