"""Two releases of an app side by side, or one app in two stretches of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Window
from rag_monitor.i18n import msgid
from rag_monitor.metrics.fault_words import STAGES
from rag_monitor.server.quality import LATENCIES, SHOWN_METRICS
from rag_monitor.server.ui import changes
from rag_monitor.server.ui.changes import Changed
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import Unknown
from rag_monitor.store.fault_stages import StageCounts

router = APIRouter(include_in_schema=False)

AGAINST: Final = {
    "before": msgid("right before"),
    "day": msgid("a day earlier"),
    "week": msgid("a week earlier"),
}
"""What a stretch of time is held against, and how it is called in English."""
_EARLIER: Final = {"day": timedelta(days=1), "week": timedelta(weeks=1)}


@router.get("/compare")
def compare_releases(me: Viewer) -> HTMLResponse:
    """What changed from one release or time to another, and whether that is beyond chance."""
    with me.services.reading():
        return _compare(me)


def _compare(me: Visitor) -> HTMLResponse:
    query, period = me.request.query_params, me.period()
    apps = [app.app for app in me.services.traces.apps(me.principal.project)]
    wanted = query.get("app")
    by_time = "against" in query
    app = wanted if wanted in apps else _first(me, apps, by_time=by_time)
    releases = list(me.services.traces.releases(me.principal.project, app)) if app in apps else []
    chosen = tuple(_among(query.get(name), releases, place) for place, name in enumerate("ab"))
    against = _against(query.get("against", ""), period.window)
    whole = Selection(project=me.principal.project, app=app, window=period.window)
    if by_time:
        sides = [whole, whole.over(earlier(period.window, against))]
    else:
        sides = [replace(whole, release=name) for name in chosen if name is not None]
    comparison = _Comparison(me, sides) if app and len(sides) == 2 else None
    rows, faults, hits = comparison.tables() if comparison else ([], [], [])
    stages = [_stage_counts(me, side) for side in sides] if comparison else []
    return page(
        me,
        "compare.html",
        {
            "apps": apps,
            # Its releases are not held against those there are: they may be of the app before.
            "hints": [Unknown.of("app", wanted, apps)] if wanted and app != wanted else [],
            "app": app,
            "releases": releases,
            "chosen": chosen,
            "by_time": by_time,
            "against": against,
            "refused": {
                **me.not_applied("app", "window", "from", "to"),
                **period.refused,
                **_unapplied(query.get("against", ""), against),
            },
            "choices": {
                name: label for name, label in AGAINST.items() if _fits(name, period.window)
            },
            "names": [side.release or me.between(side.window) for side in sides],
            "rows": rows,
            "faults": faults,
            "hits": hits,
            "stages": _stage_rows(stages),
            "stage_traces": [counts.traces for counts in stages],
            "latencies": comparison.latencies() if comparison else [],
            "ready": comparison is not None,
            "period": period,
        },
    )


def _stage_counts(me: Visitor, side: Selection) -> StageCounts:
    return me.services.traces.fault_stages(side.project, side.app, side.window, side.release)


def _stage_rows(sides: Sequence[StageCounts]) -> list[dict[str, Any]]:
    """Stages at fault on either side, with the share of each; empty: no fault is told of both."""
    if not sides or not all(counts.traces for counts in sides):
        return []
    return [
        {"label": label, "shares": [counts.share(stage) for counts in sides]}
        for stage, label in STAGES.items()
        if any(counts.by_stage.get(stage) for counts in sides)
    ]


def earlier(window: Window, against: str) -> Window:
    """The stretch of time that a window is held against; `against` is one of `AGAINST`."""
    return window.before(_EARLIER.get(against))


def _fits(against: str, window: Window) -> bool:
    """Whether the two do not overlap: their difference takes them for different traces."""
    return _EARLIER.get(against, window.length) >= window.length


def _against(wanted: str, window: Window) -> str:
    return wanted if wanted in AGAINST and _fits(wanted, window) else "before"


def _unapplied(wanted: str, against: str) -> dict[str, str]:
    return {"against": wanted} if wanted not in {"", against} else {}


def _first(me: Visitor, apps: Sequence[str], *, by_time: bool) -> str:
    """The first app with two releases where they are compared, else the first app."""
    for app in [] if by_time else apps[:20]:
        if len(me.services.traces.releases(me.principal.project, app)) > 1:
            return app
    return apps[0] if apps else ""


def _among(wanted: str | None, releases: Sequence[str], place: int) -> str | None:
    if wanted in releases:
        return wanted
    return releases[place] if len(releases) > place else None


class _Comparison:
    """The numbers of both sides of an app."""

    def __init__(self, me: Visitor, sides: Sequence[Selection]) -> None:
        self._source = me.services.estimates.once()
        self._a, self._b = sides

    def tables(self) -> tuple[list[Changed], list[Changed], list[Changed]]:
        """Metrics, faults and hit rates, which stand on one page: each is judged among all."""
        rows = self._rows()
        faults = changes.of_faults(self._source, self._a, self._b)
        hits = changes.of_hits(self._source, self._a, self._b)
        judged = changes.together([*rows, *faults, *hits])
        last = len(rows) + len(faults)
        return judged[: len(rows)], judged[len(rows) : last], judged[last:]

    def _rows(self) -> list[Changed]:
        """Metrics that either has, and the errors."""
        rows = [
            changes.of_metric(self._source, metric, self._a, self._b) for metric in SHOWN_METRICS
        ]
        if any(rows):
            rows.append(changes.of_errors(self._source, self._a, self._b))
        return [row for row in rows if row is not None]

    def latencies(self) -> list[dict[str, Any]]:
        """Timings that both have."""
        rows = []
        for metric in LATENCIES:
            a, b = (self._source.latency(side, metric) for side in (self._a, self._b))
            if a.count and b.count:
                rows.append({"metric": metric, "a": a, "b": b})
        return rows
