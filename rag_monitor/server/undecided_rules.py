"""Rules that cannot tell right now: where nothing alarms, something may be unseen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.domain.alert import AlertRule, Finding, RuleKind

MOST_LOOKS: Final = 60
"""So many rules times apps are looked at for one page; of more apps the first ones."""
_BELIEVED: Final = timedelta(seconds=30)
_REMEMBERED: Final = 1000
_ALWAYS_TELL: Final = frozenset({RuleKind.NO_DATA, RuleKind.BUDGET})


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedRule:
    """A rule that cannot tell about an app, and why."""

    rule: str
    app: str
    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedReport:
    """What pages say of the rules of some apps."""

    untold: Sequence[UndecidedRule] = ()
    looks: int = 0
    """Rules times apps that were looked at."""
    left_out: int = 0
    """Apps that were not: too many for one page."""


class UndecidedRules:
    """Tells which rules cannot tell; pages that ask again at once hear the same. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cache: dict[tuple[str, tuple[str, ...]], tuple[datetime, UndecidedReport]] = {}

    def of(
        self,
        project: str,
        rules: Sequence[AlertRule],
        apps: Sequence[str],
        try_rule: Callable[[AlertRule], Mapping[str, Finding]],
        now: datetime,
    ) -> UndecidedReport:
        """Looks at every enabled rule for every app, some seconds ago at most.

        Args:
            project: Whose rules and apps.
            rules: Disabled ones may be among them.
            apps: The most important first.
            try_rule: What a rule finds now, by app.
            now: The present moment.
        """
        place = (project, tuple(apps))
        with self._lock:
            cached = self._cache.get(place)
        if cached is not None and timedelta(0) <= now - cached[0] < _BELIEVED:
            return cached[1]
        report = _look(rules, apps, try_rule)
        with self._lock:
            if len(self._cache) >= _REMEMBERED:
                self._cache.clear()
            self._cache[place] = (now, report)
        return report


def _look(
    rules: Sequence[AlertRule],
    apps: Sequence[str],
    try_rule: Callable[[AlertRule], Mapping[str, Finding]],
) -> UndecidedReport:
    watching = [rule for rule in rules if rule.enabled and rule.kind not in _ALWAYS_TELL]
    most = max(1, MOST_LOOKS // max(1, len(watching)))
    looks = 0
    undecided = []
    for app in apps[:most]:
        for rule in watching:
            if rule.app in {"*", app}:
                looks += 1
                finding = try_rule(replace(rule, app=app)).get(app)
                if finding is not None and finding.active is None:
                    undecided.append(UndecidedRule(rule=rule.name, app=app, finding=finding))
    return UndecidedReport(untold=undecided, looks=looks, left_out=len(apps[most:]))
