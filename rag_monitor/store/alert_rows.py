"""Rules, alerts and notifications as JSON bodies, and back."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, Final

from rag_monitor.domain.alert import (
    Alert,
    AlertRule,
    AlertState,
    Finding,
    Notification,
    RuleKind,
    Severity,
)
from rag_monitor.domain.incident import Incident
from rag_monitor.store.incident_rows import dump_incident, load_incident

_LOG: Final = logging.getLogger(__name__)
_MOMENTS: Final = (
    "since",
    "started_at",
    "fired_at",
    "resolved_at",
    "last_announced_at",
    "clear_since",
    "acknowledged_at",
)


def dump_rule(rule: AlertRule) -> dict[str, Any]:
    """Everything of a rule."""
    return {**_shallow(rule), "params": dict(rule.params)}


def load_rule(body: Mapping[str, Any]) -> AlertRule:
    """A rule; fields that a later release added are ignored."""
    values = _known_fields(AlertRule, body)
    return AlertRule(
        **{
            **values,
            "kind": RuleKind(values["kind"]),
            "severity": Severity(values["severity"]),
            "notifiers": tuple(values["notifiers"]),
        }
    )


def dump_alert(alert: Alert) -> dict[str, Any]:
    """Everything of an alert."""
    evidence = None if alert.evidence is None else asdict(alert.evidence)
    return {**_shallow(alert), "finding": asdict(alert.finding), "evidence": evidence}


def load_alert(body: Mapping[str, Any]) -> Alert:
    """An alert."""
    values = _known_fields(Alert, body)
    for name in _MOMENTS:
        if values.get(name) is not None:
            values[name] = datetime.fromisoformat(values[name])
    evidence, kind = values.get("evidence"), values.get("kind")
    return Alert(
        **{
            **values,
            "state": AlertState(values["state"]),
            "severity": Severity(values["severity"]),
            "kind": None if kind is None else RuleKind(kind),
            "finding": _finding(values["finding"]),
            "evidence": None if evidence is None else _finding(evidence),
        }
    )


def _finding(body: Mapping[str, Any]) -> Finding:
    values = _known_fields(Finding, body)
    for name in ("worst_traces", "notes"):
        values[name] = tuple(values[name])
    if values.get("onset_at") is not None:
        values["onset_at"] = datetime.fromisoformat(values["onset_at"])
    return Finding(**values)


def dump_notification(notification: Notification) -> dict[str, Any]:
    """The body of a row of `outbox`: the alert, and its incident as a further key."""
    incident = notification.incident
    incident_body = None if incident is None else dump_incident(incident)
    return {**dump_alert(notification.alert), "incident": incident_body}


def load_notification(row: Any) -> Notification:
    """A row of `outbox`."""
    return Notification(
        dedup_key=row.dedup_key,
        project=row.project,
        channel=row.channel,
        alert=load_alert(row.body),
        event=row.event,
        created_at=row.created_at,
        attempts=row.attempts,
        incident=_incident_of(row),
    )


def _incident_of(row: Any) -> Incident | None:
    """The incident of a message; one that cannot be read costs the story, not the message."""
    body = row.body.get("incident")  # an earlier release names none
    if body is None:
        return None
    try:
        return load_incident(body)
    except (KeyError, TypeError, ValueError):
        _LOG.warning("message %s goes out without its incident, which cannot be read", row.id)
        return None


def _shallow(value: Any) -> dict[str, Any]:
    return {item.name: getattr(value, item.name) for item in fields(value)}


def _known_fields(kind: type[Any], body: Mapping[str, Any]) -> dict[str, Any]:
    names = {item.name for item in fields(kind)}
    return {name: value for name, value in body.items() if name in names}
