"""What rules of kind `budget` say of the day's judging budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rag_monitor.alerting.params import required
from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding, RuleKind
from rag_monitor.server.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingBudget:
    """A rule and what it finds now."""

    rule: AlertRule
    finding: Finding
    alert: Alert | None
    """The open alert."""

    @property
    def left(self) -> float:
        """Share of the day's budget."""
        return self.finding.value or 0.0

    @property
    def alerts_below(self) -> float:
        """Share below which the rule alerts; 0: when it is spent."""
        return required(self.rule, "min_remaining")

    @property
    def state(self) -> AlertState | None:
        """Of the alert; None: nothing is wrong."""
        return None if self.alert is None else self.alert.state


def judging_budgets(
    services: Services, project: str, rules: Iterable[AlertRule]
) -> list[JudgingBudget]:
    """Of every enabled rule of that kind, which has one place for all apps."""
    watching = [rule for rule in rules if rule.enabled and rule.kind is RuleKind.BUDGET]
    if not watching:
        return []
    alerts = {
        alert.rule: alert
        for state in (AlertState.PENDING, AlertState.FIRING)
        for alert in services.alerts.load(project, state)
    }
    return [
        JudgingBudget(rule=rule, finding=finding, alert=alerts.get(rule.name))
        for rule in watching
        for finding in services.try_rule(rule).values()
    ]
