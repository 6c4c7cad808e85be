"""The page of one alert, with an action that the address preselects: `?do=snooze-1h`.

Links in chat messages lead here. Opening one changes nothing: the page asks, and its button sends a
form with the token of the session.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.alerting.alert_actions import TOGETHER, AlertAction, snooze_end
from rag_monitor.domain.alert import Alert, Silence
from rag_monitor.domain.incident import Incident
from rag_monitor.errors import NotFound
from rag_monitor.i18n import msgid
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.ui import catalog
from rag_monitor.server.ui.alert_history import history_of
from rag_monitor.server.ui.alert_pages import MAX_INCIDENTS, opened, silence_of
from rag_monitor.server.ui.view import OPEN_STATES, Viewer, Visitor, page

router = APIRouter(include_in_schema=False)

NO_SUCH_ALERT: Final = msgid("There is no such alert: it is older than alerts are kept.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preselected:
    """The action that the address preselects."""

    action: AlertAction
    label: str
    until: datetime | None
    """When a snooze would end; None: it is none."""
    alerts: list[Alert]
    """Those that it would change; empty: there is nothing left to do."""
    together: bool


@router.get("/alerts/{alert_id}")
def alert_page(me: Viewer, alert_id: str) -> HTMLResponse:
    """One alert, open or over. Changes nothing, whatever the address asks for."""
    with me.services.reading():
        return _alert_page(me, alert_id)


def _alert_page(me: Visitor, alert_id: str) -> HTMLResponse:
    alert = alert_of(me, alert_id)
    if alert is None:
        raise ProblemError(404, NO_SUCH_ALERT, kind="not-found")
    incident = _incident_of(me, alert)
    wanted = me.request.query_params.get("do", "")
    preselected = _preselected(me, alert, wanted)
    return page(
        me,
        "alert.html",
        {
            "one": opened(me, alert, incident),
            "incident": incident,
            "history": history_of(me, alert),
            "is_open": alert.state in OPEN_STATES,
            "preselected": preselected,
            "refused": {"do": wanted} if wanted and preselected is None else {},
            "place": f"/alerts/{alert.id}",
        },
    )


def alert_of(me: Visitor, alert_id: str) -> Alert | None:
    """An alert of the visitor's project; None where there is none of that id."""
    try:
        return me.services.alerts.get(me.principal.project, alert_id[:64])
    except NotFound:
        return None


def _incident_of(me: Visitor, alert: Alert) -> Incident | None:
    """The one that goes on and holds the alert."""
    incidents = me.services.incidents.newest(
        alert.project, app=alert.app, unfinished=True, limit=MAX_INCIDENTS
    )
    return next((one for one in incidents if any(part.id == alert.id for part in one.alerts)), None)


def targets(me: Visitor, alert: Alert, *, together: bool) -> list[Alert]:
    """The alert; or, together, all open alerts of its incident, itself first."""
    incident = _incident_of(me, alert) if together else None
    if incident is None:
        return [alert]
    parts = {part.id for part in incident.alerts}
    others = [one for one in me.open_alerts(alert.app) if one.id in parts and one.id != alert.id]
    return [alert, *others]


def _covering(me: Visitor, alert: Alert) -> Silence | None:
    """The silence on the alert that ends last; None: there is none now."""
    now = me.services.clock.now()
    silences = [one for one in me.services.silences.all(alert.project) if one.ends_at > now]
    silences.sort(key=lambda one: one.ends_at, reverse=True)
    return silence_of(alert, silences, now)


def _preselected(me: Visitor, alert: Alert, wanted: str) -> Preselected | None:
    """None: the address asks for nothing, or for something that there is not."""
    try:
        action = AlertAction(wanted)
    except ValueError:
        return None
    together = me.request.query_params.get("with") == TOGETHER
    until = snooze_end(action, me.services.clock.now(), me.zone)
    return Preselected(
        action=action,
        label=catalog.ALERT_ACTIONS[action],
        until=until,
        alerts=[
            one for one in targets(me, alert, together=together) if is_left_to_do(me, one, until)
        ],
        together=together,
    )


def is_left_to_do(me: Visitor, alert: Alert, until: datetime | None) -> bool:
    """Whether an action would still change an open alert: pressed twice, once is enough.

    Args:
        me: Who acts.
        alert: The alert.
        until: When a snooze would end; None: it is to be acknowledged.
    """
    if alert.state not in OPEN_STATES:
        return False
    if until is None:
        return not alert.acknowledged_by
    silence = _covering(me, alert)
    return silence is None or silence.ends_at < until
