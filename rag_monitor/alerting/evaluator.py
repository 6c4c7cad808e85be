"""Evaluates one rule on one app: chooses the window and the condition for the rule's kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor.alerting.conditions.change import ChangeDetectors
from rag_monitor.alerting.conditions.context import EvaluationContext
from rag_monitor.alerting.conditions.hits import hit_rate
from rag_monitor.alerting.conditions.latency import latency
from rag_monitor.alerting.conditions.quality import burn_rate, drop, threshold
from rag_monitor.alerting.conditions.traffic import no_data, traffic
from rag_monitor.alerting.conditions.volume import budget, error_rate, judge_failures, suspect
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.alerting.window_chooser import WindowChooser
from rag_monitor.domain.alert import Alert, AlertRule, Finding, RuleKind
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Window

_LOOKS_PER_WINDOW: Final = 240
"""Fifteen seconds for an hour, as windows that rules fix are looked at."""


@dataclass(frozen=True, slots=True)
class _Look:
    """The last look over a window that was chosen."""

    rule: AlertRule
    window_s: float
    at: datetime
    finding: Finding


class Evaluator:
    """Rules against estimates. Keeps nothing but what can be computed anew.

    Args:
        estimates: Answers about windows.
        options: Limits.
        windows: Chooses windows; None: one that knows of no choices.
    """

    def __init__(
        self, estimates: RuleEstimates, options: AlertOptions, windows: WindowChooser | None = None
    ) -> None:
        self._estimates = estimates
        self._options = options
        self.windows = windows or WindowChooser(estimates)
        self._looked: dict[tuple[str, str, str], _Look] = {}
        self._kinds: Mapping[RuleKind, Callable[[EvaluationContext], Finding]] = {
            RuleKind.THRESHOLD: threshold,
            RuleKind.DROP: drop,
            RuleKind.CHANGE: ChangeDetectors(),
            RuleKind.BURN_RATE: burn_rate,
            RuleKind.ERROR_RATE: error_rate,
            RuleKind.NO_DATA: no_data,
            RuleKind.TRAFFIC: traffic,
            RuleKind.JUDGE_FAILURES: judge_failures,
            RuleKind.SUSPECT: suspect,
            RuleKind.HIT_RATE: hit_rate,
            RuleKind.LATENCY: latency,
            RuleKind.BUDGET: budget,
        }

    def apps(
        self, rule: AlertRule, by_project: dict[str, Sequence[str]] | None = None
    ) -> Sequence[str]:
        """The apps a rule is looked at for; the budget rule has one place for all.

        Args:
            rule: The rule.
            by_project: Apps by project, looked up once for all rules of a run; filled here.
        """
        if rule.kind is RuleKind.BUDGET or rule.app != "*":
            return (rule.app,)
        by_project = {} if by_project is None else by_project
        if rule.project not in by_project:
            by_project[rule.project] = tuple(self._estimates.apps(rule.project))
        return by_project[rule.project]

    def evaluate(self, rule: AlertRule, app: str, now: datetime) -> Finding:
        """The finding of the rule in the window that ends at `now`."""
        window = Window.ending(now, timedelta(seconds=self.windows.window_s(rule, app, now)))
        return self._kinds[rule.kind](
            EvaluationContext(
                rule=rule,
                app=app,
                window=window,
                estimates=self._estimates,
                worst=self._options.worst_traces,
            )
        )

    def reevaluate(self, rule: AlertRule, app: str, alert: Alert | None, now: datetime) -> Finding:
        """As `evaluate`, of a rule that may have an open alert.

        An alert without enough data to tell ends once its app is silent.
        """
        finding = self._latest_finding(rule, app, now)
        if alert is None or finding.active is not None:
            return finding
        if not self._silent(rule.project, app, now):
            return finding
        return replace(alert.finding, active=False, notes=("no_traces",))

    def _latest_finding(self, rule: AlertRule, app: str, now: datetime) -> Finding:
        """As `evaluate`; of a window that was chosen, what the last look saw, if it is not old.

        A day of traffic looks the same fifteen seconds later, and costs more to read than an hour.
        """
        choice = self.windows.choice(rule, app, now)
        if choice is None:
            return self.evaluate(rule, app, now)
        place, pace = (rule.project, rule.name, app), choice.window_s / _LOOKS_PER_WINDOW
        last = self._looked.get(place)
        if last is not None and (last.rule, last.window_s) == (rule, choice.window_s):
            age = (now - last.at).total_seconds()
            if 0.0 <= age < pace:
                return last.finding
        finding = self.evaluate(rule, app, now)
        self._looked[place] = _Look(rule, choice.window_s, now, finding)
        return finding

    def _silent(self, project: str, app: str, now: datetime) -> bool:
        """Whether the app sent nothing for `forget_s`."""
        window = Window.ending(now, timedelta(seconds=self._options.forget_s))
        selection = Selection(project=project, app=app, window=window)
        return not any(self._estimates.traces(selection).values())


def slot(now: datetime, length_s: float) -> datetime:
    """The last multiple of `length_s` since the epoch: where windows end for everybody."""
    seconds = now.timestamp()
    return datetime.fromtimestamp(seconds - seconds % length_s, UTC)
