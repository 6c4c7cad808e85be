"""The pages people read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends
from starlette.responses import HTMLResponse

from rag_monitor.domain.alert import Alert, AlertRule, AlertState, RuleKind, Severity
from rag_monitor.domain.stored import KeyScope, TraceQuery
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.errors import MalformedPayload
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.quality import COMBINED, SCORE_METRICS, AppQuality, app_quality
from rag_monitor.server.schemas.values import parse_length, window_of
from rag_monitor.server.ui import catalog, charts
from rag_monitor.server.ui.highlight import answer_pieces, passage_views, support_verdicts
from rag_monitor.server.ui.view import WINDOWS, Visitor, page, visitor_of

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Visitor, Depends(visitor_of)]
MAX_APPS_SHOWN: Final = 20
SPARK_POINTS: Final = 40
TRACES_PER_PAGE: Final = 50
_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")
_OPEN_STATES: Final = (AlertState.FIRING, AlertState.PENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One metric of one app."""

    estimate: Estimate
    spark: str
    level: str


def _window(me: Visitor) -> tuple[str, Window]:
    length = me.request.query_params.get("window", "24h")
    if length not in WINDOWS:
        length = "24h"
    return length, window_of(me.services.clock.now(), length, None, None)


@router.get("/")
def overview(me: Viewer) -> HTMLResponse:
    """Every app: quality with intervals, latency, hits, open alerts."""
    length, window = _window(me)
    known = me.services.traces.apps(me.principal.project)
    wanted = me.request.query_params.get("app")
    chosen = [app for app in known if wanted in {None, app.app}][:MAX_APPS_SHOWN]
    alerts = _open_alerts(me)
    apps = [
        {
            "app": app.app,
            "last_seen": app.last_seen,
            "quality": (quality := app_quality(me.services, me.principal.project, app.app, window)),
            "tiles": _tiles(me, quality, window),
            "alerts": [alert for alert in alerts if alert.app == app.app],
        }
        for app in chosen
    ]
    return page(
        me,
        "overview.html",
        {
            "apps": apps,
            "known": known,
            "wanted": wanted,
            "length": length,
            "alerts": alerts,
            "endpoint": _endpoint(me),
            "backlog": me.services.tasks.backlog(me.services.clock.now()),
        },
    )


def _endpoint(me: Visitor) -> str:
    return me.services.options.public_url or str(me.request.base_url).rstrip("/")


def _open_alerts(me: Visitor) -> list[Alert]:
    return sorted(
        (
            alert
            for state in _OPEN_STATES
            for alert in me.services.alerts.load(me.principal.project, state)
        ),
        key=lambda alert: (alert.state is not AlertState.FIRING, -alert.since.timestamp()),
    )


def _tiles(me: Visitor, quality: AppQuality, window: Window) -> list[Tile]:
    step = max(window.length / SPARK_POINTS, timedelta(minutes=1))
    return [
        Tile(
            estimate=estimate,
            spark=charts.sparkline(
                me.services.estimates.series(estimate.series, window, step),
                me.translate("{metric} over time", metric=me.translate(catalog.metric_label(name))),
            ),
            level=catalog.level(name, estimate.value),
        )
        for estimate in quality.metrics
        if (name := estimate.series.metric)
    ]


@router.get("/traces")
def traces(me: Viewer) -> HTMLResponse:
    """Traces, with filters."""
    form = {
        name: me.request.query_params.get(name, "").strip()[:500]
        for name in ("app", "release", "metric", "below", "status", "q", "since", "cursor")
    }
    if _TRACE_ID.fullmatch(form["q"]):
        form["q"] = form["q"].lower()
    try:
        found = me.services.traces.search(_query(me, form))
    except MalformedPayload:
        found = me.services.traces.search(_query(me, form | {"cursor": ""}))
    values = {key: value for key, value in form.items() if key != "cursor"}
    return page(
        me,
        "traces.html",
        {
            "form": form,
            "found": found,
            "apps": me.services.traces.apps(me.principal.project),
            "metrics": SCORE_METRICS,
            "statuses": list(TraceStatus),
            "next": me.link("/traces", **values, cursor=found.next_cursor),
            "filtered": any(values.values()),
        },
    )


def _query(me: Visitor, form: dict[str, str]) -> TraceQuery:
    metric = form["metric"] if form["metric"] in SCORE_METRICS else None
    since: datetime | None = None
    if form["since"] in WINDOWS:
        since = me.services.clock.now() - parse_length(form["since"])
    return TraceQuery(
        project=me.principal.project,
        app=form["app"] or None,
        release=form["release"] or None,
        since=since,
        metric=metric,
        below=_ratio(form["below"]) if metric else None,
        status=TraceStatus(form["status"]) if form["status"] in set(TraceStatus) else None,
        q=form["q"] or None,
        cursor=form["cursor"] or None,
        limit=TRACES_PER_PAGE,
    )


def _ratio(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


@router.get("/traces/{trace_id}")
def trace(me: Viewer, trace_id: str) -> HTMLResponse:
    """One trace: what was asked, found and answered, and what the judge said of it."""
    if not _TRACE_ID.fullmatch(trace_id):
        raise ProblemError(404, "There is no such trace.", kind="not-found")
    stored = me.services.traces.get(me.principal.project, trace_id.lower())
    it = stored.trace
    contexts = it.contexts or ()
    support = support_verdicts(stored.scores)
    return page(
        me,
        "trace.html",
        {
            "stored": stored,
            "trace": it,
            "pieces": answer_pieces(it.answer or "", support),
            "judged": bool(support),
            "passages": list(
                zip(contexts, passage_views(stored.scores, len(contexts)), strict=True)
            ),
            "timeline": charts.timeline(
                charts.phases_of(it, me.translate),
                it.timings.first_byte_ms,
                me.translate("First byte"),
                me.translate("Where the time went"),
            ),
            "thanks": "thanks" in me.request.query_params,
        },
    )


@router.get("/alerts")
def alerts(me: Viewer) -> HTMLResponse:
    """Open alerts, silences, and what is over."""
    every = me.services.alerts.load(me.principal.project)
    over = [a for a in every if a.state not in _OPEN_STATES]
    now = me.services.clock.now()
    return page(
        me,
        "alerts.html",
        {
            "open": _open_alerts(me),
            "over": sorted(over, key=lambda a: a.since, reverse=True)[:100],
            "silences": [
                s for s in me.services.silences.all(me.principal.project) if s.ends_at > now
            ],
            "rules": me.services.rules.all(me.principal.project),
        },
    )


@router.get("/judges")
def judges(me: Viewer) -> HTMLResponse:
    """Who judges, how well it agrees with people, and how often it fails."""
    length, window = _window(me)
    known = me.services.traces.apps(me.principal.project)[:MAX_APPS_SHOWN]
    rows = [
        {
            "judge": judge,
            "apps": [
                (app.app, estimate)
                for app in known
                if (
                    estimate := me.services.estimates.estimate(
                        Series(
                            project=me.principal.project,
                            app=app.app,
                            metric="faithfulness",
                            judge=judge.name,
                        ),
                        window,
                    )
                ).judged
                or estimate.failed
            ],
        }
        for judge in me.services.judges()
    ]
    backlog = me.services.tasks.backlog(me.services.clock.now())
    return page(me, "judges.html", {"rows": rows, "length": length, "backlog": backlog})


@router.get("/compare")
def compare(me: Viewer) -> HTMLResponse:
    """Two releases of an app side by side."""
    length, window = _window(me)
    apps = [app.app for app in me.services.traces.apps(me.principal.project)]
    app = me.request.query_params.get("app", apps[0] if apps else "")
    releases = list(me.services.traces.releases(me.principal.project, app)) if app in apps else []
    chosen = [
        _among(me.request.query_params.get(name), releases, place)
        for place, name in enumerate(("a", "b"))
    ]
    rows: list[dict[str, Any]] = []
    if all(chosen):
        for metric in SCORE_METRICS:
            left, right = (_release_estimate(me, app, metric, r, window) for r in chosen)
            if left.value is not None or right.value is not None:
                rows.append(
                    {"metric": metric, "a": left, "b": right, "verdict": _apart(left, right)}
                )
    return page(
        me,
        "compare.html",
        {
            "apps": apps,
            "app": app,
            "releases": releases,
            "chosen": chosen,
            "rows": rows,
            "length": length,
        },
    )


def _among(wanted: str | None, releases: list[str], place: int) -> str | None:
    if wanted in releases:
        return wanted
    return releases[place] if len(releases) > place else None


def _release_estimate(
    me: Visitor, app: str, metric: str, release: str | None, window: Window
) -> Estimate:
    series = Series(
        project=me.principal.project, app=app, metric=metric, judge=COMBINED, release=release
    )
    return me.services.estimates.estimate(series, window)


def _apart(a: Estimate, b: Estimate) -> str:
    """Whether the intervals lie apart: `better`, `worse` (a against b), else `same`."""
    if a.lower is None or a.upper is None or b.lower is None or b.upper is None:
        return "unknown"
    if a.lower > b.upper:
        return "better"
    return "worse" if a.upper < b.lower else "same"


@router.get("/settings")
def settings(me: Viewer) -> HTMLResponse:
    """Rules and keys."""
    return settings_page(me)


def settings_page(
    me: Visitor,
    *,
    problem: str | None = None,
    secret: str | None = None,
    form: Mapping[str, str] | None = None,
    status: int = 200,
) -> HTMLResponse:
    """The settings, with what was wrong with a form, or a new key that is shown this once."""
    rules = me.services.rules.all(me.principal.project)
    edited = me.request.query_params.get("rule")
    rule = next((r for r in rules if r.name == edited), None)
    keys = (
        me.services.keys.list(me.principal.project) if me.principal.allows(KeyScope.ADMIN) else []
    )
    return page(
        me,
        "settings.html",
        {
            "rules": rules,
            "rule": rule,
            "given": form if form is not None else _rule_form(rule),
            "kinds": list(RuleKind),
            "severities": list(Severity),
            "scopes": list(KeyScope),
            "keys": sorted(keys, key=lambda key: key.created_at, reverse=True),
            "problem": problem,
            "secret": secret,
            "options": me.services.options,
        },
        status,
    )


def _rule_form(rule: AlertRule | None) -> dict[str, str]:
    """The fields of the rule form: of the rule, or of a new one."""
    shown = rule or AlertRule(name="", kind=RuleKind.DROP, metric="faithfulness")
    return {
        "name": shown.name,
        "kind": shown.kind.value,
        "app": shown.app,
        "metric": shown.metric or "",
        "window_s": f"{shown.window_s:g}",
        "hold_for_s": f"{shown.hold_for_s:g}",
        "min_judged": str(shown.min_judged),
        "severity": shown.severity.value,
        "params": "\n".join(f"{key} = {value}" for key, value in shown.params.items()),
        "notifiers": ", ".join(shown.notifiers),
        "enabled": "on" if shown.enabled else "",
        "shipped": "true" if shown.shipped else "",
    }
