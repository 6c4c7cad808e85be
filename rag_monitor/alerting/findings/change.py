"""Sequential change rules: the weighted e-SR detector, with a stated rate of false alarms.

Source: reference/statistics.md 5. The clock ticks on judged traces; the alarm comes when the
mixture reaches A, and then the expected number of judged traces before the first false alarm is at
least A, however they depend on one another. Nothing has to be stored: the detector restarts from
rollups at the beginning of the rule's window, which can only make it slower, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.aggregation.combine import BadCount
from rag_monitor.alerting.findings import wording
from rag_monitor.alerting.findings.sight import Sight
from rag_monitor.alerting.params import number, required
from rag_monitor.domain.alert import AlertRule, Finding
from rag_monitor.domain.window import Window
from rag_monitor.statistics.detectors import Detector, DetectorState

_MINUTE: Final = timedelta(minutes=1)
_CLEAR_SHARE: Final = 0.1
"""An alarm is over when the detector has fallen to this share of A; then it starts from 0."""
_CAP: Final = 100.0
"""Multiple of A beyond which the detector does not grow, so that it clears in finite time."""


@dataclass(slots=True)
class _Evidence:
    """Where a change began, if there is one: since then the evidence for it never ran out.

    The detector itself hardly ever falls below 1, so its own onset says little.
    """

    log_e: float = 0.0
    onset: datetime | None = None
    judged: int = 0
    bad: int = 0

    def add(self, minute: datetime, count: BadCount, e_value: float) -> None:
        """One minute."""
        self.log_e += math.log(max(e_value, 1e-300))
        if self.log_e <= 0.0:
            self.log_e, self.onset, self.judged, self.bad = 0.0, None, 0, 0
            return
        self.onset = self.onset or minute
        self.judged += count.judged
        self.bad += count.bad


@dataclass(slots=True)
class _Stream:
    """One detector and what it has seen so far."""

    rule: AlertRule
    next: datetime
    """Start of the first minute not yet seen."""
    detector: Detector
    state: DetectorState
    pi_min: float = 1.0
    alarmed: bool = False
    judged: int = 0
    first: datetime | None = None
    """First minute with judged traces."""
    evidence: list[_Evidence] = field(default_factory=list)
    """Per bet."""

    def since_onset(self) -> _Evidence:
        """What the bet that answers best has gathered."""
        place = self.detector.bets.index(self.detector.strongest(self.state))
        return self.evidence[place]

    def interval(self) -> float | None:
        """A: judged traces between false alarms; None before anything was judged."""
        every = number(self.rule, "every_judged")
        if every is not None:
            return every
        if self.first is None or not self.judged:
            return None
        elapsed = max(self.next - self.first, timedelta(hours=1))
        return max(100.0, self.judged / (elapsed / timedelta(days=1)) * required(self.rule, "days"))

    def see(self, minute: datetime, count: BadCount) -> None:
        """One minute of judged traces."""
        self.next = minute + _MINUTE
        if not count.judged:
            return
        self.first = self.first or minute
        self.judged += count.judged
        self.pi_min = min((self.pi_min, *count.classes))
        floor = number(self.rule, "pi_min") or self.pi_min
        self._advance(minute, count, min((floor, *count.classes)))
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

    def _advance(self, minute: datetime, count: BadCount, floor: float) -> None:
        classes: Mapping[float, tuple[int, int]] = count.classes
        self.state = self.detector.observe_batch(self.state, classes, pi_min=floor)
        # From nothing and in one tick, the detector's values are the e-values themselves.
        alone = self.detector.observe_batch(self.detector.start(), classes, pi_min=floor, ticks=1)
        for gathered, e_value in zip(self.evidence, alone.values, strict=True):
            gathered.add(minute, count, e_value)


class ChangeDetectors:
    """The running detectors of all change rules; what is kept here can be computed anew."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str, str], _Stream] = {}

    def __call__(self, sight: Sight) -> Finding:
        """Advance to the end of the window and say whether the alarm stands."""
        rule = sight.rule
        end = _floor(sight.window.end - timedelta(seconds=required(rule, "settle_s")))
        stream = self._stream(sight, end)
        if end > stream.next:
            window = Window(stream.next, end)
            for minute, count in sight.estimates.bad_counts(sight.series(), window, _MINUTE):
                stream.see(minute, count)
            stream.next = end
        alarm_at = stream.interval()
        if alarm_at is None or stream.judged < rule.min_judged:
            return Finding(
                active=None,
                judged=stream.judged,
                summary=f"{stream.judged} judged of {sight.app}, {rule.min_judged} are needed",
                summary_zh=f"{sight.app} 已评判 {stream.judged} 条,需要 {rule.min_judged} 条",
                notes=("few_judged",),
            )
        return _finding(sight, stream, alarm_at, end)

    def _stream(self, sight: Sight, end: datetime) -> _Stream:
        key = (sight.rule.project, sight.rule.name, sight.app)
        start = _floor(sight.window.start)
        stream = self._streams.get(key)
        if stream is None or stream.rule != sight.rule or not start <= stream.next <= end:
            detector = Detector(q=1.0 - required(sight.rule, "mu0"))
            stream = _Stream(
                rule=sight.rule,
                next=min(start, end),
                detector=detector,
                state=detector.start(),
                evidence=[_Evidence() for _ in detector.bets],
            )
            self._streams[key] = stream
        return stream


def _floor(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _finding(sight: Sight, stream: _Stream, alarm_at: float, end: datetime) -> Finding:
    rule = sight.rule
    value = stream.detector.value(stream.state)
    gathered = stream.since_onset()
    judged, bad, onset = gathered.judged, gathered.bad, gathered.onset
    good = 1.0 - bad / judged if judged else None
    worst: tuple[str, ...] = ()
    if stream.alarmed and onset is not None and onset < end:
        found = sight.estimates.worst(
            rule.project, sight.app, rule.metric or "", Window(onset, end), sight.worst
        )
        worst = tuple(found)
    mu0 = wording.share(required(rule, "mu0"))
    began = "" if onset is None else f" since {onset:%Y-%m-%d %H:%M} UTC"
    began_zh = "" if onset is None else f"(自 {onset:%Y-%m-%d %H:%M} UTC 起)"
    relation, relation_zh = (
        ("has fallen below", "已低于")
        if stream.alarmed
        else ("is not shown to be below", "未见低于")
    )
    return Finding(
        active=stream.alarmed,
        value=good,
        baseline=required(rule, "mu0"),
        judged=judged,
        baseline_judged=stream.judged,
        summary=(
            f"the share of good {rule.metric} of {sight.app} {relation} {mu0}: "
            f"{wording.share(good)} of {judged} judged{began}; detector {value:.4g}, alarm at "
            f"{alarm_at:.4g} (one false alarm in at least {alarm_at:.4g} judged traces)"
        ),
        summary_zh=(
            f"{sight.app} 的 {rule.metric} 良好占比{relation_zh} {mu0}:{judged} 条评判中为 "
            f"{wording.share(good)}{began_zh};检测值 {value:.4g},报警线 {alarm_at:.4g}"
            f"(平均至少 {alarm_at:.4g} 条评判才有一次误报)"
        ),
        worst_traces=worst,
        notes=(f"detector={value:.4g}", f"alarm_at={alarm_at:.4g}"),
    )
