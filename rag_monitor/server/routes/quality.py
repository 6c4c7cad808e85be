"""Windows in numbers: the summary of every app, and one metric over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import Field

from rag_monitor.aggregation.comparison import on_one_judge
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.domain.fault import FAULT_METRICS, is_share_at_fault
from rag_monitor.domain.rollup import SATISFACTION_METRIC
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.domain.stored import AppSummary
from rag_monitor.domain.window import Series, Window
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Principal, Reader, ServicesOf
from rag_monitor.server.problems import AskedLanguage, ProblemError
from rag_monitor.server.quality import (
    MIN_COMPARED,
    AppPage,
    app_quality,
    by_knowledge_base,
    on_grid,
    page_of,
    read_together,
    step_for,
)
from rag_monitor.server.schemas.quality import (
    AppOut,
    AssemblingOut,
    EstimateOut,
    HitRateOut,
    JudgeShareOut,
    KnowledgeBaseOut,
    LatencyOut,
    ReleaseChange,
    ReleaseChanges,
    RoutingOut,
    SeriesOut,
    Summary,
)
from rag_monitor.server.schemas.values import (
    Given,
    Moment,
    Name,
    SeriesMetric,
    WindowText,
    counted_window,
    parse_length,
)
from rag_monitor.server.services import Services
from rag_monitor.server.validation import (
    METRIC_NAMES,
    OnceRoute,
    require_known,
    sentences,
    unknown_in_series,
    unknown_names,
)
from rag_monitor.spelling import nearest

router = APIRouter(prefix="/api/v1", tags=[msgid("Quality")], route_class=OnceRoute)

POINTS: Final = 60
MAX_POINTS: Final = 1500
MAX_APPS: Final = 200


class WindowQuery(Given):
    """Which window, and of which app."""

    app: Name | None = None
    release: Name | None = None
    window: WindowText | None = Field(default=None, description="Default 24h.")
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = None

    def selection(self, project: str, app: str, window: Window) -> Selection:
        """The traces of an app that every number of the answer is about."""
        return Selection(project=project, app=app, window=window, release=self.release)


class SummaryQuery(WindowQuery):
    """Which apps, page by page."""

    limit: int = Field(default=MAX_APPS, ge=1, le=MAX_APPS)
    cursor: Annotated[str, Field(max_length=1000)] | None = Field(
        default=None, description="`next` of the page before."
    )


@router.get("/summary")
def summary(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    where: Annotated[SummaryQuery, Query()],
) -> Summary:
    """Every app (or one) over a window: quality with intervals, latency, hits, open alerts.

    Of more than `limit` apps the busiest come first; `next` is the cursor of the others.
    """
    with services.reading():
        return _summary(services, caller, language, where)


def _summary(services: Services, caller: Principal, language: str, where: SummaryQuery) -> Summary:
    window = counted_window(services.clock.now(), where.window, where.from_, where.to)
    fired = services.alerts.load(caller.project)
    apps = []
    page = wanted_page(services, caller, where, window)
    seen = _last_seen(services, caller.project, page.shown, window, where.release)
    for summary, source in read_together(services.estimates, page.shown):
        selection = where.selection(caller.project, summary.app, window)
        quality, by_base = app_quality(source, selection), by_knowledge_base(source, selection)
        apps.append(
            AppOut(
                app=summary.app,
                last_seen=seen.get(summary.app),
                traces=dict(quality.traces),
                judges=[JudgeShareOut(**asdict(one)) for one in quality.judges],
                metrics=[EstimateOut.from_domain(e) for e in quality.metrics],
                sessions=[EstimateOut.from_domain(e) for e in quality.sessions],
                latency=[LatencyOut.from_domain(m, s) for m, s in quality.latency.items()],
                hit_rates=[
                    HitRateOut.from_domain(r.kind.value, r.name, r.basis, r.estimate)
                    for r in quality.hit_rates
                ],
                knowledge_bases=[
                    KnowledgeBaseOut(
                        name=name, metrics=[EstimateOut.from_domain(e) for e in estimates]
                    )
                    for name, estimates in by_base.items()
                ],
                routing=[RoutingOut.from_domain(r) for r in quality.routing],
                open_alerts=None
                if where.release is not None
                else sum(a.app == summary.app and a.fires_at(window.end) for a in fired),
            )
        )
    unknown = []
    if where.release is not None and not any(app.metrics for app in apps):
        unknown = unknown_names(services, caller.project, app=where.app, release=where.release)
    return Summary(
        start=window.start,
        end=window.end,
        assembling=AssemblingOut(**asdict(services.assembling(caller.project))),
        apps=apps,
        next=page.next,
        apps_folded=page.less_busy,
        hints=sentences(unknown, language),
    )


def wanted_page(
    services: Services, caller: Principal, where: SummaryQuery, window: Window
) -> AppPage:
    """The page of apps that a request asks for.

    Raises:
        ProblemError: 404: the app that it names has sent no traces; 422: the cursor is not ours.
    """
    wanted = [
        summary
        for summary in services.traces.apps(caller.project)
        if (summary.told_of(window) if where.app is None else summary.app == where.app)
    ]
    if where.app is not None and not wanted:
        raise _no_app(services, caller, where.app)
    try:
        return page_of(services.traces, caller.project, wanted, window, where.limit, where.cursor)
    except MalformedPayload as error:
        raise ProblemError(
            422, "`cursor`: is not one this server gave; start again without it."
        ) from error


def _last_seen(
    services: Services,
    project: str,
    apps: Sequence[AppSummary],
    window: Window,
    release: str | None,
) -> Mapping[str, datetime]:
    """When the newest trace began, by app: of the release, and of those before the window's end."""
    last_seen = {app.app: app.last_seen for app in apps}
    if release is None and all(last < window.end for last in last_seen.values()):
        return last_seen
    return services.traces.last_seen(project, list(last_seen), window.end, release)


def _no_app(services: Services, caller: Principal, name: str) -> ProblemError:
    near = nearest(name, (app.app for app in services.traces.apps(caller.project)))
    text = msgid("No app named {name!r} has sent traces.")
    if near:
        text = msgid("No app named {name!r} has sent traces. Did you mean {near!r}?")
    return ProblemError(404, text, name=name, near=near, kind="not-found")


class ReleasesQuery(Given):
    """Which two releases of which app, over which window."""

    app: Name
    release: Name = Field(examples=["v42"])
    against: Name = Field(examples=["v41"])
    window: WindowText | None = Field(default=None, description="Default 24h.")
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = None


@router.get("/releases/compare")
def compare_releases(
    services: ServicesOf, caller: Reader, where: Annotated[ReleasesQuery, Query()]
) -> ReleaseChanges:
    """What changed from one release to another, with the interval of the difference."""
    window = counted_window(services.clock.now(), where.window, where.from_, where.to)
    releases = services.traces.releases(caller.project, where.app)
    for field, name in (("release", where.release), ("against", where.against)):
        require_known(field, name, releases, "release")
    changes = []
    for metric in (*METRIC_NAMES, SATISFACTION_METRIC, *SESSION_METRICS, *FAULT_METRICS):
        first, second = (
            services.estimates.estimate(
                Series(
                    project=caller.project,
                    app=where.app,
                    metric=metric,
                    judge=COMBINED,
                    release=release,
                ),
                window,
                min_judged=MIN_COMPARED,
            )
            for release in (where.release, where.against)
        )
        has_values = first.value is not None or second.value is not None
        if has_values and not (is_share_at_fault(metric) and not (first.value or second.value)):
            pair = on_one_judge(services.estimates, first, second, min_judged=MIN_COMPARED)
            changes.append(ReleaseChange.from_domain(*pair))
    return ReleaseChanges(app=where.app, changes=changes)


class SeriesQuery(WindowQuery):
    """Which metric, how fine."""

    app: Name = Field(...)
    metric: SeriesMetric = Field(..., examples=["faithfulness"])
    step: WindowText | None = Field(
        default=None,
        description="Default: a round time, so that there are at most 60 points. Without `from` "
        "steps begin at multiples of it (UTC).",
    )
    judge: Annotated[str, Field(max_length=300)] | None = Field(
        default=None, description="Default: `combined`, the reported estimate."
    )
    knowledge_base: Name | None = Field(
        default=None, description="Only traces that this knowledge base gave passages to."
    )


@router.get("/series")
def series(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    where: Annotated[SeriesQuery, Query()],
) -> SeriesOut:
    """One metric over time, one estimate per step."""
    window = counted_window(services.clock.now(), where.window, where.from_, where.to)
    step = parse_length(where.step) if where.step else step_for(window, POINTS)
    if window.length / step > MAX_POINTS:
        raise ProblemError(
            422, "`step`: makes more than {most} points; take a longer step.", most=MAX_POINTS
        )
    judge = where.judge if where.judge is not None else COMBINED
    wanted = Series(
        project=caller.project,
        app=where.app,
        metric=where.metric,
        judge=judge,
        release=where.release,
        knowledge_base=where.knowledge_base,
    )
    if where.from_ is None:
        window = on_grid(window, step)
    points = services.estimates.series(wanted, window, step)
    # Rollups outlive traces: only an app that has neither is a slip of the pen.
    if not any(point.traces for point in points) and where.app not in {
        summary.app for summary in services.traces.apps(caller.project)
    }:
        raise _no_app(services, caller, where.app)
    has_scores = any(point.judged or point.failed or point.suspect for point in points)
    return SeriesOut(
        app=where.app,
        metric=where.metric,
        judge=judge,
        release=where.release,
        knowledge_base=where.knowledge_base,
        step_s=step.total_seconds(),
        points=[EstimateOut.from_domain(point) for point in points],
        hints=[]
        if has_scores
        else sentences(unknown_in_series(services, wanted, window), language),
    )
