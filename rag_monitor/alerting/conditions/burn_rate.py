"""Burn-rate rules: how fast an objective's allowance of bad answers is used up, gated by a bound.

Source: reference/statistics.md 7. The long window must burn beyond a one-sided 99.9% bound, the
short one must still burn, so that the alert clears quickly.
"""

from __future__ import annotations

from datetime import timedelta

from rag_monitor.alerting.conditions import wording
from rag_monitor.alerting.conditions.context import EvaluationContext
from rag_monitor.alerting.params import number, required
from rag_monitor.domain.alert import Finding
from rag_monitor.domain.window import Window
from rag_monitor.i18n import Message
from rag_monitor.statistics.burn import burn_gate
from rag_monitor.statistics.wilson import wilson_interval


def burn_rate(context: EvaluationContext) -> Finding:
    """Active when the gated long window and the raw short window both burn too fast."""
    rule = context.rule
    slo, multiple = required(rule, "slo"), required(rule, "multiple")
    short_s = number(rule, "short_s") or max(60.0, rule.window_s / 12.0)
    short_window = Window.ending(context.window.end, timedelta(seconds=short_s))
    long = context.estimates.bad_count(context.series(), context.window)
    if long.judged < rule.min_judged:
        return Finding(
            active=None,
            judged=long.judged,
            summary=Message(
                "{judged} judged of {subject}, {needed} are needed",
                judged=long.judged,
                subject=context.subject,
                needed=rule.min_judged,
            ),
            notes=("few_judged",),
        )
    counts = (long.effective_bad, long.effective_judged)
    if burn_gate(*counts, *counts, slo=slo, multiple=multiple).fires:
        # By the same judge: `combined` may mean another one in so short a window.
        short = context.estimates.bad_count(context.series(judge=long.judge), short_window)
    else:
        short = None  # whatever it holds, the rule does not fire
    gate = burn_gate(
        *counts,
        0.0 if short is None else short.effective_bad,
        0.0 if short is None else short.effective_judged,
        slo=slo,
        multiple=multiple,
    )
    share = long.effective_bad / long.effective_judged if long.effective_judged else 0.0
    bounds = wilson_interval(min(long.effective_bad, long.effective_judged), long.effective_judged)
    judged = Message(
        "{judged} judged in {span}", judged=long.judged, span=wording.span(rule.window_s)
    )
    if short is not None:
        judged = Message(
            "{long}, {judged} in {span}",
            long=judged,
            judged=short.judged,
            span=wording.span(short_s),
        )
    return Finding(
        active=gate.fires,
        value=share,
        lower=gate.lower_bound,
        upper=bounds.upper,
        baseline=gate.threshold,
        judged=long.judged,
        baseline_judged=0 if short is None else short.judged,
        summary=Message(
            "{metric} of {subject} burns {times} times its allowance of {allowed} bad answers, "
            "limit {limit} (bad share {share} ({bounds}), 99.9% lower bound {lower}; {judged})",
            metric=rule.metric,
            subject=context.subject,
            times=f"{gate.burn_long:.3g}",
            allowed=wording.share(1.0 - slo),
            limit=f"{multiple:g}",
            share=wording.share(share),
            bounds=wording.interval(bounds.lower, bounds.upper),
            lower=wording.share(gate.lower_bound),
            judged=judged,
        ),
        worst_traces=context.worst_traces() if gate.fires else (),
    )
