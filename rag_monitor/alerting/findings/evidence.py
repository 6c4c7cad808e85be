"""Intervals as wide as a rule needs them.

The dashboard's 95% interval is looked at once; a rule is looked at every few seconds, for months.
At 95% a drop rule on 60 judged an hour raised 60 false alarms a month in simulation, at 99.9% less
than one (docs/alerts.md), so rules compute the Wilson interval anew, at their own level.
"""

from __future__ import annotations

from dataclasses import replace

from rag_monitor.alerting.params import required
from rag_monitor.domain.alert import AlertRule
from rag_monitor.domain.window import Estimate
from rag_monitor.statistics.wilson import wilson_interval


def at_rule_level(estimate: Estimate, rule: AlertRule) -> Estimate:
    """The estimate with its interval at the rule's confidence.

    Never narrower than it came: what else widened it (suspect answers, incomplete windows) stays.
    """
    level = required(rule, "confidence")
    value, lower, upper = estimate.value, estimate.lower, estimate.upper
    if value is None or lower is None or upper is None or estimate.effective <= 0.0:
        return estimate
    share = min(1.0, max(0.0, value))
    bounds = wilson_interval(share * estimate.effective, estimate.effective, level)
    return replace(
        estimate,
        lower=min(lower, bounds.lower),
        upper=max(upper, bounds.upper),
        confidence=level,
    )
