"""No data, judge failures, suspect share and budget: is the monitor still looking?"""

from __future__ import annotations

from datetime import timedelta

from rag_monitor.alerting.findings import wording
from rag_monitor.alerting.findings.sight import Sight
from rag_monitor.alerting.params import required
from rag_monitor.domain.alert import Finding
from rag_monitor.domain.window import Window
from rag_monitor.statistics.wilson import wilson_interval


def no_data(sight: Sight) -> Finding:
    """Active when an app that used to send sends too little.

    A rule that names its app expects it to send; under `*` an app that has been silent for longer
    than `since_s` is forgotten, and one whose traces were all imported never sent.
    """
    rule = sight.rule
    count = sum(sight.estimates.traces(rule.project, sight.app, sight.window).values())
    active = count < required(rule, "min_traces")
    if active and rule.app == "*" and count == 0:
        active = _sent_before(sight, timedelta(seconds=required(rule, "since_s")))
    return Finding(
        active=active,
        value=float(count),
        baseline=required(rule, "min_traces"),
        summary=f"{sight.app} sent {wording.traces(count)} in {wording.span(rule.window_s)}",
        summary_zh=f"{sight.app} 在 {wording.span_zh(rule.window_s)}内发送了 {count} 条请求",
    )


def _sent_before(sight: Sight, since: timedelta) -> bool:
    """Whether the app sent anything between `since` ago and the window.

    The window is left out: what a new app sends while this runs is no sign that it used to send.
    """
    start, end = sight.window.end - since, sight.window.start
    if start >= end:
        return False
    return sight.estimates.live_traces(sight.rule.project, sight.app, Window(start, end)) > 0


def judge_failures(sight: Sight) -> Finding:
    """Active when the share of failed judgements is above the limit, beyond chance.

    What the budget did not allow was never asked: the rule of kind `budget` speaks of that.
    """
    outcomes = sight.estimates.outcomes(sight.series(), sight.window)
    failed, asked = outcomes.failed - outcomes.shed, outcomes.asked - outcomes.shed
    return _share(sight, failed, asked, ("failed judgements", "评审失败"), worst=False)


def suspect(sight: Sight) -> Finding:
    """Active when the share of answers that tried to influence the judge is above the limit."""
    outcomes = sight.estimates.outcomes(sight.series(), sight.window)
    return _share(
        sight, outcomes.suspect, outcomes.asked, ("suspect answers", "可疑回答"), worst=True
    )


def budget(sight: Sight) -> Finding:
    """Active when the judging budget of the day is spent, or nearly."""
    state = sight.estimates.budget(sight.rule.project)
    limit = required(sight.rule, "min_remaining")
    names = ", ".join(state.limits)
    left = wording.percent(round(state.remaining, 3))
    return Finding(
        active=state.exhausted or state.remaining < limit,
        value=state.remaining,
        baseline=limit,
        summary=f"{left} of today's judging budget is left" + (f" ({names})" if names else ""),
        summary_zh=f"今日评审预算剩余 {left}" + (f"（{names}）" if names else ""),
        notes=state.limits,
    )


def _share(sight: Sight, count: int, asked: int, what: tuple[str, str], *, worst: bool) -> Finding:
    rule = sight.rule
    if asked < rule.min_judged:
        return Finding(
            active=None,
            judged=asked,
            summary=f"{asked} judgements of {sight.app}, {rule.min_judged} are needed",
            summary_zh=f"{sight.app} 有 {asked} 次评审，需要 {rule.min_judged} 次",
            notes=("few_judged",),
        )
    limit = required(rule, "max_share")
    level = required(rule, "confidence")
    bounds = wilson_interval(count, asked, level)
    active = bounds.lower > limit
    named = wording.percent(level)
    shown = wording.interval(bounds.lower, bounds.upper)
    shown_zh = wording.interval_zh(bounds.lower, bounds.upper)
    value = wording.share(count / asked)
    return Finding(
        active=active,
        value=count / asked,
        lower=bounds.lower,
        upper=bounds.upper,
        level=level,
        baseline=limit,
        judged=asked,
        summary=(
            f"{what[0]} of {sight.app}: {value}, limit {wording.share(limit)} "
            f"({named} interval {shown}; {count} of {asked} in {wording.span(rule.window_s)})"
        ),
        summary_zh=(
            f"{sight.app} 的{what[1]}占比 {value}，上限 {wording.share(limit)}"
            f"（{named} 区间 {shown_zh}；{wording.span_zh(rule.window_s)}内 "
            f"{asked} 条中有 {count} 条）"
        ),
        worst_traces=sight.worst_traces() if active and worst else (),
    )
