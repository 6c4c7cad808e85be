"""Objectives: error budgets, burn rates, and how long a budget lasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from fastapi import APIRouter
from markupsafe import Markup
from starlette.responses import HTMLResponse

from rag_monitor.alerting.conditions.wording import need_of
from rag_monitor.alerting.params import number, word
from rag_monitor.charts import scale
from rag_monitor.charts.budget_bar import budget_bar
from rag_monitor.charts.numbers import given_share, score_text, share_text
from rag_monitor.charts.time_axis import TimeAxis
from rag_monitor.charts.time_chart import WIDE, Line, TimeChart, drawn, numbers_table
from rag_monitor.domain.alert import Alert, AlertRule
from rag_monitor.domain.rule_state import Counted, Verdict
from rag_monitor.domain.stored import AppSummary
from rag_monitor.domain.window import Window
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import msgid, translate
from rag_monitor.metrics.rag import BAD_BELOW
from rag_monitor.server.judging_budgets import judging_budgets
from rag_monitor.server.objectives import (
    PERIOD_DAYS,
    Budget,
    Objective,
    apps_with_objective,
    days_of,
    objective_rules,
    objectives,
    period_of,
)
from rag_monitor.server.quality import AppPage, page_of
from rag_monitor.server.ui import catalog
from rag_monitor.server.ui.pictures import Picture, alert_marks
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import unknown_names

router = APIRouter(include_in_schema=False)

PERIODS: Final = (7, 30, 90)
MAX_CARDS: Final = 24
"""Objectives on a page, about: each has a chart."""
STATES: Final = {
    Verdict.OK: msgid("no open alerts"),
    Verdict.CANNOT_TELL: msgid("Cannot tell"),
    Verdict.PENDING: catalog.STATES["pending"],
    Verdict.FIRING: catalog.STATES["firing"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """An objective with what stands beside it."""

    of: Objective
    title: str
    state: str
    bar: Markup
    course: Picture | None
    missing: Sequence[str]
    """What would be needed, where something cannot be told."""
    lasts: str
    multiple: float
    """Burn rate at which the rule alerts."""
    traces: str
    """Address of the traces that used budget."""


@router.get("/slos")
def slos(me: Viewer) -> HTMLResponse:
    """Every objective of the busiest apps."""
    with me.services.reading():
        return _slos(me)


def _slos(me: Visitor) -> HTMLResponse:
    services, project = me.services, me.principal.project
    now, app = services.clock.now(), me.request.query_params.get("app", "")
    days, refused = _days(me)
    period = period_of(now, days)
    every = services.rules.all(project)
    rules = objective_rules(every)
    apps = apps_with_objective(services.traces.apps(project), rules, now)
    app_page, bad_cursor = _page(me, [one for one in apps if app in {"", one.app}], rules, period)
    history = services.alerts.load(project) if rules else ()
    return page(
        me,
        "slos.html",
        {
            "cards": [
                _card(me, one, history)
                for one in objectives(services, project, rules, app_page.shown, period)
            ],
            "judging": [
                (one, budget_bar(one.left, share_text(one.left)))
                for one in (judging_budgets(services, project, every) if not app else ())
            ],
            "any_rule": bool(rules),
            "app": app,
            "days": days,
            "periods": PERIODS,
            "default_days": PERIOD_DAYS,
            "left_out": app_page.less_busy,
            "next": app_page.next,
            "hints": unknown_names(services, project, app=app or None),
            "refused": me.not_applied("app") | refused | bad_cursor,
            "left": left,
        },
    )


def _days(me: Visitor) -> tuple[int, dict[str, str]]:
    """The length of the period, and what of the address was not applied."""
    text = me.request.query_params.get("days", "")
    if not text:
        return PERIOD_DAYS, {}
    if text in map(str, PERIODS):
        return int(text), {}
    return PERIOD_DAYS, {"days": text[:100]}


def _page(
    me: Visitor, apps: Sequence[AppSummary], rules: Sequence[AlertRule], period: Window
) -> tuple[AppPage, dict[str, str]]:
    """The apps to show, the busiest first; and what of the address was not applied."""
    after = me.request.query_params.get("after")
    limit = max(1, MAX_CARDS // max(1, len(rules)))
    given = (me.services.traces, me.principal.project, apps, period, limit)
    try:
        return page_of(*given, after), {}
    except MalformedPayload:
        return page_of(*given), {"after": (after or "")[:100]}


def _card(me: Visitor, one: Objective, history: Sequence[Alert]) -> Card:
    metric = one.rule.metric or ""
    return Card(
        of=one,
        title=me.translate(
            "{share} of answers good: {metric}",
            share=given_share(one.slo),
            metric=me.translate(catalog.metric_label(metric)),
        ),
        state=me.translate(STATES[one.state]),
        bar=Markup("") if one.budget is None else budget_bar(one.budget.left, left(me, one.budget)),
        course=None if one.budget is None else _course(me, one, one.budget, history),
        missing=_missing(me, one),
        lasts=_lasts(me, one),
        multiple=number(one.rule, "multiple") or 0.0,
        traces=_bad_traces(me, one, one.period),
    )


def _bad_traces(me: Visitor, one: Objective, window: Window | None = None) -> str:
    """Address of the traces that used budget, of a window where one is given."""
    metric = one.rule.metric or ""
    ends: dict[str, str] = {}
    if window is not None:
        moments = zip(("from", "to"), (window.start, window.end), strict=True)
        ends = {name: f"{moment:%Y-%m-%dT%H:%MZ}" for name, moment in moments}
    return me.link(
        "/traces",
        app=one.app,
        metric=metric,
        below=BAD_BELOW.get(metric),
        knowledge_base=word(one.rule, "knowledge_base"),
        **ends,
    )


def left(me: Visitor, budget: Budget) -> str:
    """What is left of a budget, in words."""
    if budget.left < 0.0:
        return me.translate(
            "overspent: {share} of the error budget used", share=share_text(budget.used)
        )
    return me.translate(
        "{left} left, {used} used", left=share_text(budget.left), used=share_text(budget.used)
    )


def _missing(me: Visitor, one: Objective) -> list[str]:
    needed, lacking = one.rule.min_judged, []
    if one.long.judged < needed:
        window_s = one.long.window.length.total_seconds()
        lacking.append(
            need_of(Counted.JUDGED, needed, one.long.judged, window_s, one.fitting_window_s)
        )
    if one.budget is None:
        days_s = len(days_of(one.period)) * 86_400.0
        lacking.append(need_of(Counted.JUDGED, needed, one.judged, days_s, None))
    return [translate(message, me.language) for message in lacking]


def _lasts(me: Visitor, one: Objective) -> str:
    if one.budget is not None and one.budget.left <= 0.0:
        return me.translate("spent")
    if one.state is Verdict.CANNOT_TELL or one.budget is None:
        return me.translate("Cannot tell")
    if one.lasts is None:
        return me.translate("not spent within the period")
    if one.lasts >= timedelta(days=1):
        return me.translate("about {n} d", n=score_text(one.lasts / timedelta(days=1), 1))
    return me.translate("about {n} h", n=score_text(one.lasts / timedelta(hours=1), 1))


def _course(me: Visitor, one: Objective, budget: Budget, history: Sequence[Alert]) -> Picture:
    window = Window(one.period.start, one.period.end)
    alerts = [alert for alert in history if (alert.rule, alert.app) == (one.rule.name, one.app)]
    title = me.translate("Error budget left, by day (UTC)")
    line = Line(
        name=me.translate("Error budget left"),
        values=budget.course,
        texts=[share_text(rest) for rest in budget.course],
    )
    chart = TimeChart(
        label=title,
        windows=days_of(one.period),
        lines=[line],
        scale=scale.balances,
        axis=TimeAxis.over(window, me.zone),
        marks=alert_marks(me, alerts, window),
        traces=_bad_traces(me, one),
    )
    return Picture(
        title=title,
        chart=drawn(chart, WIDE),
        table=numbers_table(chart, me.translate("Day")),
    )
