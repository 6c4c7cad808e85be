"""Objectives and their error budgets."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Principal, Reader, ServicesOf
from rag_monitor.server.judging_budgets import judging_budgets
from rag_monitor.server.objectives import (
    LEAST_DAYS,
    MOST_DAYS,
    PERIOD_DAYS,
    apps_with_objective,
    objective_rules,
    objectives,
    period_of,
)
from rag_monitor.server.problems import AskedLanguage, ProblemError
from rag_monitor.server.quality import page_of
from rag_monitor.server.schemas.slos import JudgingBudgetOut, SloOut, SlosOut
from rag_monitor.server.schemas.values import Given, Name
from rag_monitor.server.services import Services
from rag_monitor.server.validation import OnceRoute, sentences, unknown_names

router = APIRouter(prefix="/api/v1", tags=[msgid("Alerts")], route_class=OnceRoute)


class SlosQuery(Given):
    """Which apps, over how many days."""

    app: Name | None = None
    days: int = Field(
        default=PERIOD_DAYS,
        ge=LEAST_DAYS,
        le=MOST_DAYS,
        description="Length of the period: so many days (UTC), today included.",
    )
    limit: int = Field(default=50, ge=1, le=200, description="Apps, the busiest first.")
    cursor: Annotated[str, Field(max_length=1000)] | None = Field(
        default=None, description="`next` of the page before."
    )


@router.get("/slos")
def list_slos(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    where: Annotated[SlosQuery, Query()],
) -> SlosOut:
    """Objectives (rules of kind `burn_rate`) by app: error budget, burn rates, time left."""
    with services.reading():
        return _slos(services, caller, language, where)


def _slos(services: Services, caller: Principal, language: str, where: SlosQuery) -> SlosOut:
    now, project = services.clock.now(), caller.project
    period = period_of(now, where.days)
    every = services.rules.all(project)
    rules = objective_rules(every)
    apps = [
        one
        for one in apps_with_objective(services.traces.apps(project), rules, now)
        if where.app in {None, one.app}
    ]
    try:
        shown = page_of(services.traces, project, apps, period, where.limit, where.cursor)
    except MalformedPayload as error:
        raise ProblemError(
            422, "`cursor`: is not one this server gave; start again without it."
        ) from error
    unknown = []
    if where.app is not None and not apps:
        unknown = unknown_names(services, project, app=where.app)
    return SlosOut(
        start=period.start,
        end=period.end,
        days=where.days,
        slos=[
            SloOut.from_domain(one)
            for one in objectives(services, project, rules, shown.shown, period)
        ],
        judging_budgets=[
            JudgingBudgetOut.from_domain(one)
            for one in (judging_budgets(services, project, every) if where.app is None else ())
        ],
        next=shown.next,
        apps_folded=shown.less_busy,
        hints=sentences(unknown, language),
    )
