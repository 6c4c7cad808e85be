"""Hit-rate rules: is a plugin, knowledge base or workflow still hit as before?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from rag_monitor.aggregation.comparison import compare
from rag_monitor.alerting.conditions import wording
from rag_monitor.alerting.conditions.context import EvaluationContext, at_rule_level
from rag_monitor.alerting.conditions.wording import HIT_KINDS
from rag_monitor.alerting.params import number, required, word
from rag_monitor.charts.numbers import given_share
from rag_monitor.domain.alert import Finding
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.window import Estimate, Window
from rag_monitor.i18n import Message


@dataclass(frozen=True, slots=True)
class _Rate:
    """One name's rate now and what it should be."""

    kind: HitKind
    name: str
    now: Estimate
    before: Estimate | None
    active: bool | None

    @property
    def loss(self) -> float:
        """How far it fell; the limit counts as the rate before where there is no baseline."""
        before = self.before.value if self.before is not None else 1.0
        return (before or 0.0) - (self.now.value if self.now.value is not None else 1.0)


def hit_rate(context: EvaluationContext) -> Finding:
    """Active when at least one name is hit too rarely; the one that lost most is reported."""
    rates = [_rate_of(context, kind, name) for kind, name in _names(context)]
    if not rates:
        return Finding(active=None, notes=("no_hits_seen",))
    bad = [rate for rate in rates if rate.active]
    if bad:
        return _finding(context, max(bad, key=lambda rate: rate.loss), active=True, others=bad)
    conclusive = [rate for rate in rates if rate.active is False]
    if conclusive:
        return _finding(
            context, max(conclusive, key=lambda rate: rate.loss), active=False, others=()
        )
    return _finding(context, rates[0], active=None, others=())


def _names(context: EvaluationContext) -> list[tuple[HitKind, str]]:
    rule = context.rule
    kind = HitKind(rule.metric) if rule.metric is not None else None
    name = word(rule, "name")
    if kind is not None and name:
        return [(kind, name)]
    # A name that is hit no more is only known from before.
    lookback = Window.ending(context.window.end, context.window.length * 2)
    seen: Iterable[tuple[HitKind, str]] = context.estimates.hit_names(context.selection(lookback))
    if "min_rate" not in rule.params and word(rule, "baseline") == "last_week":
        week_ago = context.window.before(timedelta(days=7))
        seen = {*seen, *context.estimates.hit_names(context.selection(week_ago))}
    return sorted(item for item in seen if kind is None or item[0] == kind)


def _rate_of(context: EvaluationContext, kind: HitKind, name: str) -> _Rate:
    rule = context.rule
    basis = word(rule, "basis")

    def rate(window: Window) -> Estimate:
        return context.estimates.hit_rate(context.selection(window), kind, name, basis)

    now = rate(context.window)
    limit = number(rule, "min_rate")
    if limit is not None:
        upper = at_rule_level(now, rule).upper if now.judged >= rule.min_judged else None
        return _Rate(kind, name, now, None, None if upper is None else upper < limit)
    before = rate(context.earlier(word(rule, "baseline")))
    if min(now.judged, before.judged) < rule.min_judged:
        return _Rate(kind, name, now, before, None)
    change = compare(at_rule_level(now, rule), at_rule_level(before, rule))
    if change.value is None or change.upper is None:
        return _Rate(kind, name, now, before, None)
    fell = round(change.value + required(rule, "min_drop"), 9) <= 0.0
    return _Rate(kind, name, now, before, change.upper < 0.0 and fell)


def _finding(
    context: EvaluationContext, rate: _Rate, *, active: bool | None, others: Iterable[_Rate]
) -> Finding:
    rule, before = context.rule, rate.before
    now = at_rule_level(rate.now, rule)
    limit = before.value if before is not None else number(rule, "min_rate")
    baseline = (
        Message.within("hit rate", "limit")
        if before is None
        else wording.baseline_name(word(rule, "baseline"))
    )
    against = (
        Message("nothing of {baseline} to compare", baseline=baseline)
        if limit is None
        else Message(
            "{baseline} {limit}",
            baseline=baseline,
            limit=given_share(limit) if before is None else wording.share(limit),
        )
    )
    more = tuple(f"also:{o.kind.value}:{o.name}" for o in others if o is not rate)
    return Finding(
        active=active,
        value=now.value,
        lower=now.lower,
        upper=now.upper,
        level=None if now.lower is None or now.upper is None else now.confidence,
        baseline=limit,
        unit="share",
        judged=now.judged,
        baseline_judged=before.judged if before is not None else 0,
        needed=rule.min_judged if active is None else 0,
        summary=Message(
            "hit rate of {kind} {name} in {app}: {value}, {against} ({level} interval {bounds}; "
            "{traces} in {span})",
            kind=HIT_KINDS[rate.kind.value],
            name=rate.name,
            app=context.app,
            value=wording.share(now.value),
            against=against,
            level=given_share(now.confidence),
            bounds=wording.share_interval(now.lower, now.upper),
            traces=wording.traces(now.judged),
            span=wording.span(context.window_s),
        ),
        notes=more if active is not None else ("few_traces",),
    )
