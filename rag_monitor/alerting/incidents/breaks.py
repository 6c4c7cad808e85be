"""When the course of what an alert watches broke, which is before the alert fires.

A detector says it. For the other rules that watch single answers it is the likeliest place of one
step upwards in the share of bad answers, one after the other. Of the rest it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from statistics import quantiles
from typing import Final

from rag_monitor.alerting.params import word
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.incident import IncidentAlert, IncidentTrace
from rag_monitor.domain.rollup import LATENCY_METRICS
from rag_monitor.metrics.rag import BAD_BELOW
from rag_monitor.statistics.change_point import step_up

Indicator = Callable[[IncidentTrace], bool | None]
"""Whether a trace is bad; None: that cannot be told of it."""

_OF_SCORES: Final = frozenset(
    {RuleKind.DROP, RuleKind.THRESHOLD, RuleKind.CHANGE, RuleKind.BURN_RATE}
)
_DECILES: Final = 10


def indicator(rule: AlertRule | None, traces: Sequence[IncidentTrace]) -> Indicator | None:
    """What makes an answer bad for a rule; None: the rule does not watch single answers.

    Args:
        rule: The rule; None: it is gone.
        traces: The oldest first. A latency is bad where it would be among the slowest tenth of the
            older half of these, most of which is from before the alert.
    """
    if rule is None:
        return None
    if rule.kind is RuleKind.ERROR_RATE:
        return lambda trace: trace.failed
    metric = rule.metric or ""
    if rule.kind is RuleKind.LATENCY and metric in LATENCY_METRICS:
        return _slow(metric, traces)
    limit = BAD_BELOW.get(metric)
    if rule.kind in _OF_SCORES and limit is not None and "above" not in rule.params:
        return _scored_below(metric, limit, word(rule, "knowledge_base"))
    return None


def broke_at(
    alert: IncidentAlert, bad: Indicator | None, traces: Sequence[IncidentTrace]
) -> datetime | None:
    """When its course broke; None: not known.

    Args:
        alert: With what its detector says, where it has one.
        bad: What is bad for its rule.
        traces: Before and after the break, the oldest first.
    """
    if alert.broke_at is not None or bad is None:
        return alert.broke_at
    return first_of_step([trace for trace in traces if trace.started_at <= alert.started_at], bad)


def first_of_step(traces: Sequence[IncidentTrace], bad: Indicator) -> datetime | None:
    """When the first trace after the likeliest step began; None: there is no step."""
    judged = [(trace.started_at, value) for trace in traces if (value := bad(trace)) is not None]
    place = step_up([value for _, value in judged])
    return None if place is None else judged[place][0]


def metrics_of(rules: Sequence[AlertRule]) -> set[str]:
    """The metrics whose scores `indicator` looks at."""
    return {
        rule.metric
        for rule in rules
        if rule.kind in _OF_SCORES and rule.metric is not None and rule.metric in BAD_BELOW
    }


def _slow(metric: str, traces: Sequence[IncidentTrace]) -> Indicator | None:
    older = traces[: len(traces) // 2]
    values = [trace.latencies[metric] for trace in older if metric in trace.latencies]
    if len(values) < _DECILES:
        return None
    limit = quantiles(values, n=_DECILES)[-1]

    def slow(trace: IncidentTrace) -> bool | None:
        value = trace.latencies.get(metric)
        return None if value is None else value > limit

    return slow


def _scored_below(metric: str, limit: float, knowledge_base: str) -> Indicator:
    def scored_below(trace: IncidentTrace) -> bool | None:
        value = trace.scores.get(metric)
        if value is None or (knowledge_base and knowledge_base not in trace.knowledge_bases):
            return None
        return value < limit

    return scored_below
