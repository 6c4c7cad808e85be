"""Latency rules: a quantile with its distribution-free interval, as exact as the buckets are fine.

Of few traces the interval of a high quantile has no upper end: the truth may lie beyond the slowest
of them. Nothing is slower than such a baseline.
"""

from __future__ import annotations

from dataclasses import dataclass

from rag_monitor.aggregation.latencies import LatencySummary
from rag_monitor.alerting.conditions import wording
from rag_monitor.alerting.conditions.context import EvaluationContext
from rag_monitor.alerting.params import number, required, word
from rag_monitor.charts.numbers import given_share
from rag_monitor.domain.alert import Finding
from rag_monitor.domain.window import Window
from rag_monitor.i18n import Message
from rag_monitor.statistics.quantiles import least_for_upper


@dataclass(frozen=True, slots=True)
class _Quantile:
    """A quantile in milliseconds with both ends of its interval."""

    value: float
    lower: float
    upper: float | None
    """None: the traces are too few for this end."""
    count: int


def latency(context: EvaluationContext) -> Finding:
    """Active when the quantile's whole interval is slow.

    With `max_ms`: above it. Otherwise: above the baseline's whole interval, and slower than the
    baseline by at least `min_rise`.
    """
    rule = context.rule
    quantile = required(rule, "quantile")
    now = _quantile(context, context.window, quantile)
    if now is None:
        return _too_few(context, judged=_count(context, context.window))
    limit = number(rule, "max_ms")
    if limit is not None:
        return _finding(
            context, now, limit, 0, Message.within("latency", "limit"), active=now.lower > limit
        )
    kind = word(rule, "baseline")
    before = _quantile(context, context.earlier(kind), quantile)
    if before is None:
        baseline_judged = _count(context, context.earlier(kind))
        return _too_few(context, judged=now.count, baseline_judged=baseline_judged)
    if before.upper is None:
        return _open_baseline(context, now, before, quantile)
    slower = now.value >= before.value * (1.0 + required(rule, "min_rise"))
    return _finding(
        context,
        now,
        before.value,
        before.count,
        wording.baseline_name(kind),
        active=slower and now.lower > before.upper,
    )


def _quantile(context: EvaluationContext, window: Window, quantile: float) -> _Quantile | None:
    rule = context.rule
    summary: LatencySummary = context.estimates.latency(
        context.selection(window), rule.metric or ""
    )
    if summary.count < rule.min_judged:
        return None
    value = summary.quantile(quantile)
    lower, upper = summary.interval(quantile, required(rule, "confidence"))
    if value is None or lower is None:
        return None
    return _Quantile(value, lower, upper, summary.count)


def _finding(
    context: EvaluationContext,
    now: _Quantile,
    baseline: float,
    baseline_count: int,
    against: Message,
    *,
    active: bool,
) -> Finding:
    rule = context.rule
    confidence = required(rule, "confidence")
    return Finding(
        active=active,
        value=now.value,
        lower=now.lower,
        upper=now.upper,
        level=confidence,
        baseline=baseline,
        unit="ms",
        judged=now.count,
        baseline_judged=baseline_count,
        summary=Message(
            "{quantile} of {metric} in {app} is {value}, {against} {limit} ({level} interval "
            "{bounds}; {traces} in {span})",
            quantile=f"p{required(rule, 'quantile') * 100:g}",
            metric=rule.metric,
            app=context.app,
            value=wording.milliseconds(now.value),
            against=against,
            limit=wording.milliseconds(baseline),
            level=given_share(confidence),
            bounds=wording.latencies(now.lower, now.upper),
            traces=wording.traces(now.count),
            span=wording.span(context.window_s),
        ),
    )


def _count(context: EvaluationContext, window: Window) -> int:
    metric = context.rule.metric or ""
    return context.estimates.latency(context.selection(window), metric).count


def _too_few(context: EvaluationContext, judged: int, baseline_judged: int = 0) -> Finding:
    rule = context.rule
    return Finding(
        active=None,
        judged=judged,
        baseline_judged=baseline_judged,
        needed=rule.min_judged,
        summary=Message(
            "too few traces of {app} with {metric}; {needed} are needed",
            app=context.app,
            metric=rule.metric,
            needed=rule.min_judged,
        ),
        notes=("few_traces",),
    )


def _open_baseline(
    context: EvaluationContext, now: _Quantile, before: _Quantile, quantile: float
) -> Finding:
    """Cannot tell: the interval of the baseline has no upper end."""
    needed = least_for_upper(quantile, required(context.rule, "confidence"))
    return Finding(
        active=None,
        judged=now.count,
        baseline_judged=before.count,
        needed=needed,
        summary=Message(
            "too few traces of {app} in the baseline for a {quantile}; {needed} are needed",
            app=context.app,
            quantile=f"p{quantile * 100:g}",
            needed=needed,
        ),
        notes=("few_traces",),
    )
