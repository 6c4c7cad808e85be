"""Looks at one rule on one app: chooses the window and the finding for the rule's kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rag_monitor.alerting.findings.burn_rate import burn_rate
from rag_monitor.alerting.findings.change import ChangeDetectors
from rag_monitor.alerting.findings.hits import hit_rate
from rag_monitor.alerting.findings.latency import latency
from rag_monitor.alerting.findings.quality import drop, threshold
from rag_monitor.alerting.findings.sight import Sight
from rag_monitor.alerting.findings.volume import (
    budget,
    error_rate,
    judge_failures,
    no_data,
    suspect,
)
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.alerting.ports import EstimateSource
from rag_monitor.domain.alert import Alert, AlertRule, Finding, RuleKind
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Window


class Evaluator:
    """Rules against estimates. Keeps nothing but detectors that can be computed anew."""

    def __init__(self, estimates: EstimateSource, options: AlertOptions) -> None:
        self._estimates = estimates
        self._options = options
        self._kinds: Mapping[RuleKind, Callable[[Sight], Finding]] = {
            RuleKind.THRESHOLD: threshold,
            RuleKind.DROP: drop,
            RuleKind.CHANGE: ChangeDetectors(),
            RuleKind.BURN_RATE: burn_rate,
            RuleKind.ERROR_RATE: error_rate,
            RuleKind.NO_DATA: no_data,
            RuleKind.JUDGE_FAILURES: judge_failures,
            RuleKind.SUSPECT: suspect,
            RuleKind.HIT_RATE: hit_rate,
            RuleKind.LATENCY: latency,
            RuleKind.BUDGET: budget,
        }

    def apps(self, rule: AlertRule, known: dict[str, Sequence[str]] | None = None) -> Sequence[str]:
        """The apps a rule is looked at for; the budget rule has one place for all.

        Args:
            rule: The rule.
            known: Apps by project, looked up once for all rules of a run; filled here.
        """
        if rule.kind is RuleKind.BUDGET or rule.app != "*":
            return (rule.app,)
        known = {} if known is None else known
        if rule.project not in known:
            known[rule.project] = tuple(self._estimates.apps(rule.project))
        return known[rule.project]

    def look(self, rule: AlertRule, app: str, now: datetime) -> Finding:
        """What the rule sees in the window that ends at `now`."""
        window = Window.ending(now, timedelta(seconds=rule.window_s))
        return self._kinds[rule.kind](
            Sight(
                rule=rule,
                app=app,
                window=window,
                estimates=self._estimates,
                worst=self._options.worst_traces,
            )
        )

    def look_again(self, rule: AlertRule, app: str, alert: Alert | None, now: datetime) -> Finding:
        """As `look`; an alert that cannot be told any more ends once its app is silent."""
        finding = self.look(rule, app, now)
        if alert is None or finding.active is not None:
            return finding
        if not self._silent(rule.project, app, now):
            return finding
        return replace(alert.finding, active=False, notes=("no_traces",))

    def _silent(self, project: str, app: str, now: datetime) -> bool:
        """Whether the app sent nothing for `forget_s`."""
        window = Window.ending(now, timedelta(seconds=self._options.forget_s))
        selection = Selection(project=project, app=app, window=window)
        return not any(self._estimates.traces(selection).values())


def slot(now: datetime, length_s: float) -> datetime:
    """The last multiple of `length_s` since the epoch: where windows end for everybody."""
    seconds = now.timestamp()
    return datetime.fromtimestamp(seconds - seconds % length_s, UTC)
