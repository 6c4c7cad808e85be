"""Two releases of an app side by side, or one app in two stretches of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.charts.numbers import quantile_name
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.session_outcome import (
    RESOLVED_RATE,
    SESSION_FAITHFULNESS,
    SESSION_FAITHFULNESS_MEAN,
    SESSION_METRICS,
)
from rag_monitor.domain.window import Window
from rag_monitor.i18n import msgid
from rag_monitor.metrics.fault_words import STAGES
from rag_monitor.server.csv_text import csv_text
from rag_monitor.server.quality import LATENCIES, SHOWN_METRICS
from rag_monitor.server.ui import changes
from rag_monitor.server.ui.behind import behind
from rag_monitor.server.ui.changes import Changed
from rag_monitor.server.ui.period import Period
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
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_QUANTILES: Final = (0.5, 0.9, 0.99)
_SESSIONS_BEHIND: Final = {
    RESOLVED_RATE: {"resolved": "false"},
    SESSION_FAITHFULNESS: {"metric": "faithfulness", "sort": "score", "order": "asc"},
    SESSION_FAITHFULNESS_MEAN: {"metric": "faithfulness", "sort": "score", "order": "asc"},
}
"""Which sessions are behind a metric of sessions, where a filter of their list finds them."""
_COLUMNS: Final = (
    "metric",
    "name",
    *(f"{side}_{field}" for side in "ab" for field in ("value", "lower", "upper", "judged")),
    "b_minus_a",
    "lower",
    "upper",
    "verdict",
)
_EARLIER: Final = {"day": timedelta(days=1), "week": timedelta(weeks=1)}


@router.get("/compare")
def compare_releases(me: Viewer) -> HTMLResponse:
    """What changed from one release or time to another, and whether that is beyond chance."""
    with me.services.reading():
        return _compare(me, _Choice.read(me))


@router.get("/compare.csv")
def compared_as_csv(me: Viewer) -> Response:
    """The tables of the page for spreadsheets."""
    with me.services.reading():
        choice = _Choice.read(me)
        tables = choice.tables(me)
    rows = [_csv_row(row) for row in tables.every] if tables else []
    # The mark tells spreadsheets that the text is UTF-8.
    return Response(
        "\ufeff" + csv_text(_COLUMNS, rows),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="compare.csv"'},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """What is compared: A, the older, and B, the newer."""

    apps: Sequence[str]
    app: str
    releases: Sequence[str]
    by_time: bool
    against: str
    chosen: tuple[str | None, str | None]
    """Releases A and B."""
    period: Period
    sides: Sequence[Selection]
    """A and B; fewer where there are no two releases."""

    @classmethod
    def read(cls, me: Visitor) -> _Choice:
        """From the address of the page."""
        query, period = me.request.query_params, me.period()
        apps = [app.app for app in me.services.traces.apps(me.principal.project)]
        wanted = query.get("app")
        by_time = "against" in query
        app = wanted if wanted in apps else _first(me, apps, by_time=by_time)
        against = _against(query.get("against", ""), period.window)
        whole = Selection(project=me.principal.project, app=app, window=period.window)
        releases: list[str] = []
        if app in apps:
            releases = list(me.services.traces.releases(me.principal.project, app))
        chosen = _two_of(me, app, releases)
        if by_time:
            sides = [whole.over(earlier(period.window, against)), whole]
        else:
            sides = [replace(whole, release=name) for name in chosen if name is not None]
        return cls(
            apps=apps,
            app=app,
            releases=releases,
            by_time=by_time,
            against=against,
            chosen=chosen,
            period=period,
            sides=sides,
        )

    @property
    def ready(self) -> bool:
        """Whether there are two sides of an app."""
        return bool(self.app) and len(self.sides) == 2

    @property
    def named(self) -> dict[str, str]:
        """The parameters that name both sides, whatever the period."""
        a, b = self.chosen
        two = {"against": self.against} if self.by_time else {"a": a or "", "b": b or ""}
        return {"app": self.app, **two}

    def tables(self, me: Visitor) -> _Tables | None:
        """The numbers of both sides; None: there are no two."""
        return _Tables.of(me.services.estimates.once(), *self.sides) if self.ready else None


def _compare(me: Visitor, choice: _Choice) -> HTMLResponse:
    query, period, app = me.request.query_params, choice.period, choice.app
    wanted, against = query.get("app"), choice.against
    tables = choice.tables(me)
    stages = [_stage_counts(me, side) for side in choice.sides] if choice.ready else []
    return page(
        me,
        "compare.html",
        {
            "choice": choice,
            # Its releases are not held against those there are: they may be of the app before.
            "hints": [Unknown.of("app", wanted, choice.apps)] if wanted and app != wanted else [],
            "refused": {
                **me.not_applied("app", "window", "from", "to"),
                **period.refused,
                **_unapplied(query.get("against", ""), against),
            },
            "choices": {
                name: label for name, label in AGAINST.items() if _fits(name, period.window)
            },
            "names": [side.release or me.between(side.window) for side in choice.sides],
            "tables": tables,
            "worst": lambda row: me.link(_list_of(row), **_worst(choice, row)),
            "stages": _stage_rows(stages),
            "stage_traces": [counts.traces for counts in stages],
            "csv": me.link("/compare.csv", **choice.named, **choice.period.query),
        },
    )


def _list_of(row: Changed) -> str:
    return "/sessions" if row.metric in SESSION_METRICS else "/traces"


def _worst(choice: _Choice, row: Changed) -> dict[str, str]:
    """Filters of the list that shows what of B is behind a number, the worst first."""
    where = {"app": choice.app, "release": choice.sides[1].release or "", **choice.period.of_list}
    if row.metric in SESSION_METRICS:
        return where | _SESSIONS_BEHIND.get(row.metric, {})
    if row.metric in LATENCIES:
        return {**where, "sort": "latency"}
    if isinstance(row.metric, HitKind):
        return {**where, row.metric.value: row.name}
    if fault := FAULT_METRICS.get(row.metric):
        return {**where, "fault": fault.value}
    return where | behind(row.metric)


def _csv_row(row: Changed) -> dict[str, object]:
    """A line of the table; numbers as they are, latencies in milliseconds."""
    quantile = "" if row.quantile is None else f" {quantile_name(row.quantile)}"
    sides = {
        f"{side}_{field}": getattr(estimate, field)
        for side, estimate in (("a", row.before), ("b", row.after))
        for field in ("value", "lower", "upper", "judged")
    }
    return {
        "metric": f"{row.metric}{quantile}",
        "name": row.name,
        **sides,
        "b_minus_a": row.change.value,
        "lower": row.change.lower,
        "upper": row.change.upper,
        "verdict": row.verdict,
    }


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


def _two_of(me: Visitor, app: str, releases: Sequence[str]) -> tuple[str | None, str | None]:
    """Releases A and B: those that were asked for, else the two seen last, the older first."""
    starts = me.services.traces.release_starts(me.principal.project, app) if releases else []
    first_seen = {start.release: start.first_seen for start in starts}
    last = sorted(releases[:2], key=lambda name: first_seen.get(name, _LONG_AGO))
    a, b = (_among(me.request.query_params.get(name), releases) for name in "ab")
    if a is None and b is None:
        return (last[0], last[1]) if len(last) == 2 else (next(iter(last), None), None)
    a = a or next((name for name in last if name != b), None)
    return a, b or next((name for name in reversed(last) if name != a), None)


def _among(wanted: str | None, releases: Sequence[str]) -> str | None:
    return wanted if wanted in releases else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """The numbers of both sides of an app; they stand on one page: each is judged among all."""

    metrics: Sequence[Changed]
    faults: Sequence[Changed]
    hits: Sequence[Changed]
    latencies: Sequence[Changed]
    sessions: Sequence[Changed]

    @classmethod
    def of(cls, source: Estimates, a: Selection, b: Selection) -> _Tables:
        metrics = [changes.of_metric(source, metric, a, b) for metric in SHOWN_METRICS]
        metrics.append(changes.of_errors(source, a, b))
        parts = (
            [row for row in metrics if row is not None],
            changes.of_faults(source, a, b),
            changes.of_hits(source, a, b),
            changes.of_latencies(source, LATENCIES, _QUANTILES, a, b),
            changes.of_sessions(source, a, b),
        )
        names = ("metrics", "faults", "hits", "latencies", "sessions")
        judged = iter(changes.together([row for part in parts for row in part]))
        return cls(
            **{
                name: list(islice(judged, len(part)))
                for name, part in zip(names, parts, strict=True)
            }
        )

    @property
    def every(self) -> list[Changed]:
        """Row by row, as on the page."""
        return [*self.metrics, *self.faults, *self.sessions, *self.latencies, *self.hits]
