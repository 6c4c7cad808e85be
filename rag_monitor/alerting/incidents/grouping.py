"""Which alerts are one incident. Pure functions of what fires and what fired."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from rag_monitor.domain.alert import Alert, AlertState
from rag_monitor.domain.incident import Incident, IncidentAlert


def grouped(
    alerts: Sequence[Alert], unfinished: Sequence[Incident], now: datetime, together: timedelta
) -> list[Incident]:
    """The incidents after a look at the alerts; those that are over now have ended.

    A firing alert joins an unfinished incident of its application when it became active within
    `together` of an alert of it; else it begins one. Alerts that share a cause need different times
    to see it: a latency rule minutes, a rule on an hour of scores most of that hour.

    Args:
        alerts: All that are pending, firing or resolved.
        unfinished: Incidents so far.
        now: When it was looked.
        together: Longest time between the begins of two alerts that began together.
    """
    by_id = {alert.id: alert for alert in alerts}
    incidents = [_refreshed(incident, by_id, now) for incident in unfinished]
    members = {alert.id for incident in incidents for alert in incident.alerts}
    for alert in sorted(alerts, key=lambda item: (item.started_at, item.id)):
        if alert.state is AlertState.FIRING and alert.id not in members:
            _place(alert, incidents, together)
    return incidents


def in_order(incident: Incident) -> Incident:
    """The incident with its alerts in the order in which they broke."""
    alerts = sorted(incident.alerts, key=lambda item: (item.began_at, item.started_at, item.id))
    return replace(incident, alerts=tuple(alerts), began_at=alerts[0].began_at)


def _refreshed(incident: Incident, by_id: dict[str, Alert], now: datetime) -> Incident:
    alerts = []
    for part in incident.alerts:
        alert = by_id.get(part.id)
        over_at = now if alert is None else alert.resolved_at  # inactive ones are not looked at
        alerts.append(replace(part, resolved_at=part.resolved_at or over_at))
    ends = [part.resolved_at for part in alerts if part.resolved_at is not None]
    ended_at = max(ends) if len(ends) == len(alerts) else None
    return replace(incident, alerts=tuple(alerts), ended_at=ended_at)


def _place(alert: Alert, incidents: list[Incident], together: timedelta) -> None:
    part = IncidentAlert(
        id=alert.id,
        rule=alert.rule,
        kind="" if alert.kind is None else alert.kind.value,
        runbook_url=alert.runbook_url,
        started_at=alert.started_at,
        fired_at=alert.fired_at or alert.started_at,
        broke_at=alert.cause.onset_at,
    )
    for position, incident in enumerate(incidents):
        same = (incident.project, incident.app) == (alert.project, alert.app)
        if same and incident.ended_at is None and _began_together(part, incident, together):
            joined = replace(incident, alerts=(*incident.alerts, part))
            incidents[position] = in_order(joined)
            return
    incidents.append(
        Incident(
            id=_incident_id(alert),
            project=alert.project,
            app=alert.app,
            began_at=part.began_at,
            alerts=(part,),
        )
    )


def _began_together(part: IncidentAlert, incident: Incident, together: timedelta) -> bool:
    return any(abs(part.started_at - other.started_at) <= together for other in incident.alerts)


def _incident_id(alert: Alert) -> str:
    """20 hex digits, the same wherever they are computed."""
    key = "\0".join(("incident", alert.project, alert.id))
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:20]
