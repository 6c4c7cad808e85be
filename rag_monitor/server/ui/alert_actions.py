"""What the forms of alerts do: acknowledge, snooze and silence them, and end silences."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import Response

from rag_monitor.alerting.alert_actions import TOGETHER, AlertAction, snooze_end
from rag_monitor.domain.alert import Silence
from rag_monitor.domain.stored import KeyScope
from rag_monitor.server import audit
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.ui.alert_page import NO_SUCH_ALERT, alert_of, is_left_to_do, targets
from rag_monitor.server.ui.alert_pages import SILENCE_HOURS
from rag_monitor.server.ui.display import way_back
from rag_monitor.server.ui.sent_form import Form, Sent, back

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
    now = sent.me.services.clock.now()
    ends_at = snooze_end(action, now, sent.me.zone)
    for one in targets(sent.me, alert, together=sent.get("with") == TOGETHER):
        if not is_left_to_do(sent.me, one, ends_at):
            continue
        if ends_at is None:
            _acknowledge(sent, one.id)
        else:
            made = _silence(sent, one.rule, one.app, now, ends_at)
            _add_silence(sent, made, ends_at=ends_at.isoformat())
    return back(way_back(sent.get("back")[:2000] or f"/alerts/{quote(alert.id)}"))


def _acknowledge(sent: Sent, id: str) -> None:
    by = sent.get("by")[:200] or sent.me.principal.name
    alerts, project = sent.me.services.alerts, sent.me.principal.project
    sent.change(lambda: alerts.acknowledge(project, id, by), "alert.acknowledge", id, by=by)


def _silence(sent: Sent, rule: str, app: str, now: datetime, ends_at: datetime) -> Silence:
    """A silence from now on, of whoever sent the form."""
    return Silence(
        id=secrets.token_hex(8),
        project=sent.me.principal.project,
        rule=rule,
        app=app,
        starts_at=now,
        ends_at=ends_at,
        comment=sent.get("comment")[:4000],
        created_by=sent.me.principal.name,
    )


def _add_silence(sent: Sent, made: Silence, **details: audit.Detail) -> None:
    details = {"rule": made.rule, "app": made.app, **details}
    sent.change(lambda: sent.me.services.silences.add(made), "silence.create", made.id, **details)


@router.post("/ui/silences")
def silence(sent: Form) -> Response:
    """Mute a rule, an app, or one on the other."""
    sent.need(KeyScope.WRITE)
    if sent.get("hours") not in SILENCE_HOURS:
        raise ProblemError(422, "Choose for how long.")
    hours = int(sent.get("hours"))
    now = sent.me.services.clock.now()
    rule, app = sent.get("rule")[:200] or "*", sent.get("app")[:200] or "*"
    made = _silence(sent, rule, app, now, now + timedelta(hours=hours))
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
