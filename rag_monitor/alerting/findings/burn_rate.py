"""Burn-rate rules: how fast an objective's allowance of bad answers is used up, gated by a bound.

Source: reference/statistics.md 7. The long window must burn beyond a one-sided 99.9% bound, the
short one must still burn, so that the alert clears quickly.
"""

from __future__ import annotations

from datetime import timedelta

from rag_monitor.alerting.findings import wording
from rag_monitor.alerting.findings.sight import Sight
from rag_monitor.alerting.params import number, required
from rag_monitor.domain.alert import Finding
from rag_monitor.domain.window import Window
from rag_monitor.statistics.burn import burn_gate
from rag_monitor.statistics.wilson import wilson_interval


def burn_rate(sight: Sight) -> Finding:
    """Active when the gated long window and the raw short window both burn too fast."""
    rule = sight.rule
    slo, multiple = required(rule, "slo"), required(rule, "multiple")
    short_s = number(rule, "short_s") or max(60.0, rule.window_s / 12.0)
    short_window = Window.ending(sight.window.end, timedelta(seconds=short_s))
    long = sight.estimates.bad_count(sight.series(), sight.window)
    if long.judged < rule.min_judged:
        return Finding(
            active=None,
            judged=long.judged,
            summary=f"{long.judged} judged of {sight.subject}, {rule.min_judged} are needed",
            summary_zh=f"{sight.subject_zh} 已评审 {long.judged} 条，需要 {rule.min_judged} 条",
            notes=("few_judged",),
        )
    counts = (long.effective_bad, long.effective_judged)
    if burn_gate(*counts, *counts, slo=slo, multiple=multiple).fires:
        # By the same judge: `combined` may mean another one in so short a window.
        short = sight.estimates.bad_count(sight.series(judge=long.judge), short_window)
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
    shares = f"{wording.share(share)} ({wording.interval(bounds.lower, bounds.upper)})"
    shares_zh = f"{wording.share(share)}（{wording.interval_zh(bounds.lower, bounds.upper)}）"
    allowed = wording.share(1.0 - slo)
    return Finding(
        active=gate.fires,
        value=share,
        lower=gate.lower_bound,
        upper=bounds.upper,
        baseline=gate.threshold,
        judged=long.judged,
        baseline_judged=0 if short is None else short.judged,
        summary=(
            f"{rule.metric} of {sight.subject} burns {gate.burn_long:.3g} times its allowance of "
            f"{allowed} bad answers, limit {multiple:g} (bad share {shares}, 99.9% lower bound "
            f"{wording.share(gate.lower_bound)}; {long.judged} judged in "
            f"{wording.span(rule.window_s)}"
            + ("" if short is None else f", {short.judged} in {wording.span(short_s)}")
            + ")"
        ),
        summary_zh=(
            f"{sight.subject_zh} 的 {rule.metric} 以 {gate.burn_long:.3g} 倍速度消耗 {allowed} 的"
            f"不良配额，上限 {multiple:g} 倍（不良占比 {shares_zh}，99.9% 下界 "
            f"{wording.share(gate.lower_bound)}；{wording.span_zh(rule.window_s)}内评审 "
            f"{long.judged} 条"
            + ("" if short is None else f"，{wording.span_zh(short_s)}内 {short.judged} 条")
            + "）"
        ),
        worst_traces=sight.worst_traces() if gate.fires else (),
    )
