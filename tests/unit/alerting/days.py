"""Days of traffic of small apps, looked at by the shipped rules: real estimates, a simulated clock.

Facts are made per trace, added up as the store adds them up, and read through the rules' own
estimates. Only the store is played.
"""

from __future__ import annotations

import bisect
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rag_monitor.aggregation.rollup import summarise
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.estimates import RULE_OPTIONS, RuleEstimates
from rag_monitor.alerting.rules import default_rules
from rag_monitor.domain.alert import AlertState
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.rollup import Rollup, RollupQuery, TraceFacts
from rag_monitor.domain.rule_state import Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.unit.alerting.fakes import FakeAlerts, FakeRules, FakeStates

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MONDAY = EPOCH.replace(hour=0, minute=0, second=0, microsecond=0) - EPOCH.weekday() * DAY
JUDGE = JudgeIdentity(name="embedded", model="m")
METRICS = ("faithfulness", "context_precision", "context_sufficiency")


def asked(
    app: str,
    at: datetime,
    *,
    good: dict[str, bool] | None = None,
    failed: bool = False,
    release: str = "v1",
    arrived: timedelta = timedelta(0),
) -> TraceFacts:
    """A judged question; metrics that are not named are good, failed ones have no score."""
    trace = make_trace(
        app=app,
        answer=None if failed else "The warranty lasts 24 months.",
        status=TraceStatus.ERROR if failed else TraceStatus.OK,
        started_at=at,
        release=release,
    )
    scores = (
        ()
        if failed
        else tuple(
            Score(
                metric=metric,
                status=ScoreStatus.SCORED,
                value=1.0 if (good or {}).get(metric, True) else 0.0,
                judge=JUDGE,
            )
            for metric in METRICS
        )
    )
    return TraceFacts(trace=trace, scores=scores, received_at=at + arrived)


def steadily(
    app: str,
    rate: Callable[[datetime], float],
    start: datetime,
    end: datetime,
    chance: random.Random,
    share_good: Callable[[datetime], float] = lambda at: 0.95,
    **fields: object,
) -> list[TraceFacts]:
    """A Poisson process of `rate` questions an hour; `share_good` of them are faithful."""
    facts, at = [], start
    while at < end:
        at += timedelta(minutes=1)
        expected = rate(at) / 60.0
        while expected > 0.0:
            if chance.random() < min(1.0, expected):
                good = {"faithfulness": chance.random() < share_good(at)}
                facts.append(asked(app, at, good=good, **fields))  # type: ignore[arg-type]
            expected -= 1.0
    return facts


def office_hours(rate: float) -> Callable[[datetime], float]:
    """So many an hour from nine to five on Monday to Friday, none else."""
    return lambda at: rate if at.weekday() < 5 and 9 <= at.hour < 17 else 0.0


class Rows:
    """Rollups of past minutes, found fast."""

    def __init__(self, facts: Iterable[TraceFacts]) -> None:
        rows = sorted(summarise(list(facts)), key=lambda row: row.key.minute)
        self._by_place: dict[tuple[str, str], list[Rollup]] = defaultdict(list)
        for row in rows:
            self._by_place[row.key.app, row.key.metric].append(row)

    def load(self, wanted: RollupQuery) -> list[Rollup]:
        found: list[Rollup] = []
        for (app, metric), rows in self._by_place.items():
            if wanted.app not in {None, app} or wanted.metric not in {None, metric}:
                continue
            first, last = (
                bisect.bisect_left(rows, moment, key=lambda row: row.key.minute)
                for moment in (wanted.window.start, wanted.window.end)
            )
            found += [row for row in rows[first:last] if wanted.wants(row.key)]
        return found

    def load_sums(self, wanted: RollupQuery, step: timedelta | None = None) -> list[Rollup]:
        return self.load(wanted)


@dataclass
class SentSoFar:
    """Lists apps as the store does: those that have sent."""

    first: dict[str, datetime]
    now: datetime = EPOCH

    def app_names(self, project: str) -> Sequence[str]:
        return [app for app, at in self.first.items() if at <= self.now]

    def worst(self, *_: object) -> Sequence[str]:
        return []


@dataclass
class Told:
    """What happened while the rules looked."""

    alerts: FakeAlerts
    states: FakeStates
    fired: dict[tuple[str, str], datetime]
    """First time, by rule and app."""
    verdicts: dict[tuple[str, str], list[tuple[datetime, Verdict]]]
    """Every look, by rule and app."""

    def rules(self, app: str) -> set[str]:
        return {rule for rule, other in self.fired if other == app}


def watch(
    facts: Sequence[TraceFacts],
    start: datetime,
    end: datetime,
    *,
    every: timedelta = HOUR,
    only: Collection[str] = (),
) -> Told:
    """Run the shipped rules, or `only` some, over facts, which none of them sees before it came."""
    first: dict[str, datetime] = {}
    for one in facts:
        app = one.trace.app
        first[app] = min(first.get(app, one.trace.started_at), one.trace.started_at)
    traces = SentSoFar(first)
    estimates = RuleEstimates(Rows(facts), traces, options=RULE_OPTIONS)  # type: ignore[arg-type]
    alerts, states = FakeAlerts(), FakeStates()
    engine = AlertEngine(
        estimates,
        FakeRules([rule for rule in default_rules() if not only or rule.name in only]),  # type: ignore[arg-type]
        alerts,  # type: ignore[arg-type]
        ManualClock(),
        states=states,  # type: ignore[arg-type]
    )
    told = Told(alerts, states, {}, defaultdict(list))
    now = start
    while now <= end:
        traces.now = now
        for moved in engine.run(now):
            if moved.alert.state is AlertState.FIRING:
                told.fired.setdefault((moved.alert.rule, moved.alert.app), now)
        for (_, rule, app), state in states.states.items():
            told.verdicts[rule, app].append((now, state.verdict))
        now += every
    return told
