"""What was at fault, as shares of traffic with their intervals."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from rag_monitor.aggregation import keys
from rag_monitor.domain.fault import FAULT_METRIC
from rag_monitor.domain.rollup import TRACES_METRIC
from rag_monitor.domain.window import Window
from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Principal, Reader, ServicesOf
from rag_monitor.server.problems import AskedLanguage
from rag_monitor.server.quality import fault_shares, read_together
from rag_monitor.server.routes.quality import SummaryQuery, wanted_page
from rag_monitor.server.schemas.faults import AppFaultsOut, FaultShareOut, FaultsOut
from rag_monitor.server.schemas.values import Name, counted_window
from rag_monitor.server.services import Services
from rag_monitor.server.validation import (
    OnceRoute,
    Unknown,
    sentences,
    unknown_in_series,
    unknown_names,
)

router = APIRouter(prefix="/api/v1", tags=[msgid("Quality")], route_class=OnceRoute)


class FaultsQuery(SummaryQuery):
    """Which traces of which apps, page by page."""

    knowledge_base: Name | None = Field(
        default=None, description="Only traces that this knowledge base gave passages to."
    )


@router.get("/faults")
def faults(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    where: Annotated[FaultsQuery, Query()],
) -> FaultsOut:
    """The share of traces with each fault, of every app (or one) over a window.

    An estimate like those of scores: weighted for sampling, and corrected where people labelled
    enough of the traces that were drawn for them.
    """
    with services.reading():
        return _faults(services, caller, language, where)


def _faults(services: Services, caller: Principal, language: str, where: FaultsQuery) -> FaultsOut:
    window = counted_window(services.clock.now(), where.window, where.from_, where.to)
    page = wanted_page(services, caller, where, window)
    base = where.knowledge_base
    metrics = [keys.of_knowledge_base(name, base) for name in (FAULT_METRIC, TRACES_METRIC)]
    apps = []
    for summary, source in read_together(services.estimates, page.shown, metrics):
        selection = where.selection(caller.project, summary.app, window)
        shares = fault_shares(source, selection if base is None else selection.of(base))
        apps.append(
            AppFaultsOut(app=summary.app, faults=list(map(FaultShareOut.from_domain, shares)))
        )
    return FaultsOut(
        start=window.start,
        end=window.end,
        apps=apps,
        next=page.next,
        apps_folded=page.less_busy,
        hints=[]
        if any(app.faults for app in apps)
        else sentences(_unknown(services, caller, where, window), language),
    )


def _unknown(
    services: Services, caller: Principal, where: FaultsQuery, window: Window
) -> list[Unknown]:
    """Filters whose value nothing has."""
    if where.app is None:
        return unknown_names(services, caller.project, release=where.release)
    selection = where.selection(caller.project, where.app, window)
    if where.knowledge_base is not None:
        selection = selection.of(where.knowledge_base)
    return unknown_in_series(services, selection.series(FAULT_METRIC, keys.COMBINED), window)
