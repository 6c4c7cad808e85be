"""Sequential change rules: the weighted e-SR detector, with a stated rate of false alarms.

Source: reference/statistics.md 5. The clock ticks on judged traces; the alarm comes when the
mixture reaches A, and then the expected number of judged traces before the first false alarm is at
least A. How much alike traces of one session are is told by the rule's window; by as much each bets
less (`statistics.detectors`). Nothing has to be stored: the detector restarts from
rollups at the beginning of the rule's window, which can only make it slower, never wrong.

Traces enter in the order in which their scores arrive: each look bets on what is new since the
look before, late scores of earlier minutes included. The promise holds for that order as for any
other that does not depend on the answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.aggregation.combine import BadCount
from rag_monitor.alerting.conditions import wording
from rag_monitor.alerting.conditions.context import EvaluationContext
from rag_monitor.alerting.params import number, required
from rag_monitor.charts.numbers import given_share
from rag_monitor.domain.alert import AlertRule, Finding
from rag_monitor.domain.window import Series, Window
from rag_monitor.i18n import Message, msgid
from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect
from rag_monitor.statistics.detectors import Detector, DetectorState

_MINUTE: Final = timedelta(minutes=1)
_LATE: Final = timedelta(hours=1)
"""How old a minute may be and still bring scores in; what comes later is not bet on."""
_CLEAR_SHARE: Final = 0.1
"""An alarm is over when the detector has fallen to this share of A; then it starts from 0."""
_CAP: Final = 100.0
"""Multiple of A beyond which the detector does not grow, so that it clears in finite time."""

_Classes = Mapping[float, tuple[int, int]]
"""Sampling probability to (judged, bad)."""


@dataclass(slots=True)
class _Evidence:
    """Where a change began, if there is one: since then the evidence for it never ran out.

    The detector itself hardly ever falls below 1, so its own onset says little.
    """

    log_e: float = 0.0
    onset: datetime | None = None
    judged: int = 0
    bad: int = 0

    def add(self, minute: datetime, judged: int, bad: int, e_value: float) -> None:
        """The counts that one evaluation found new in one minute."""
        self.log_e += math.log(max(e_value, 1e-300))
        if self.log_e <= 0.0:
            self.log_e, self.onset, self.judged, self.bad = 0.0, None, 0, 0
            return
        self.onset = self.onset or minute
        self.judged += judged
        self.bad += bad


@dataclass(slots=True)
class _Minute:
    """The counts of one minute at the last evaluation."""

    judged: int = 0
    bad: int = 0
    bet_on: dict[float, tuple[int, int]] = field(default_factory=dict)
    """What has entered the detector."""

    def take(self, count: BadCount) -> dict[float, tuple[int, int]]:
        """The counts that are new. A withdrawn score does not undo a bet."""
        self.judged, self.bad = count.judged, count.bad
        fresh: dict[float, tuple[int, int]] = {}
        for pi, (judged, bad) in count.classes.items():
            old_judged, old_bad = self.bet_on.get(pi, (0, 0))
            if judged > old_judged:
                more = judged - old_judged
                fresh[pi] = (more, min(more, max(0, bad - old_bad)))
                self.bet_on[pi] = (judged, old_bad + fresh[pi][1])
        return fresh


@dataclass(slots=True)
class _Stream:
    """One detector and what it has seen so far."""

    rule: AlertRule
    judge: str
    upto: datetime
    """End of the last look."""
    detector: Detector
    state: DetectorState
    pi_min: float = 1.0
    design: DesignEffect = INDEPENDENT
    """What the dependence of traces of a session adds, as last told."""
    alarmed: bool = False
    judged: int = 0
    first: datetime | None = None
    """First minute with judged traces."""
    evidence: list[_Evidence] = field(default_factory=list)
    """Per bet."""
    minutes: dict[datetime, _Minute] = field(default_factory=dict)
    """The minutes that may still bring late scores."""

    def since_onset(self) -> _Evidence:
        """The evidence that the most successful bet has gathered."""
        place = self.detector.bets.index(self.detector.strongest(self.state))
        return self.evidence[place]

    def interval(self) -> float | None:
        """A: judged traces between false alarms; None before anything was judged."""
        every = number(self.rule, "every_judged")
        if every is not None:
            return every
        if self.first is None or not self.judged:
            return None
        elapsed = max(self.upto - self.first, timedelta(hours=1))
        return max(100.0, self.judged / (elapsed / timedelta(days=1)) * required(self.rule, "days"))

    def advance(self, context: EvaluationContext, series: Series, design: DesignEffect) -> None:
        """Bet on the scores since the last evaluation, oldest minute first."""
        self.design = design
        end = context.window.end
        oldest = _floor(end - _LATE)
        for minute in list(self.minutes):  # oldest first, but for those that came late
            if minute >= oldest:
                break
            del self.minutes[minute]
        start = _floor(self.upto)
        if self.minutes and self._has_late_scores(
            context, series, Window(min(self.minutes), end), start
        ):
            start = min(self.minutes)
        if start < end:
            for minute, count in context.estimates.bad_counts(series, Window(start, end), _MINUTE):
                if count.judged or minute in self.minutes:
                    self.upto = min(end, minute + _MINUTE)
                    self._add_minute(minute, count, kept=minute >= oldest)
        self.upto = end

    def _has_late_scores(
        self, context: EvaluationContext, series: Series, kept: Window, until: datetime
    ) -> bool:
        """Whether minutes before `until` differ from what was seen of them."""
        if until <= kept.start:
            return False
        now = context.estimates.bad_count(series, Window(kept.start, until))
        seen = [item for minute, item in self.minutes.items() if minute < until]
        return (now.judged, now.bad) != (sum(s.judged for s in seen), sum(s.bad for s in seen))

    def _add_minute(self, minute: datetime, count: BadCount, *, kept: bool) -> None:
        seen = self.minutes.get(minute) or _Minute()
        fresh = seen.take(count)
        if kept:
            self.minutes[minute] = seen
        if not fresh:
            return
        self.first = self.first or minute
        self.pi_min = min((self.pi_min, *fresh))
        floor = number(self.rule, "pi_min") or self.pi_min
        self._bet(minute, fresh, min((floor, *fresh)))
        alarm_at = self.interval()
        if alarm_at is None:
            return
        value = self.detector.value(self.state)
        if value >= alarm_at:
            self.alarmed = True
            capped = tuple(min(v, _CAP * alarm_at) for v in self.state.values)
            self.state = replace(self.state, values=capped)
        elif self.alarmed and value < _CLEAR_SHARE * alarm_at:
            self.alarmed = False
            self.state = self.detector.start()
            self.evidence = [_Evidence() for _ in self.detector.bets]

    def _bet(self, minute: datetime, fresh: _Classes, floor: float) -> None:
        judged = sum(n for n, _ in fresh.values())
        bad = sum(n for _, n in fresh.values())
        self.judged += judged
        e_values = self.detector.e_values(fresh, pi_min=floor, design=self.design)
        self.state = self.detector.advance(self.state, e_values, judged)
        for gathered, e_value in zip(self.evidence, e_values, strict=True):
            gathered.add(minute, judged, bad, e_value)


class ChangeDetectors:
    """The running detectors of all change rules: a cache that can be recomputed."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str, str], _Stream] = {}

    def __call__(self, context: EvaluationContext) -> Finding:
        """Advance to the end of the window and say whether the alarm stands."""
        rule = context.rule
        # One judge for the whole window: `combined` may mean another one in a few minutes.
        whole = context.estimates.bad_count(context.series(), context.window)
        stream = self._stream(context, whole.judge)
        stream.advance(context, context.series(judge=whole.judge), whole.design)
        alarm_at = stream.interval()
        if alarm_at is None or stream.judged < rule.min_judged:
            return Finding(
                active=None,
                judged=stream.judged,
                needed=rule.min_judged,
                summary=Message(
                    "{judged} judged of {subject}, {needed} are needed",
                    judged=stream.judged,
                    subject=context.app,
                    needed=rule.min_judged,
                ),
                notes=("few_judged",),
            )
        return _finding(context, stream, alarm_at, context.window.end)

    def _stream(self, context: EvaluationContext, judge: str) -> _Stream:
        key = (context.rule.project, context.rule.name, context.app)
        start, end = _floor(context.window.start), context.window.end
        stream = self._streams.get(key)
        if (
            stream is None
            or stream.rule != context.rule
            or stream.judge != judge
            or not start <= stream.upto <= end
        ):
            detector = Detector(q=1.0 - required(context.rule, "mu0"))
            stream = _Stream(
                rule=context.rule,
                judge=judge,
                upto=start,
                detector=detector,
                state=detector.start(),
                evidence=[_Evidence() for _ in detector.bets],
            )
            self._streams[key] = stream
        return stream


def _floor(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _finding(
    context: EvaluationContext, stream: _Stream, alarm_at: float, end: datetime
) -> Finding:
    rule = context.rule
    value = stream.detector.value(stream.state)
    gathered = stream.since_onset()
    judged, bad, onset = gathered.judged, gathered.bad, gathered.onset
    good = 1.0 - bad / judged if judged else None
    worst: tuple[str, ...] = ()
    if stream.alarmed and onset is not None and onset < end:
        worst = context.worst_traces(Window(onset, end))
    text = msgid(
        "the share of good {metric} of {subject} {relation} {limit}: {share} of {judged} judged; "
        "detector {value}, alarm at {alarm} (one false alarm in at least {alarm} judged traces)"
    )
    if onset is not None:
        text = msgid(
            "the share of good {metric} of {subject} {relation} {limit}: {share} of {judged} judged"
            " since {onset} UTC; detector {value}, alarm at {alarm} (one false alarm in at least "
            "{alarm} judged traces)"
        )
    relation = (
        Message("has fallen below") if stream.alarmed else Message("is not shown to be below")
    )
    return Finding(
        active=stream.alarmed,
        value=good,
        baseline=required(rule, "mu0"),
        unit="share",
        judged=judged,
        baseline_judged=stream.judged,
        onset_at=onset,
        summary=Message(
            text,
            metric=rule.metric,
            subject=context.subject,
            relation=relation,
            limit=given_share(required(rule, "mu0")),
            share=wording.share(good),
            judged=judged,
            onset="" if onset is None else f"{onset:%Y-%m-%d %H:%M}",
            value=wording.measure(value),
            alarm=wording.measure(alarm_at),
        ),
        worst_traces=worst,
        notes=(f"detector={value:.4g}", f"alarm_at={alarm_at:.4g}"),
    )
