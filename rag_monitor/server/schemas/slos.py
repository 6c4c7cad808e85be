"""Objectives and their error budgets, as the API tells them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from rag_monitor.alerting.params import word
from rag_monitor.server.judging_budgets import JudgingBudget
from rag_monitor.server.objectives import CONFIDENCE, BurnWindow, Objective, days_of
from rag_monitor.server.schemas.values import Hints, Wire


class BurnWindowOut(Wire):
    """A window of a burn-rate rule."""

    window_s: float
    judged: int
    burn_rate: float | None = Field(
        description="Bad share / (1 − objective): 1 uses up just the whole budget in a period. "
        "null: nothing was judged."
    )

    @classmethod
    def from_domain(cls, one: BurnWindow) -> BurnWindowOut:
        """The window as it goes out."""
        return cls(
            window_s=one.window.length.total_seconds(), judged=one.judged, burn_rate=one.rate
        )


class BudgetDayOut(Wire):
    """The error budget after a day."""

    start: datetime
    end: datetime
    budget_left: float | None = Field(
        description="Of the budget of the whole period; null: before the first judged answer."
    )


class SloOut(Wire):
    """A rule of kind `burn_rate` on one of its apps."""

    rule: str
    app: str
    metric: str
    knowledge_base: str | None
    objective: float = Field(description="Wanted share of good answers.")
    state: str = Field(description="`ok`, `pending`, `firing` or `cannot_tell`, as in `/rules`.")
    needed: int = Field(description="Judged answers that the long window, or the period, needs.")
    judge: str = Field(description="Whose scores the budget rests on; empty: of nobody yet.")
    judged: int = Field(description="In the period.")
    bad: int
    good_share: float | None = Field(
        description="Of the judged answers of the period, weighted by sampling; null, like the "
        "budget: fewer than `needed` were judged."
    )
    lower: float | None
    upper: float | None
    confidence: float
    budget_used: float | None = Field(
        description="Share of the period's error budget; above 1: overspent."
    )
    budget_left: float | None = Field(description="1 − `budget_used`.")
    long: BurnWindowOut
    short: BurnWindowOut
    lasts_s: float | None = Field(
        description="Seconds until the budget is spent at the burn rate of the long window; null: "
        "not within a period, or it cannot be told."
    )
    alert_id: str | None = Field(description="The open alert.")
    notes: list[str]
    course: list[BudgetDayOut] = Field(description="By day (UTC); empty where there is no budget.")

    @classmethod
    def from_domain(cls, one: Objective) -> SloOut:
        """The objective as it goes out."""
        budget = one.budget
        days = [] if budget is None else zip(days_of(one.period), budget.course, strict=True)
        return cls(
            rule=one.rule.name,
            app=one.app,
            metric=one.rule.metric or "",
            knowledge_base=word(one.rule, "knowledge_base") or None,
            objective=one.slo,
            state=one.state.value,
            needed=one.rule.min_judged,
            judge=one.judge,
            judged=one.judged,
            bad=one.bad,
            good_share=None if budget is None else budget.good,
            lower=None if budget is None else budget.lower,
            upper=None if budget is None else budget.upper,
            confidence=CONFIDENCE,
            budget_used=None if budget is None else budget.used,
            budget_left=None if budget is None else budget.left,
            long=BurnWindowOut.from_domain(one.long),
            short=BurnWindowOut.from_domain(one.short),
            lasts_s=None if one.lasts is None else one.lasts.total_seconds(),
            alert_id=None if one.alert is None else one.alert.id,
            notes=list(one.notes),
            course=[
                BudgetDayOut(start=day.start, end=day.end, budget_left=left) for day, left in days
            ],
        )


class JudgingBudgetOut(Wire):
    """A rule of kind `budget`: what is left of the day's judging budget, over all apps."""

    rule: str
    state: str = Field(description="`ok`, `pending` or `firing`.")
    budget_left: float = Field(description="Share of the day's budget.")
    alerts_below: float = Field(description="Share; 0: the rule alerts when the budget is spent.")
    limits: list[str] = Field(description="The limits that are spent.")
    alert_id: str | None = Field(description="The open alert.")

    @classmethod
    def from_domain(cls, one: JudgingBudget) -> JudgingBudgetOut:
        """The budget as it goes out."""
        return cls(
            rule=one.rule.name,
            state="ok" if one.state is None else one.state.value,
            budget_left=one.left,
            alerts_below=one.alerts_below,
            limits=list(one.finding.notes),
            alert_id=None if one.alert is None else one.alert.id,
        )


class SlosOut(Wire):
    """Objectives of a project over a period."""

    start: datetime
    end: datetime
    days: int
    slos: list[SloOut] = Field(description="By app and rule; empty: no rule holds an objective.")
    judging_budgets: list[JudgingBudgetOut] = Field(
        description="Of rules of kind `budget`; empty beside `app`, as they are of no one app."
    )
    next: str | None = Field(description="`cursor` of the apps that are less busy.")
    apps_folded: int = Field(description="So many apps on later pages.")
    hints: Hints
