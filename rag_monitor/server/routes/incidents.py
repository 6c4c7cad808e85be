"""Incidents: alerts of one application that began together."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Reader, ServicesOf
from rag_monitor.server.problems import AskedLanguage
from rag_monitor.server.schemas.incidents import IncidentOut, IncidentsOut
from rag_monitor.server.schemas.values import Name, RowId
from rag_monitor.server.validation import OnceRoute, sentences, unknown_names

router = APIRouter(prefix="/api/v1", tags=[msgid("Alerts")], route_class=OnceRoute)


@router.get("/incidents")
def list_incidents(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    state: Literal["open", "ended"] | None = None,
    app: Annotated[Name | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> IncidentsOut:
    """Alerts of an app that began together: what broke, where, and what to do; newest first."""
    unfinished = None if state is None else state == "open"
    listed = services.incidents.newest(caller.project, app=app, unfinished=unfinished, limit=limit)
    unknown = []
    if app is not None and not listed:
        unknown = unknown_names(services, caller.project, app=app)
    return IncidentsOut(
        incidents=[IncidentOut.from_domain(incident, language) for incident in listed],
        hints=sentences(unknown, language),
    )


@router.get("/incidents/{incident_id}")
def get_incident(
    services: ServicesOf, caller: Reader, language: AskedLanguage, incident_id: RowId
) -> IncidentOut:
    """One incident."""
    return IncidentOut.from_domain(services.incidents.get(caller.project, incident_id), language)
