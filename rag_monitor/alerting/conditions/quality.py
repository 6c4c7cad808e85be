"""Threshold, drop and burn-rate rules: they fire on the interval, never on the bare mean.

Source of burn rates: reference/statistics.md 7. The long window must burn the objective's allowance
of bad answers beyond a one-sided 99.9% bound, the short one must still burn, so that the alert
clears quickly.
"""

from __future__ import annotations

from datetime import timedelta

from rag_monitor.aggregation.comparison import Difference, compare, on_one_judge
from rag_monitor.alerting.conditions import wording
from rag_monitor.alerting.conditions.context import EvaluationContext, at_rule_level
from rag_monitor.alerting.conditions.wording import note_message
from rag_monitor.alerting.params import number, required, word
from rag_monitor.charts.numbers import given_share
from rag_monitor.domain.alert import AlertRule, Finding
from rag_monitor.domain.window import Estimate, Window
from rag_monitor.i18n import Message, msgid
from rag_monitor.statistics.burn import GATE_CONFIDENCE, burn_gate
from rag_monitor.statistics.wilson import wilson_interval

INCOMPLETE = "incomplete"
"""Note of an estimate whose window lost judgements to the budget."""


def threshold(context: EvaluationContext) -> Finding:
    """Active when the whole interval lies on the bad side of the limit."""
    rule = context.rule
    estimate = context.estimates.estimate(
        context.series(), context.window, min_judged=rule.min_judged
    )
    if estimate.lower is None or estimate.upper is None or estimate.value is None:
        return _inconclusive(context, estimate)
    wide = at_rule_level(estimate, rule)
    below, above = number(rule, "below"), number(rule, "above")
    limit = below if below is not None else above
    active = (below is not None and wide.upper is not None and wide.upper < below) or (
        above is not None and wide.lower is not None and wide.lower > above
    )
    if below is not None:
        relation = Message("below") if active else Message("not provably below")
    else:
        relation = Message("above") if active else Message("not provably above")
    return Finding(
        active=active,
        value=estimate.value,
        lower=wide.lower,
        upper=wide.upper,
        level=wide.confidence,
        unit=wording.unit_of(rule.metric),
        judged=estimate.judged,
        summary=Message(
            "{metric} of {subject} is {value}, {relation} {limit} ({level} interval {bounds}; "
            "{judged} judged of {traces} in {span})",
            metric=rule.metric,
            subject=context.subject,
            value=wording.figure(rule.metric, estimate.value),
            relation=relation,
            limit=wording.limit(rule.metric, limit),
            level=given_share(wide.confidence),
            bounds=wording.interval(rule.metric, wide.lower, wide.upper),
            judged=estimate.judged,
            traces=wording.counted(rule.metric, estimate.traces),
            span=wording.span(context.window_s),
        ),
        worst_traces=context.worst_traces() if active else (),
        notes=estimate.notes,
    )


def drop(context: EvaluationContext) -> Finding:
    """Active when the fall is beyond chance and large enough to matter.

    Beyond chance: the upper end of the interval of (now - baseline) lies below 0. Large enough: now
    lies at least `min_drop` below the baseline. Both sides need `min_judged` scores of one judge: a
    change of judges would look like a change of quality.
    """
    rule = context.rule
    kind = word(rule, "baseline")
    release = None
    if kind == "previous_release":
        releases = context.estimates.releases(rule.project, context.app, context.window)
        if not releases:
            return Finding(active=None, needed=rule.min_judged, notes=("no_release",))
        release = releases[0]
    series = context.series(release)
    now = context.estimates.estimate(series, context.window, min_judged=rule.min_judged)
    before = (
        context.estimates.release_baseline(series, context.window, min_judged=rule.min_judged)
        if release is not None
        else context.estimates.estimate(series, context.earlier(kind), min_judged=rule.min_judged)
    )
    if before is None:
        return _inconclusive(context, now, "no_baseline")
    if INCOMPLETE in now.notes or INCOMPLETE in before.notes:
        return _inconclusive(context, now, INCOMPLETE)
    now, before = on_one_judge(context.estimates, now, before, min_judged=rule.min_judged)
    wide = at_rule_level(now, rule)
    change = compare(wide, at_rule_level(before, rule))
    if change.value is None or change.upper is None or change.lower is None:
        return _inconclusive(context, now, *change.notes, before=before)
    min_drop = required(rule, "min_drop")
    # Rounded, or a fall from 0.9 to 0.8 would miss a limit of 0.1 by 3e-17.
    active = change.upper < 0.0 and round(change.value + min_drop, 9) <= 0.0
    return Finding(
        active=active,
        value=now.value,
        lower=wide.lower,
        upper=wide.upper,
        level=wide.confidence,
        unit=wording.unit_of(rule.metric),
        baseline=before.value,
        judged=now.judged,
        baseline_judged=before.judged,
        summary=_drop_summary(context, now, before, change, kind, active=active),
        worst_traces=context.worst_traces() if active else (),
        notes=tuple(dict.fromkeys((*now.notes, *before.notes, *change.notes))),
    )


def _drop_summary(
    context: EvaluationContext,
    now: Estimate,
    before: Estimate,
    change: Difference,
    kind: str,
    *,
    active: bool,
) -> Message:
    metric, baseline = context.rule.metric, wording.baseline_name(kind)
    if now.series.release is not None and before.series.release is not None:
        baseline = Message(
            "{baseline}, {release}, against {current}",
            baseline=baseline,
            release=before.series.release,
            current=now.series.release,
        )
    return Message(
        "{metric} of {subject} {fell} from {old} to {new} ({change}, {level} interval of the "
        "difference {bounds}; {judged} judged in {span}, {before} in the baseline: {baseline})",
        metric=metric,
        subject=context.subject,
        fell=Message("fell") if active else Message("went"),
        old=wording.figure(metric, before.value),
        new=wording.figure(metric, now.value),
        change=wording.changed(metric, change.value),
        level=given_share(required(context.rule, "confidence")),
        bounds=wording.change_interval(metric, change.lower, change.upper),
        judged=now.judged,
        span=wording.span(context.window_s),
        before=before.judged,
        baseline=baseline,
    )


def _inconclusive(
    context: EvaluationContext, estimate: Estimate, *notes: str, before: Estimate | None = None
) -> Finding:
    baseline_judged = 0 if before is None else before.judged
    have = Message("{judged} judged", judged=estimate.judged)
    if before is not None:
        have = Message(
            "{judged} judged, {before} in the baseline",
            judged=estimate.judged,
            before=baseline_judged,
        )
    needed = context.rule.min_judged
    few = min(estimate.judged, needed if before is None else baseline_judged) < needed
    lacking = (
        Message("{needed} are needed", needed=needed) if few else Message("they give no interval")
    )
    reasons = tuple(dict.fromkeys((*notes, *estimate.notes)))
    text = msgid("{metric} of {subject} cannot be told: {have}, {lacking}")
    if reasons:
        text = msgid("{metric} of {subject} cannot be told: {have}, {lacking} ({reasons})")
    return Finding(
        active=None,
        value=estimate.value,
        baseline=None if before is None else before.value,
        unit=wording.unit_of(context.rule.metric),
        judged=estimate.judged,
        baseline_judged=baseline_judged,
        needed=needed if few else 0,
        summary=Message(
            text,
            metric=context.rule.metric,
            subject=context.subject,
            have=have,
            lacking=lacking,
            reasons=tuple(map(note_message, reasons)),
        ),
        notes=reasons,
    )


def short_window_of(rule: AlertRule, window: Window) -> Window:
    """The short window of a burn-rate rule that looks over `window`."""
    length_s = number(rule, "short_s") or max(60.0, window.length.total_seconds() / 12.0)
    return Window.ending(window.end, timedelta(seconds=length_s))


def burn_rate(context: EvaluationContext) -> Finding:
    """Active when the gated long window and the raw short window both burn too fast."""
    rule = context.rule
    slo, multiple = required(rule, "slo"), required(rule, "multiple")
    short_window = short_window_of(rule, context.window)
    short_s = short_window.length.total_seconds()
    long = context.estimates.bad_count(context.series(), context.window)
    if long.judged < rule.min_judged:
        return Finding(
            active=None,
            judged=long.judged,
            needed=rule.min_judged,
            summary=Message(
                "{judged} judged of {subject}, {needed} are needed",
                judged=long.judged,
                subject=context.subject,
                needed=rule.min_judged,
            ),
            notes=("few_judged",),
        )
    counts = long.worth(2.0 * GATE_CONFIDENCE - 1.0)  # the gate is one-sided
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
    bounds = wilson_interval(*long.worth(0.95))
    judged = Message(
        "{judged} judged in {span}", judged=long.judged, span=wording.span(context.window_s)
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
        unit="share",
        judged=long.judged,
        baseline_judged=0 if short is None else short.judged,
        summary=Message(
            "{metric} of {subject} burns {times} times its allowance of {allowed} bad answers, "
            "limit {limit} (bad share {share} ({bounds}), 99.9% lower bound {lower}; {judged})",
            metric=rule.metric,
            subject=context.subject,
            times=f"{gate.burn_long:.3g}",
            allowed=given_share(1.0 - slo),
            limit=f"{multiple:g}",
            share=wording.share(share),
            bounds=wording.share_interval(bounds.lower, bounds.upper),
            lower=wording.share(gate.lower_bound),
            judged=judged,
        ),
        worst_traces=context.worst_traces() if gate.fires else (),
    )
