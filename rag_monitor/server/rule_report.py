"""How the rules stand on some apps: where nothing alarms, something may be unseen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rag_monitor.domain.alert import AlertRule
from rag_monitor.domain.rule_state import RuleState, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReport:
    """What pages say of the rules of some apps."""

    untold: Sequence[RuleState] = ()
    """Of rules that cannot tell."""
    watching: int = 0
    """Rules times apps on which there is something to watch."""
    by_rule: Mapping[str, Counter[Verdict]] = field(default_factory=dict)
    """Of each rule that looked at one of the apps: on how many of them it says what."""


def report_of(
    states: Iterable[RuleState], rules: Iterable[AlertRule], apps: Collection[str]
) -> RuleReport:
    """What the rules in force said of these apps when they last looked.

    Args:
        states: As they are stored; those of rules that were changed since may be among them.
        rules: Of the project; disabled ones may be among them.
        apps: Those to tell of.
    """
    in_force = {rule.name: rule for rule in rules if rule.enabled}
    watching = [
        state
        for state in states
        if state.verdict is not Verdict.IDLE and state.app in apps
        if (rule := in_force.get(state.rule)) is not None and rule.app in {"*", state.app}
    ]
    by_rule: dict[str, Counter[Verdict]] = defaultdict(Counter)
    for state in watching:
        by_rule[state.rule][state.verdict] += 1
    return RuleReport(
        untold=[state for state in watching if state.verdict is Verdict.CANNOT_TELL],
        watching=len(watching),
        by_rule=dict(by_rule),
    )
