"""The story of an incident: what broke first, which fault grew, where, for example, and what next.

The answers since the first break are held against those of the day before it. The break is chosen
by looking at them, so the interval of a growth is somewhat too narrow: the alert says that
something grew, the growth says what. The intervals of concentrations keep their level, because the
break is chosen without a look at where the answers came from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from rag_monitor.alerting.incidents.breaks import (
    Indicator,
    broke_at,
    first_of_step,
    indicator,
)
from rag_monitor.alerting.incidents.dimensions import DIMENSIONS, concentrations, tally
from rag_monitor.alerting.incidents.grouping import in_order
from rag_monitor.alerting.incidents.next_step import choose
from rag_monitor.domain.alert import AlertRule
from rag_monitor.domain.fault import STAGES, Fault
from rag_monitor.domain.incident import (
    Concentration,
    Example,
    FaultGrowth,
    Incident,
    IncidentTrace,
    Story,
)
from rag_monitor.statistics.comparison import mover_difference
from rag_monitor.statistics.wilson import wilson_interval

BEFORE: Final = timedelta(days=1)
"""Length of the time before that answers are held against."""
EXAMPLES: Final = 3
_LEAST: Final = 20
"""Judged answers on either side below which no fault is said to have grown."""
_ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """The traces of an incident and those before."""

    now: Sequence[IncidentTrace]
    before: Sequence[IncidentTrace]

    def judged(self, bad: Indicator) -> _Sides:
        """Those of which it can be told."""
        now, before = (
            [trace for trace in side if bad(trace) is not None] for side in (self.now, self.before)
        )
        return _Sides(now=now, before=before)


def tell(
    incident: Incident,
    rules: Mapping[str, AlertRule],
    traces: Sequence[IncidentTrace],
    now: datetime,
) -> Incident:
    """The incident with its story; its examples have no texts.

    Args:
        incident: Alerts that began together.
        rules: Of its project, by name.
        traces: Of its application, from before it began, the oldest first.
        now: When it is told.
    """
    indicators = {part.id: indicator(rules.get(part.rule), traces) for part in incident.alerts}
    dated = tuple(
        replace(part, broke_at=broke_at(part, indicators[part.id], traces))
        for part in incident.alerts
    )
    incident = in_order(replace(incident, alerts=dated))
    since = _since(incident, traces)
    sides = _Sides(
        now=[trace for trace in traces if trace.started_at >= since],
        before=[trace for trace in traces if since - BEFORE <= trace.started_at < since],
    )
    growths = _growths(sides.judged(_any_fault))
    bad = partial(_has, growths[0].fault) if growths else indicators[incident.first.id]
    judged = _Sides(now=(), before=()) if bad is None else sides.judged(bad)
    places: tuple[Concentration, ...] = ()
    compared = 0
    if bad is not None and len(judged.before) >= _LEAST:
        places, compared = concentrations(judged.now, judged.before, bad)
    stage = STAGES[growths[0].fault] if growths else None
    usual = Counter(trace.release for trace in sides.before if trace.release is not None)
    story = Story(
        told_at=now,
        since=since,
        first=incident.first.id,
        judged=len(judged.now),
        judged_before=len(judged.before),
        growths=growths,
        concentrations=places,
        compared=compared,
        examples=() if bad is None else _examples(judged.now, bad, places),
        step=choose(stage, places, usual.most_common(1)[0][0] if usual else None),
    )
    return replace(incident, story=story)


def _since(incident: Incident, traces: Sequence[IncidentTrace]) -> datetime:
    """When the first of it broke; where that is not known, when faults rose, or it was seen."""
    moments = [part.broke_at for part in incident.alerts if part.broke_at is not None]
    if moments:
        return min(moments)
    rose = first_of_step(traces, _any_fault)
    seen = min(part.started_at for part in incident.alerts)
    return seen if rose is None else min(rose, seen)


def _any_fault(trace: IncidentTrace) -> bool | None:
    return None if trace.fault is None else trace.fault is not Fault.NONE


def _has(fault: Fault, trace: IncidentTrace) -> bool | None:
    return None if trace.fault is None else trace.fault is fault


def _growths(judged: _Sides) -> tuple[FaultGrowth, ...]:
    """Faults whose share rose beyond chance, by simultaneous intervals (Bonferroni)."""
    if min(len(judged.now), len(judged.before)) < _LEAST:
        return ()
    confidence = 1 - _ALPHA / len(STAGES)
    grown = []
    for fault in STAGES:
        now, before = (tally(side, partial(_has, fault)) for side in (judged.now, judged.before))
        interval = mover_difference(
            now.share,
            wilson_interval(now.bad, now.total, confidence),
            before.share,
            wilson_interval(before.bad, before.total, confidence),
        )
        if interval.lower > 0:
            growth = FaultGrowth(
                fault=fault,
                share=now.share,
                share_before=before.share,
                lower=interval.lower,
                upper=interval.upper,
            )
            grown.append(growth)
    return tuple(sorted(grown, key=lambda one: one.share_before - one.share))


def _examples(
    judged: Sequence[IncidentTrace], bad: Indicator, places: Sequence[Concentration]
) -> tuple[Example, ...]:
    """Bad ones from where the trouble is concentrated: the most certain first, then the newest."""

    def rank(trace: IncidentTrace) -> tuple[int, float, float]:
        inside = sum(place.value in DIMENSIONS[place.dimension](trace) for place in places)
        return -inside, -trace.probability, -trace.started_at.timestamp()

    chosen = sorted((trace for trace in judged if bad(trace)), key=rank)[:EXAMPLES]
    return tuple(
        Example(
            trace_id=trace.trace_id,
            fault=trace.fault,
            probability=trace.probability if trace.fault is not None else None,
        )
        for trace in chosen
    )
