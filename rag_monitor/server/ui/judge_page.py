"""Who judges, how well it agrees with people, what it costs and how often it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.charts.reliability import reliability
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import AppSummary, JudgeSpending
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.server.agreement import MetricAgreement, agreement_by_judge
from rag_monitor.server.services import JudgeInfo
from rag_monitor.server.ui.view import Viewer, Visitor, page

router = APIRouter(include_in_schema=False)

MAX_APPS: Final = 20
MAX_PARKED: Final = 20
"""Traces that judging gave up on; the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One judge."""

    info: JudgeInfo
    apps: list[tuple[str, Estimate]]
    agreement: Sequence[MetricAgreement]
    """With people's marks of the window."""
    diagram: str
    spending: Sequence[JudgeSpending]

    @property
    def tokens(self) -> int:
        """Tokens of the window."""
        return sum(day.tokens for day in self.spending)

    @property
    def gpu_seconds(self) -> float:
        """GPU seconds of the window."""
        return sum(day.gpu_seconds for day in self.spending)

    @property
    def money(self) -> float:
        """Money of the window, in the currency of the price."""
        return sum(day.money for day in self.spending)


@router.get("/judges")
def judges(me: Viewer) -> HTMLResponse:
    """Every judge in use."""
    with me.services.reading():
        return _judges(me)


def _judges(me: Visitor) -> HTMLResponse:
    period = me.period("7d")
    window = period.window
    project = me.principal.project
    marked = me.services.feedback.against_scores(project, window.start, window.end)
    agreement = agreement_by_judge(marked)
    all_apps = me.services.traces.apps(project)
    apps = _newest(all_apps)
    spending = [
        day
        for day in me.services.spending(project, window.start.date())
        if day.day <= window.end.date()
    ]
    return page(
        me,
        "judges.html",
        {
            "rows": [
                _row(me, info, apps, window, agreement.get(info.name, []), spending)
                for info in _infos(me, apps, window)
            ],
            "period": period,
            "refused": me.not_applied("window", "from", "to") | period.refused,
            "days": [moment.date().isoformat() for moment in (window.start, window.end)],
            "left_out": len(all_apps) - len(apps),
            "backlog": me.services.tasks.backlog(me.services.clock.now()),
            "parked": me.services.tasks.parked(MAX_PARKED, project),
            "assembling": me.services.assembling(project),
        },
    )


def _infos(me: Visitor, apps: Sequence[AppSummary], window: Window) -> Sequence[JudgeInfo]:
    """The judges of this process; where others judge, those whose scores are there."""
    configured = me.services.judges()
    if configured:
        return configured
    project = me.principal.project
    by_name = {
        series.judge: None
        for app in apps
        for series in me.services.estimates.judged_series(
            Selection(project=project, app=app.app, window=window)
        )
    }
    return [JudgeInfo(name=judge) for judge in sorted(by_name)]


def _newest(apps: Sequence[AppSummary]) -> list[AppSummary]:
    """Those whose traces are newest, by name."""
    newest = sorted(apps, key=lambda one: one.last_seen)[-MAX_APPS:]
    return sorted(newest, key=lambda one: one.app)


def _row(
    me: Visitor,
    info: JudgeInfo,
    apps: Sequence[AppSummary],
    window: Window,
    agreement: Sequence[MetricAgreement],
    spending: Sequence[JudgeSpending],
) -> Row:
    claimed = next((one.reliability for one in agreement if one.reliability), None)
    name = info.name.split("/")[0]
    return Row(
        info=info,
        apps=_apps(me, info, apps, window),
        agreement=agreement,
        diagram=reliability(
            claimed.bins,
            me.translate("Reliability diagram"),
            me.translate("probability the judge gave"),
            me.translate("share people called good"),
        )
        if claimed
        else "",
        spending=[day for day in spending if day.judge == name],
    )


def _apps(
    me: Visitor, info: JudgeInfo, apps: Sequence[AppSummary], window: Window
) -> list[tuple[str, Estimate]]:
    project = me.principal.project
    rows = []
    for app in apps:
        series = Series(project=project, app=app.app, metric="faithfulness", judge=info.name)
        estimate = me.services.estimates.estimate(series, window)
        if estimate.judged or estimate.failed:
            rows.append((app.app, estimate))
    return rows
