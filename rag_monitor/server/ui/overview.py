"""The overview: few apps with everything, many apps as a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from fastapi import APIRouter
from markupsafe import Markup
from starlette.responses import HTMLResponse

from rag_monitor.aggregation.comparison import alike, on_one_judge
from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.domain.alert import Alert
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import TRACES_METRIC
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import AppSummary, ReleaseStart
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.errors import MalformedPayload
from rag_monitor.server.quality import (
    AppPage,
    HitRate,
    app_quality,
    by_knowledge_base,
    fault_shares,
    page_of,
    read_together,
)
from rag_monitor.server.ui import app_table, changes
from rag_monitor.server.ui.behind import behind
from rag_monitor.server.ui.changes import Changed
from rag_monitor.server.ui.pictures import (
    DRAWN,
    AppCharts,
    Picture,
    alert_marks,
    release_marks,
    traffic_spark,
)
from rag_monitor.server.ui.take_along import sending_command
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import Unknown, unknown_names

router = APIRouter(include_in_schema=False)

WHOLE_APPS: Final = 3
"""So many apps are shown with everything; of more, a line each."""
MAX_APPS: Final = 100
MAX_FAULTS: Final = 5
"""So many faults are shown where several apps are."""
_LEAST_SHARE: Final = 0.005
MAX_COURSES: Final = 4
"""So many faults, and hit rates, of the page of an app have a chart."""
MAX_BANNERS: Final = 5
"""So many alerts stand above the numbers; of more, how many: else they would push them away."""
_BASE_METRICS: Final = ("faithfulness", "context_precision", "context_relevance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One metric of one app."""

    estimate: Estimate
    picture: Picture | None
    change: Changed | None
    """Since the window before: what is usual for the app."""
    notes: tuple[str, ...]
    """Those that do not hold for every tile of the app."""
    releases: tuple[Estimate, ...]
    """Of the release before and of the newest one, where it appeared in the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """How often one thing was hit: of all traces, and of those that expected it."""

    kind: HitKind
    name: str
    every: Estimate | None
    expected: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """How good the answers from one knowledge base are."""

    name: str
    traces: int
    estimates: dict[str, Estimate]
    """By metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultStrip:
    """The faults of an app, the most frequent first."""

    shares: tuple[Estimate, ...]
    """Of those that are shown."""
    faultless: Estimate
    """The share without a fault."""


@router.get("/")
def overview(me: Viewer) -> HTMLResponse:
    """Every app: quality with intervals, latency, hits, open alerts."""
    with me.services.reading():
        return _overview(me)


def _overview(me: Visitor) -> HTMLResponse:
    apps = me.services.traces.apps(me.principal.project)
    wanted = me.request.query_params.get("app")
    chosen = [app for app in apps if wanted in {None, "", app.app}]
    chose = {"window", "from"} & me.request.query_params.keys()
    period = me.period("24h" if chose else _fitting(me, chosen))
    window = period.window
    if not wanted:
        chosen = [app for app in chosen if app.told_of(window)] or chosen
    alerts = me.open_alerts(wanted)
    whole = len(chosen) <= WHOLE_APPS
    history = me.services.alerts.load(me.principal.project) if whole else ()
    app_page, bad_cursor = _page(me, chosen, window)
    shown = app_page.shown
    sort = me.request.query_params.get("sort", "")
    order, lines = app_table.ordered(
        []
        if whole
        else app_table.app_rows(me.services.estimates, me.principal.project, shown, window, alerts),
        sort,
    )
    return page(
        me,
        "overview.html",
        {
            "apps": [
                _whole(me, source, app, window, history, alerts, alone=bool(wanted))
                for app, source in read_together(me.services.estimates, shown, drawn=DRAWN)
            ]
            if whole
            else [],
            "lines": lines,
            "sparks": _sparks(me, lines, window),
            "order": order,
            "base_metrics": _BASE_METRICS,
            "line_metrics": app_table.METRICS,
            "left_out": app_page.less_busy,
            "next": app_page.next,
            "later": me.request.query_params.get("after") is not None,
            "known": apps,
            "wanted": wanted,
            "hints": _hints(me, wanted) if apps and not chosen else [],
            "period": period,
            "refused": me.not_applied("app", "window", "from", "to")
            | period.refused
            | ({"sort": sort[:100]} if sort not in {"", order} else {})
            | bad_cursor,
            "alerts": alerts,
            "most_banners": MAX_BANNERS,
            "behind": behind,
            "endpoint": me.address,
            "request": sending_command(me.address),
            "backlog": me.services.tasks.backlog(me.services.clock.now()),
            "assembling": me.services.assembling(me.principal.project),
        },
    )


def _sparks(me: Visitor, lines: Sequence[app_table.AppRow], window: Window) -> dict[str, Markup]:
    """The traffic of every app of the list, by name."""
    project = me.principal.project
    source = me.services.estimates.once([line.app for line in lines])
    return {
        line.app: traffic_spark(me, source, Selection(project=project, app=line.app, window=window))
        for line in lines
    }


def _page(
    me: Visitor, apps: Sequence[AppSummary], window: Window
) -> tuple[AppPage, dict[str, str]]:
    """The apps to show, the busiest first; and what of the address was not applied."""
    after = me.request.query_params.get("after")
    given = (me.services.traces, me.principal.project, apps, window, MAX_APPS)
    try:
        return page_of(*given, after), {}
    except MalformedPayload:
        return page_of(*given), {"after": (after or "")[:100]}


def _hints(me: Visitor, wanted: str | None) -> list[Unknown]:
    """The app that was meant, where its name is near; that this one is empty stands below."""
    unknown = unknown_names(me.services, me.principal.project, app=wanted)
    return [one for one in unknown if one.near is not None]


def _fitting(me: Visitor, apps: Sequence[AppSummary]) -> str:
    """The shortest that leaves nothing out, so that a new installation shows lines, not dots."""
    if not 0 < len(apps) <= WHOLE_APPS:
        return "24h"
    now = me.services.clock.now()
    source = me.services.estimates.once([app.app for app in apps], (TRACES_METRIC,))

    def count(app: AppSummary, minutes: int) -> int:
        window = Window.ending(now, timedelta(minutes=minutes))
        selection = Selection(project=me.principal.project, app=app.app, window=window)
        return sum(source.traces(selection).values())

    for name, minutes in (("15m", 15), ("1h", 60)):
        if all(0 < count(app, minutes) == count(app, 1440) for app in apps):
            return name
    return "24h"


def _fault_strip(source: Estimates, selection: Selection, *, alone: bool) -> FaultStrip | None:
    """Faults that show in the rounded share; beside other apps the most frequent of them."""
    shares = fault_shares(source, selection)
    if not shares:
        return None
    present = [s for s in shares[1:] if s.value is not None and s.value >= _LEAST_SHARE]
    present.sort(key=lambda share: -(share.value or 0.0))
    return FaultStrip(shares=tuple(present if alone else present[:MAX_FAULTS]), faultless=shares[0])


def _whole(
    me: Visitor,
    source: Estimates,
    app: AppSummary,
    window: Window,
    history: Sequence[Alert],
    alerts: Sequence[Alert],
    *,
    alone: bool,
) -> dict[str, Any]:
    selection = Selection(project=me.principal.project, app=app.app, window=window)
    quality = app_quality(source, selection)
    shared = _shared_notes(quality.metrics)
    starts = me.services.traces.release_starts(me.principal.project, app.app, window.start)
    marks = release_marks(starts, window)
    fired = alert_marks(me, [one for one in history if one.app == app.app], window)
    charts = AppCharts(
        me=me, source=source, selection=selection, marks=(*marks, *fired), alone=alone
    )
    releases = turnover(starts, window)
    moved = changes.of_metrics(
        source,
        [estimate.series.metric for estimate in quality.metrics],
        selection.over(window.before()),
        selection,
    )
    routed = _routed(quality.hit_rates)
    faults = _fault_strip(source, selection, alone=alone)
    return {
        "app": app.app,
        "last_seen": app.last_seen,
        "quality": quality,
        "notes": shared,
        "pictures": charts.overall(),
        "tiles": [
            _tile(estimate, moved.get(estimate.series.metric), charts, releases, shared)
            for estimate in quality.metrics
        ],
        "unusual": any(change.verdict in {"better", "worse"} for change in moved.values()),
        "routed": routed,
        "hit_courses": _hit_courses(charts, routed) if alone else [],
        "faults": faults,
        "fault_courses": _fault_courses(charts, faults) if alone else [],
        "alerts": [alert for alert in alerts if alert.app == app.app],
        "rules": me.rule_report([app.app]),
        "marks": marks,
        "fired": fired,
        "bases": _bases(source, selection) if alone else [],
    }


def _fault_courses(charts: AppCharts, faults: FaultStrip | None) -> list[Picture]:
    """Of the most frequent faults."""
    shares = faults.shares[:MAX_COURSES] if faults is not None else ()
    pictures = (charts.metric(share.series) for share in shares)
    return [picture for picture in pictures if picture is not None]


def _hit_courses(charts: AppCharts, routed: Sequence[Routed]) -> list[Picture]:
    """Where it was expected if anybody said so, else of all traces."""
    pictures = (
        charts.hit_rate(one.kind, one.name, "all" if one.expected is None else "expected")
        for one in routed[:MAX_COURSES]
    )
    return [picture for picture in pictures if picture is not None]


def _bases(source: Estimates, selection: Selection) -> list[Base]:
    return [
        Base(
            name=name,
            traces=max(estimate.traces for estimate in estimates),
            estimates={estimate.series.metric: estimate for estimate in estimates},
        )
        for name, estimates in by_knowledge_base(source, selection).items()
        if estimates
    ]


def _shared_notes(metrics: Sequence[Estimate]) -> tuple[str, ...]:
    if not metrics:
        return ()
    common = set.intersection(*(set(metric.notes) for metric in metrics))
    return tuple(note for note in metrics[0].notes if note in common)


def turnover(starts: Sequence[ReleaseStart], window: Window) -> tuple[str, ...]:
    """The release before and the newest one, where both sent traces in the window; else nothing.

    The mean over a window with a bad release in it says little; before and after say it all.
    """
    there = sorted(
        (start for start in starts if start.last_seen >= window.start),
        key=lambda start: start.first_seen,
    )
    if len(there) < 2 or there[-1].first_seen < window.start:
        return ()
    return there[-2].release, there[-1].release


def _tile(
    estimate: Estimate,
    change: Changed | None,
    charts: AppCharts,
    releases: Sequence[str],
    shared: Sequence[str],
) -> Tile:
    series, window = estimate.series, charts.selection.window
    return Tile(
        estimate=estimate,
        picture=charts.metric(series),
        change=change,
        notes=tuple(note for note in estimate.notes if note not in shared),
        releases=_by_release(charts.source, series, window, releases),
    )


def _by_release(
    source: Estimates, series: Series, window: Window, releases: Sequence[str]
) -> tuple[Estimate, ...]:
    """The metric of each of the two releases, where one judge gave both a value."""
    if not releases:
        return ()
    old, new = (source.estimate(replace(series, release=release), window) for release in releases)
    if old.value is None or new.value is None:
        return ()
    pair = on_one_judge(source, old, new)
    return pair if alike(*pair) else ()


def _routed(rates: Sequence[HitRate]) -> list[Routed]:
    by_name: dict[tuple[HitKind, str], dict[str, Estimate]] = {}
    for rate in rates:
        by_name.setdefault((rate.kind, rate.name), {})[rate.basis] = rate.estimate
    return [
        Routed(kind=kind, name=name, every=counts.get("all"), expected=counts.get("expected"))
        for (kind, name), counts in by_name.items()
    ]
