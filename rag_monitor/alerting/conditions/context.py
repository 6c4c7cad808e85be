"""What a condition is evaluated on: a rule, an app and a window, with the means to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.params import PARAMS, required, word
from rag_monitor.domain.alert import AlertRule
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.i18n import Message
from rag_monitor.statistics.clusters import DesignEffect
from rag_monitor.statistics.wilson import wilson_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationContext:
    """A rule on an app over a window, and where the numbers come from."""

    rule: AlertRule
    app: str
    window: Window
    estimates: RuleEstimates
    worst: int = 5
    """Traces to link."""

    def series(self, release: str | None = None, judge: str = "") -> Series:
        """The rule's metric on this app, by the given judge or the one the rule names."""
        return Series(
            project=self.rule.project,
            app=self.app,
            metric=self.rule.metric or "",
            judge=judge or word(self.rule, "judge"),
            release=release,
            knowledge_base=self.knowledge_base,
        )

    def selection(self, window: Window | None = None) -> Selection:
        """All traces of this app in the window, or in another."""
        return Selection(
            project=self.rule.project, app=self.app, window=window if window else self.window
        )

    @property
    def window_s(self) -> float:
        """Length of the window, seconds: the rule's own, or the one that was chosen for the app."""
        return self.window.length.total_seconds()

    @property
    def knowledge_base(self) -> str | None:
        """The knowledge base that the rule watches; None: all traces."""
        named = "knowledge_base" in PARAMS[self.rule.kind]
        return (word(self.rule, "knowledge_base") or None) if named else None

    @property
    def subject(self) -> str:
        """What the rule watches, in words."""
        name = self.knowledge_base
        if name is None:
            return self.app
        return Message("{app} (knowledge base {name})", app=self.app, name=name)

    def worst_traces(self, window: Window | None = None) -> tuple[str, ...]:
        """The traces with the lowest scores of the rule's metric in the window, or in another.

        Numbers are kept per minute and count the window's last minute whole: so does this, else an
        alert on traces of the last seconds would name none of them.
        """
        seen = window or self.window
        last = seen.end.replace(second=0, microsecond=0)
        end = seen.end if last == seen.end else last + timedelta(minutes=1)
        worst: Sequence[str] = self.estimates.worst(
            self.rule.project,
            self.app,
            self.rule.metric or "",
            Window(seen.start, end),
            self.worst,
            self.knowledge_base,
        )
        return tuple(worst[: self.worst])

    def earlier(self, baseline: str) -> Window:
        """The window of `previous_window` or `last_week`."""
        if baseline == "last_week":
            return self.window.before(timedelta(days=7))
        return self.window.before()


def at_rule_level(estimate: Estimate, rule: AlertRule) -> Estimate:
    """The estimate with its interval at the rule's confidence.

    The dashboard's 95% interval is looked at once; a rule is looked at every few seconds, for
    months. At 95% a drop rule on 60 judged an hour raised 60 false alarms a month in simulation, at
    99.9% less than one (docs/alerts.md), so rules compute the Wilson interval at their own level.

    Never narrower than it came: what else widened it (suspect answers, incomplete windows) stays.
    """
    level = required(rule, "confidence")
    value, lower, upper = estimate.value, estimate.lower, estimate.upper
    if value is None or lower is None or upper is None or estimate.effective <= 0.0:
        return estimate
    share = min(1.0, max(0.0, value))
    effective = DesignEffect(degrees=estimate.degrees).at_level(estimate.effective, level)
    bounds = wilson_interval(share * effective, effective, level)
    return replace(
        estimate,
        lower=min(lower, bounds.lower),
        upper=max(upper, bounds.upper),
        confidence=level,
    )
