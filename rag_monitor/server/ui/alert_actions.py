"""What the forms of alerts do: acknowledge, snooze and silence them, and end silences."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import Response

from rag_monitor.alerting.alert_actions import TOGETHER, AlertAction, snooze_end
from rag_monitor.domain.alert import Alert, Silence
from rag_monitor.domain.stored import KeyScope
from rag_monitor.server import audit
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.ui.alert_page import NO_SUCH_ALERT, alert_of, covering, targets
from rag_monitor.server.ui.alert_pages import SILENCE_HOURS
from rag_monitor.server.ui.display import way_back
from rag_monitor.server.ui.sent_form import Form, Sent, back
from rag_monitor.server.ui.view import OPEN_STATES

router = APIRouter(include_in_schema=False)


@router.post("/ui/alerts/act")
def act(sent: Form) -> Response:
    """Acknowledge an alert or snooze it, or all open alerts of its incident."""
    sent.need(KeyScope.WRITE)
    try:
        action = AlertAction(sent.get("do"))
    except ValueError:
        raise ProblemError(422, "Choose what to do about the alert.") from None
    alert = alert_of(sent.me, sent.get("id")[:64])
    if alert is None:
        raise ProblemError(404, NO_SUCH_ALERT, kind="not-found")
    chosen = [
        one
        for one in targets(sent.me, alert, together=sent.get("with") == TOGETHER)
        if one.state in OPEN_STATES
    ]
    _do(sent, action, chosen)
    return back(way_back(sent.get("back")[:2000] or f"/alerts/{quote(alert.id)}"))


def _do(sent: Sent, action: AlertAction, alerts: Sequence[Alert]) -> None:
    ends_at = snooze_end(action, sent.me.services.clock.now(), sent.me.zone)
    for alert in alerts:
        # Pressed twice, or by two people, once is enough.
        if ends_at is None:
            if not alert.acknowledged_by:
                _acknowledge(sent, alert.id)
        elif (silence := covering(sent.me, alert)) is None or silence.ends_at < ends_at:
            now = sent.me.services.clock.now()
            made = Silence(
                id=secrets.token_hex(8),
                project=alert.project,
                rule=alert.rule,
                app=alert.app,
                starts_at=now,
                ends_at=ends_at,
                created_by=sent.me.principal.name,
            )
            _add_silence(sent, made, ends_at=ends_at.isoformat())


def _acknowledge(sent: Sent, id: str) -> None:
    by = sent.get("by")[:200] or sent.me.principal.name
    alerts, project = sent.me.services.alerts, sent.me.principal.project
    sent.change(lambda: alerts.acknowledge(project, id, by), "alert.acknowledge", id, by=by)


def _add_silence(sent: Sent, made: Silence, **details: audit.Detail) -> None:
    details = {"rule": made.rule, "app": made.app, **details}
    sent.change(lambda: sent.me.services.silences.add(made), "silence.create", made.id, **details)


@router.post("/ui/alerts/acknowledge")
def acknowledge(sent: Form) -> Response:
    """Say that somebody has seen an alert."""
    sent.need(KeyScope.WRITE)
    id = sent.get("id")[:64]
    _acknowledge(sent, id)
    return back(f"/alerts#alert-{quote(id)}")


@router.post("/ui/silences")
def silence(sent: Form) -> Response:
    """Mute a rule, an app, or one on the other."""
    sent.need(KeyScope.WRITE)
    if sent.get("hours") not in SILENCE_HOURS:
        raise ProblemError(422, "Choose for how long.")
    hours = int(sent.get("hours"))
    now = sent.me.services.clock.now()
    made = Silence(
        id=secrets.token_hex(8),
        project=sent.me.principal.project,
        rule=sent.get("rule")[:200] or "*",
        app=sent.get("app")[:200] or "*",
        starts_at=now,
        ends_at=now + timedelta(hours=hours),
        comment=sent.get("comment")[:4000],
        created_by=sent.me.principal.name,
    )
    _add_silence(sent, made, hours=hours)
    return back("/alerts#silences")


@router.post("/ui/silences/delete")
def end_silence(sent: Form) -> Response:
    """End a silence."""
    sent.need(KeyScope.WRITE)
    id, silences, project = (
        sent.get("id")[:64],
        sent.me.services.silences,
        sent.me.principal.project,
    )
    sent.change(lambda: silences.delete(project, id), "silence.delete", id)
    return back("/alerts#silences")
