"""Errors, judge failures, suspect share and budget: is the monitor still looking?"""

from __future__ import annotations

from typing import Final

from rag_monitor.alerting.conditions import wording
from rag_monitor.alerting.conditions.context import EvaluationContext
from rag_monitor.alerting.params import required
from rag_monitor.charts.numbers import given_share
from rag_monitor.domain.alert import Finding
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.i18n import Message, msgid
from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect
from rag_monitor.statistics.wilson import wilson_interval

_FEW_JUDGED: Final = (
    msgid("{total} judgements of {app}, {needed} are needed"),
    "few_judged",
)


def error_rate(context: EvaluationContext) -> Finding:
    """Active when the share of traces that ended in an error is above the limit, beyond chance."""
    share = context.estimates.status_share(context.selection(), TraceStatus.ERROR)
    return _share(
        context,
        round((share.value or 0.0) * share.traces),
        share.traces,
        Message("traces with an error"),
        worst=False,
        design=DesignEffect(share.design_effect, share.degrees),
        few=(msgid("{total} traces of {app}, {needed} are needed"), "few_traces"),
    )


def judge_failures(context: EvaluationContext) -> Finding:
    """Active when the share of failed judgements is above the limit, beyond chance.

    What the budget did not allow was never asked: the rule of kind `budget` speaks of that.
    """
    outcomes = context.estimates.outcomes(context.series(), context.window)
    failed, total = outcomes.failed - outcomes.shed, outcomes.attempted - outcomes.shed
    return _share(context, failed, total, Message("failed judgements"), worst=False)


def suspect(context: EvaluationContext) -> Finding:
    """Active when the share of answers that tried to influence the judge is above the limit."""
    outcomes = context.estimates.outcomes(context.series(), context.window)
    return _share(
        context, outcomes.suspect, outcomes.attempted, Message("suspect answers"), worst=True
    )


def budget(context: EvaluationContext) -> Finding:
    """Active when the day's judging budget is spent, or less than `min_remaining` is left."""
    state = context.estimates.budget(context.rule.project)
    limit = required(context.rule, "min_remaining")
    text = msgid("{left} of today's judging budget is left")
    if state.limits:
        text = msgid("{left} of today's judging budget is left ({limits})")
    return Finding(
        active=state.exhausted or state.remaining < limit,
        value=state.remaining,
        baseline=limit,
        unit="share",
        summary=Message(
            text,
            left=given_share(round(state.remaining, 3)),
            limits=", ".join(state.limits),
        ),
        notes=state.limits,
    )


def _share(
    context: EvaluationContext,
    count: int,
    total: int,
    what: Message,
    *,
    worst: bool,
    few: tuple[str, str] = _FEW_JUDGED,
    design: DesignEffect = INDEPENDENT,
) -> Finding:
    """The share against `max_share`; `few` is the sentence and the note for too few judged.

    `design` is what the dependence of traces of a session adds to its variance.
    """
    rule = context.rule
    if total < rule.min_judged:
        return Finding(
            active=None,
            judged=total,
            needed=rule.min_judged,
            summary=Message(few[0], total=total, app=context.app, needed=rule.min_judged),
            notes=(few[1],),
        )
    limit = required(rule, "max_share")
    level = required(rule, "confidence")
    worth = design.size(total, level)
    bounds = wilson_interval(count / total * worth, worth, level)
    active = bounds.lower > limit
    return Finding(
        active=active,
        value=count / total,
        lower=bounds.lower,
        upper=bounds.upper,
        level=level,
        baseline=limit,
        unit="share",
        judged=total,
        summary=Message(
            "{what} of {app}: {value}, limit {limit} ({level} interval {bounds}; {count} of "
            "{total} in {span})",
            what=what,
            app=context.app,
            value=wording.share(count / total),
            limit=given_share(limit),
            level=given_share(level),
            bounds=wording.share_interval(bounds.lower, bounds.upper),
            count=count,
            total=total,
            span=wording.span(context.window_s),
        ),
        worst_traces=context.worst_traces() if active and worst else (),
    )
