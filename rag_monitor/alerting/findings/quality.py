"""Threshold and drop rules: they fire on the interval, never on the bare mean."""

from __future__ import annotations

from rag_monitor.aggregation.comparison import Difference, compare, on_one_judge
from rag_monitor.alerting.findings import wording
from rag_monitor.alerting.findings.evidence import at_rule_level
from rag_monitor.alerting.findings.sight import Sight
from rag_monitor.alerting.notes import notes_text
from rag_monitor.alerting.params import number, required, word
from rag_monitor.domain.alert import Finding
from rag_monitor.domain.window import Estimate

INCOMPLETE = "incomplete"
"""Note of an estimate whose window lost judgements to the budget."""


def threshold(sight: Sight) -> Finding:
    """Active when the whole interval lies on the bad side of the limit."""
    rule = sight.rule
    estimate = sight.estimates.estimate(sight.series(), sight.window, min_judged=rule.min_judged)
    if estimate.lower is None or estimate.upper is None or estimate.value is None:
        return _untold(sight, estimate)
    wide = at_rule_level(estimate, rule)
    below, above = number(rule, "below"), number(rule, "above")
    limit = below if below is not None else above
    active = (below is not None and wide.upper is not None and wide.upper < below) or (
        above is not None and wide.lower is not None and wide.lower > above
    )
    side, side_zh = ("below", "低于") if below is not None else ("above", "高于")
    relation = side if active else f"not provably {side}"
    relation_zh = side_zh if active else f"不能断定{side_zh}"
    level = wording.percent(wide.confidence)
    bounds = wording.interval(wide.lower, wide.upper)
    bounds_zh = wording.interval_zh(wide.lower, wide.upper)
    return Finding(
        active=active,
        value=estimate.value,
        lower=estimate.lower,
        upper=estimate.upper,
        level=estimate.confidence,
        judged=estimate.judged,
        summary=(
            f"{rule.metric} of {sight.subject} is {wording.share(estimate.value)}, {relation} "
            f"{wording.share(limit)} ({level} interval {bounds}; {estimate.judged} judged of "
            f"{wording.traces(estimate.traces)} in {wording.span(rule.window_s)})"
        ),
        summary_zh=(
            f"{sight.subject_zh} 的 {rule.metric} 为 {wording.share(estimate.value)}，"
            f"{relation_zh} {wording.share(limit)}（{level} 区间 {bounds_zh}；"
            f"{wording.span_zh(rule.window_s)}内 "
            f"{estimate.traces} 条请求中评审了 {estimate.judged} 条）"
        ),
        worst_traces=sight.worst_traces() if active else (),
        notes=estimate.notes,
    )


def drop(sight: Sight) -> Finding:
    """Active when the fall is beyond chance and large enough to matter.

    Beyond chance: the upper end of the interval of (now - baseline) lies below 0. Large enough: now
    lies at least `min_drop` below the baseline. Both sides need `min_judged` scores of one judge: a
    change of judges would look like a change of quality.
    """
    rule = sight.rule
    kind = word(rule, "baseline")
    release = None
    if kind == "previous_release":
        releases = sight.estimates.releases(rule.project, sight.app, sight.window)
        if not releases:
            return Finding(active=None, notes=("no_release",))
        release = releases[0]
    series = sight.series(release)
    now = sight.estimates.estimate(series, sight.window, min_judged=rule.min_judged)
    before = (
        sight.estimates.release_baseline(series, sight.window, min_judged=rule.min_judged)
        if release is not None
        else sight.estimates.estimate(series, sight.earlier(kind), min_judged=rule.min_judged)
    )
    if before is None:
        return _untold(sight, now, "no_baseline")
    if INCOMPLETE in now.notes or INCOMPLETE in before.notes:
        return _untold(sight, now, INCOMPLETE)
    now, before = on_one_judge(sight.estimates, now, before, min_judged=rule.min_judged)
    change = compare(at_rule_level(now, rule), at_rule_level(before, rule))
    if change.value is None or change.upper is None or change.lower is None:
        return _untold(sight, now, *change.notes, before=before)
    min_drop = required(rule, "min_drop")
    # Rounded, or a fall from 0.9 to 0.8 would miss a limit of 0.1 by 3e-17.
    active = change.upper < 0.0 and round(change.value + min_drop, 9) <= 0.0
    english, chinese = _drop_summary(sight, now, before, change, kind, active=active)
    return Finding(
        active=active,
        value=now.value,
        lower=now.lower,
        upper=now.upper,
        level=now.confidence,
        baseline=before.value,
        judged=now.judged,
        baseline_judged=before.judged,
        summary=english,
        summary_zh=chinese,
        worst_traces=sight.worst_traces() if active else (),
        notes=tuple(dict.fromkeys((*now.notes, *before.notes, *change.notes))),
    )


def _drop_summary(
    sight: Sight, now: Estimate, before: Estimate, change: Difference, kind: str, *, active: bool
) -> tuple[str, str]:
    metric = sight.rule.metric
    name, name_zh = wording.baseline_name(kind)
    if now.series.release is not None and before.series.release is not None:
        name = f"{name}, {before.series.release}, against {now.series.release}"
        name_zh = f"{name_zh} {before.series.release}，当前 {now.series.release}"
    level = wording.percent(required(sight.rule, "confidence"))
    bounds = wording.interval(change.lower, change.upper)
    bounds_zh = wording.interval_zh(change.lower, change.upper)
    old, new, by = wording.share(before.value), wording.share(now.value), change.value
    english = (
        f"{metric} of {sight.subject} {'fell' if active else 'went'} from {old} to {new} "
        f"({wording.signed(by)}, {level} interval of the difference {bounds}; {now.judged} judged "
        f"in {wording.span(sight.rule.window_s)}, {before.judged} in the baseline: {name})"
    )
    chinese = (
        f"{sight.subject_zh} 的 {metric} 从 {old} {'降到' if active else '变为'} {new}"
        f"（{wording.signed(by)}，差值的 {level} 区间 {bounds_zh}；"
        f"{wording.span_zh(sight.rule.window_s)}内评审 {now.judged} 条，"
        f"基线 {before.judged} 条：{name_zh}）"
    )
    return english, chinese


def _untold(
    sight: Sight, estimate: Estimate, *notes: str, before: Estimate | None = None
) -> Finding:
    baseline_judged = 0 if before is None else before.judged
    have = f"{estimate.judged} judged"
    have_zh = f"已评审 {estimate.judged} 条"
    if before is not None:
        have += f", {baseline_judged} in the baseline"
        have_zh += f"，基线 {baseline_judged} 条"
    needed = sight.rule.min_judged
    few = min(estimate.judged, needed if before is None else baseline_judged) < needed
    lacking = f"{needed} are needed" if few else "they give no interval"
    lacking_zh = f"需要 {needed} 条" if few else "得不出区间"
    reasons = tuple(dict.fromkeys((*notes, *estimate.notes)))
    metric = sight.rule.metric
    return Finding(
        active=None,
        value=estimate.value,
        baseline=None if before is None else before.value,
        judged=estimate.judged,
        baseline_judged=baseline_judged,
        summary=(
            f"{metric} of {sight.subject} cannot be told: {have}, {lacking}"
            + (f" ({notes_text(reasons, 'en')})" if reasons else "")
        ),
        summary_zh=(
            f"无法判断 {sight.subject_zh} 的 {metric}：{have_zh}，{lacking_zh}"
            + (f"（{notes_text(reasons, 'zh')}）" if reasons else "")
        ),
        notes=reasons,
    )
