"""Two releases of an app side by side."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.aggregation.comparison import Difference, compare, on_one_judge
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.domain.window import Series, Window
from rag_monitor.server.hints import Unknown
from rag_monitor.server.quality import LATENCIES, SHOWN_METRICS
from rag_monitor.server.ui.view import Viewer, Visitor, page

router = APIRouter(include_in_schema=False)

MIN_JUDGED: Final = 20
"""Fewer scored traces than this on either side bear no comparison."""
_SMALLER_IS_BETTER: Final = frozenset({REFUSAL_METRIC})


@router.get("/compare")
def compare_releases(me: Viewer) -> HTMLResponse:
    """What changed from one release to another, and whether that is beyond chance."""
    with me.services.reading():
        return _compare(me)


def _compare(me: Visitor) -> HTMLResponse:
    period = me.period()
    window = period.window
    apps = [app.app for app in me.services.traces.apps(me.principal.project)]
    wanted = me.request.query_params.get("app")
    app = wanted if wanted in apps else _first_comparable(me, apps)
    releases = list(me.services.traces.releases(me.principal.project, app)) if app in apps else []
    new, old = (
        _among(me.request.query_params.get(name), releases, place)
        for place, name in enumerate(("a", "b"))
    )
    ready = new is not None and old is not None
    return page(
        me,
        "compare.html",
        {
            "apps": apps,
            # Its releases are not held against those there are: they may be of the app before.
            "hints": [Unknown.of("app", wanted, apps)] if wanted and app != wanted else [],
            "app": app,
            "releases": releases,
            "chosen": (new, old),
            "rows": _rows(me, app, (new, old), window) if new and old else [],
            "latencies": _latencies(me, app, (new, old), window) if new and old else [],
            "ready": ready,
            "period": period,
        },
    )


def _first_comparable(me: Visitor, apps: list[str]) -> str:
    """The first app with two releases, else the first app."""
    for app in apps[:20]:
        if len(me.services.traces.releases(me.principal.project, app)) > 1:
            return app
    return apps[0] if apps else ""


def _among(wanted: str | None, releases: list[str], place: int) -> str | None:
    if wanted in releases:
        return wanted
    return releases[place] if len(releases) > place else None


def _rows(me: Visitor, app: str, releases: tuple[str, str], window: Window) -> list[dict[str, Any]]:
    source, project = me.services.estimates.once(), me.principal.project
    rows = []
    for metric in SHOWN_METRICS:
        new, old = (
            source.estimate(
                Series(project=project, app=app, metric=metric, judge=COMBINED, release=release),
                window,
                min_judged=MIN_JUDGED,
            )
            for release in releases
        )
        if new.value is not None or old.value is not None:
            new, old = on_one_judge(source, new, old, min_judged=MIN_JUDGED)
            change = compare(new, old)
            verdict = _verdict(metric, change)
            rows.append(
                {"metric": metric, "a": new, "b": old, "change": change, "verdict": verdict}
            )
    return rows


def _verdict(metric: str, change: Difference) -> str:
    """`better`, `worse`, `same`, or why the two bear no comparison: `judges` or `unknown`."""
    if "different_judges" in change.notes:
        return "judges"
    if change.value is None or change.lower is None:
        return "unknown"
    if not change.beyond_chance:
        return "same"
    return "better" if (change.value > 0) != (metric in _SMALLER_IS_BETTER) else "worse"


def _latencies(
    me: Visitor, app: str, releases: tuple[str, str], window: Window
) -> list[dict[str, Any]]:
    source = me.services.estimates.once()
    rows = []
    for metric in LATENCIES:
        new, old = (
            source.latency(me.principal.project, app, metric, window, release)
            for release in releases
        )
        if new.count and old.count:
            rows.append({"metric": metric, "a": new, "b": old})
    return rows
