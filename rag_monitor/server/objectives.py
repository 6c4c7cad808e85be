"""Objectives: what burn-rate rules promise, and how much of the error budget is left.

Source: Google SRE Workbook, chapters 2 and 5. The error budget of a period is the share of bad
answers that the objective allows, of the answers of that period. Burn rates are those of the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.aggregation.combine import BadCount
from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.series_query import query_of
from rag_monitor.aggregation.steps import steps
from rag_monitor.aggregation.trends import bad_by_step
from rag_monitor.alerting.conditions.quality import short_window_of
from rag_monitor.alerting.params import required, word
from rag_monitor.alerting.window_chooser import UNCHOSEN
from rag_monitor.domain.alert import Alert, AlertRule, AlertState, RuleKind
from rag_monitor.domain.rule_state import RuleState, Verdict
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import AppSummary
from rag_monitor.domain.window import Series, Window
from rag_monitor.server.quality import read_together
from rag_monitor.server.services import Services
from rag_monitor.statistics.burn import burn_rate, time_left
from rag_monitor.statistics.wilson import wilson_interval

PERIOD_DAYS: Final = 30
LEAST_DAYS: Final = 7
MOST_DAYS: Final = 90
CONFIDENCE: Final = 0.95
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnWindow:
    """One of the two windows of a burn-rate rule."""

    window: Window
    judged: int
    rate: float | None
    """Burn rate; None: nothing was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What the answers of a period did to its error budget."""

    good: float
    """Share of good answers."""
    lower: float
    upper: float
    used: float
    """Share of the error budget; more than 1 when it is overspent."""
    course: Sequence[float | None]
    """What was left after each day of the period; None: before the first judged answer."""

    @property
    def left(self) -> float:
        """Share of the error budget; below 0 when it is overspent."""
        return 1.0 - self.used


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A burn-rate rule on one of its apps."""

    rule: AlertRule
    app: str
    period: Window
    judge: str
    """Whose scores the budget rests on; empty: nothing was judged."""
    judged: int
    """In the period."""
    bad: int
    budget: Budget | None
    """None: fewer were judged in the period than the rule needs."""
    long: BurnWindow
    short: BurnWindow
    lasts: timedelta | None
    """Until the budget is spent at the burn rate of the long window; None: not within a period, or
    it cannot be told."""
    alert: Alert | None
    """The open alert."""
    fitting_window_s: float | None
    """A window in which the rule could tell, where it knows one."""
    notes: tuple[str, ...] = ()

    @property
    def slo(self) -> float:
        """Wanted share of good answers."""
        return required(self.rule, "slo")

    @property
    def state(self) -> Verdict:
        """Whether the rule can tell, and what it says."""
        if self.long.judged < self.rule.min_judged:
            return Verdict.CANNOT_TELL
        if self.alert is None:
            return Verdict.OK
        return Verdict.FIRING if self.alert.state is AlertState.FIRING else Verdict.PENDING


def period_of(now: datetime, days: int) -> Window:
    """The last so many days (UTC), today included."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return Window(today - (days - 1) * _DAY, now)


def days_of(period: Window) -> list[Window]:
    """The days of a period, oldest first; today's ends now."""
    return steps(period, _DAY)


def objective_rules(rules: Iterable[AlertRule]) -> list[AlertRule]:
    """Enabled rules that hold an objective."""
    return [rule for rule in rules if rule.enabled and rule.kind is RuleKind.BURN_RATE]


def apps_with_objective(
    apps: Sequence[AppSummary], rules: Sequence[AlertRule], now: datetime
) -> list[AppSummary]:
    """The apps that an objective stands on, those included that have not sent anything yet."""
    named = {rule.app for rule in rules if rule.app != "*"}
    everyone = any(rule.app == "*" for rule in rules)
    present = [one for one in apps if (everyone and one.kept) or one.app in named]
    absent = named - {one.app for one in present}
    return [*present, *(AppSummary(app=name, last_seen=now, kept=False) for name in sorted(absent))]


def objectives(
    services: Services,
    project: str,
    rules: Sequence[AlertRule],
    apps: Sequence[AppSummary],
    period: Window,
) -> list[Objective]:
    """The objectives of some apps, by app and rule.

    Each window is read once for many apps, whatever their number.

    Args:
        services: Where numbers come from.
        project: Of the apps.
        rules: As `objective_rules` gives them.
        apps: In the order in which they are told of.
        period: As `period_of` gives it; ends now.
    """
    states = {(one.rule, one.app): one for one in services.rule_states.all(project)}
    alerts = _open_alerts(services, project)
    series = [(rule, _series(project, rule)) for rule in rules]
    metrics = {query_of(one, period).metric or "" for _, one in series}
    return [
        _objective(
            source,
            rule,
            replace(of, app=summary.app),
            period,
            states.get((rule.name, summary.app)),
            alerts.get((rule.name, summary.app)),
        )
        for summary, source in read_together(services.estimates, apps, sorted(metrics))
        for rule, of in series
        if rule.app in {"*", summary.app}
    ]


def _open_alerts(services: Services, project: str) -> Mapping[tuple[str, str], Alert]:
    return {
        (alert.rule, alert.app): alert
        for state in (AlertState.PENDING, AlertState.FIRING)
        for alert in services.alerts.load(project, state)
    }


def _series(project: str, rule: AlertRule) -> Series:
    return Series(
        project=project,
        app=rule.app,
        metric=rule.metric or "",
        judge=word(rule, "judge"),
        knowledge_base=word(rule, "knowledge_base") or None,
    )


def _objective(
    source: Estimates,
    rule: AlertRule,
    series: Series,
    period: Window,
    state: RuleState | None,
    alert: Alert | None,
) -> Objective:
    slo = required(rule, "slo")
    whole = source.bad_count(series, period)
    window = Window.ending(period.end, _length(rule, state))
    counted = source.bad_count(series, window)
    # By the judge of the long window, as the rule does it.
    of_judge = replace(series, judge=counted.judge or series.judge)
    short_window = short_window_of(rule, window)
    long = _burn(window, counted, slo)
    budget = None
    if whole.judged >= rule.min_judged:
        selection = Selection(
            project=series.project,
            app=series.app,
            window=period,
            knowledge_base=series.knowledge_base,
        )
        by_day = bad_by_step(source, selection, series.metric, whole.judge, _DAY)
        budget = _budget(whole, by_day, slo)
    lasts = None
    if budget is not None and long.rate is not None and long.judged >= rule.min_judged:
        lasts = time_left(budget.left, long.rate, len(days_of(period)) * _DAY)
    mixed = counted.judged > 0 and whole.judged > 0 and counted.judge != whole.judge
    return Objective(
        rule=rule,
        app=series.app,
        period=period,
        judge=whole.judge if whole.judged else "",
        judged=whole.judged,
        bad=whole.bad,
        budget=budget,
        long=long,
        short=_burn(short_window, source.bad_count(of_judge, short_window), slo),
        lasts=lasts,
        alert=alert,
        fitting_window_s=None if state is None else state.fitting_window_s,
        notes=("different_judges",) if mixed else (),
    )


def _length(rule: AlertRule, state: RuleState | None) -> timedelta:
    """Of the long window: what the rule last looked over, as somebody may have fixed it."""
    if state is not None:
        return timedelta(seconds=state.window_s)
    return UNCHOSEN if rule.window_s is None else timedelta(seconds=rule.window_s)


def _burn(window: Window, counted: BadCount, slo: float) -> BurnWindow:
    rate = None
    if counted.judged:
        rate = burn_rate(counted.effective_bad, counted.effective_judged, slo)
    return BurnWindow(window=window, judged=counted.judged, rate=rate)


def _budget(whole: BadCount, by_day: Sequence[BadCount], slo: float) -> Budget:
    bounds = wilson_interval(*whole.worth(CONFIDENCE), CONFIDENCE)
    return Budget(
        good=1.0 - whole.effective_bad / whole.effective_judged,
        lower=1.0 - bounds.upper,
        upper=1.0 - bounds.lower,
        used=burn_rate(whole.effective_bad, whole.effective_judged, slo),
        course=list(_course(by_day, whole.weights[1], slo)),
    )


def _course(days: Sequence[BadCount], judged: float, slo: float) -> Iterator[float | None]:
    """What is left of the period's whole budget after each day."""
    bad, begun = 0.0, False
    for day in days:
        begun = begun or day.judged > 0
        bad += day.weights[0]
        yield 1.0 - burn_rate(bad, judged, slo) if begun else None
