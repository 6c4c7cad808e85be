"""Alerts: what fires, what is silenced, what was; and what a rule would find."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.alerting.replay import Replay
from rag_monitor.domain.alert import Alert, AlertRule, Silence
from rag_monitor.server.ui.view import OPEN_STATES, Viewer, Visitor, page

router = APIRouter(include_in_schema=False)

MAX_HISTORY: Final = 100
TRIAL_DAYS: Final = ("0", "1", "7", "30")


@router.get("/alerts")
def alerts(me: Viewer) -> HTMLResponse:
    """Open alerts, silences, rules, and what is over."""
    app = me.request.query_params.get("app", "")
    now = me.services.clock.now()
    project = me.principal.project
    silences = [silence for silence in me.services.silences.all(project) if silence.ends_at > now]
    over = [
        alert
        for alert in me.services.alerts.load(project)
        if alert.state not in OPEN_STATES and app in {"", alert.app}
    ]
    return page(
        me,
        "alerts.html",
        {
            "app": app,
            "open": [(alert, _silence_of(alert, silences)) for alert in me.open_alerts(app)],
            "over": sorted(over, key=lambda alert: alert.since, reverse=True)[:MAX_HISTORY],
            "silences": silences,
            "rules": me.services.rules.all(project),
            "tries": me.services.try_rule is not None,
        },
    )


def _silence_of(alert: Alert, silences: list[Silence]) -> Silence | None:
    for silence in silences:
        if silence.rule in {"*", alert.rule} and silence.app in {"*", alert.app}:
            return silence
    return None


def trial_page(me: Visitor, rule: AlertRule, days: int) -> HTMLResponse:
    """What a rule finds now and would have done over the last `days`. Changes nothing."""
    services = me.services
    findings = services.try_rule(rule) if services.try_rule is not None else {}
    replayed: Replay | None = None
    if days and services.replay_rule is not None:
        now = services.clock.now()
        replayed = services.replay_rule(rule, now - timedelta(days=days), now)
    return page(
        me,
        "trial.html",
        {
            "rule": rule,
            "findings": findings,
            "replayed": replayed,
            "days": str(days),
            "choices": TRIAL_DAYS if services.replay_rule is not None else TRIAL_DAYS[:1],
        },
    )
