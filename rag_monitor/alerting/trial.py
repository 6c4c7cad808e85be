"""Messages that try a channel: an alert that says that it is none, and its end."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime
from typing import Final

from rag_monitor.domain.alert import Alert, AlertState, Finding, Notification, Severity
from rag_monitor.i18n import Message

NAME: Final = "rag-monitor-test"
"""Rule and app of the alert; no rule of that name is kept anywhere."""


def trial(project: str, channel: str, now: datetime) -> tuple[Notification, Notification]:
    """The two messages, to be sent one after the other.

    The second ends what the first began, so that a channel with incidents of its own (PagerDuty,
    Alertmanager) is left as it was. Each call makes new keys: receivers that drop repeats take it.
    """
    alert = Alert(
        id=uuid.uuid4().hex,
        project=project,
        rule=NAME,
        app=NAME,
        state=AlertState.FIRING,
        severity=Severity.TICKET,
        since=now,
        started_at=now,
        fired_at=now,
        finding=Finding(
            active=True,
            summary=Message(
                "This is a test of the channel. Nothing is wrong, and nothing needs doing."
            ),
        ),
    )
    ended = replace(alert, state=AlertState.RESOLVED, resolved_at=now)
    firing, resolved = (
        Notification(
            dedup_key=f"{alert.id}:{event}",
            project=project,
            channel=channel,
            alert=shown,
            event=event,
            created_at=now,
        )
        for event, shown in (("firing", alert), ("resolved", ended))
    )
    return firing, resolved
