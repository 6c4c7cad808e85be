"""What happened to an alert, step by step: when it was met and fired, who was told, who acted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.domain.alert import Alert, Silence
from rag_monitor.domain.stored import AuditEvent
from rag_monitor.i18n import msgid
from rag_monitor.server.ui.view import Visitor
from rag_monitor.store.outbox import Announcement

_EVENTS: Final = 200
"""So many events on silences are looked through for one that ended before its time."""
_SENT: Final[Mapping[str, str]] = {
    "firing": msgid("Announced on {channel}"),
    "repeat": msgid("Announced again on {channel}"),
    "resolved": msgid("Announced on {channel} that it is over"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happened."""

    at: datetime
    text: str
    """Translated."""
    who: str = ""
    """As they named themselves; empty: the monitor itself."""
    note: str = ""
    kind: str = ""
    """Style class: `firing` and `calm` where the state turned."""


def history_of(me: Visitor, alert: Alert) -> list[Step]:
    """All that is known, oldest first."""
    steps = [
        *_states(me, alert),
        *_announcements(me, me.services.outbox.about(alert.project, alert.id)),
        *_silences(me, alert),
    ]
    return sorted(steps, key=lambda step: step.at)


def _states(me: Visitor, alert: Alert) -> Iterator[Step]:
    yield Step(at=alert.started_at, text=me.translate("The condition was first met"))
    if alert.fired_at is not None:
        yield Step(at=alert.fired_at, text=me.translate("It fired"), kind="firing")
    if alert.acknowledged_at is not None:
        yield Step(
            at=alert.acknowledged_at,
            text=me.translate("Acknowledged"),
            who=alert.acknowledged_by or "",
        )
    if alert.resolved_at is not None:
        yield Step(at=alert.resolved_at, text=me.translate("It was over"), kind="calm")


def _announcements(me: Visitor, messages: list[Announcement]) -> Iterator[Step]:
    for one in messages:
        if one.sent_at is not None:
            text = _SENT.get(one.event, _SENT["firing"])
        elif one.given_up:
            text = msgid("Could not be announced on {channel}")
        else:
            text = msgid("Waits to be announced on {channel}")
        yield Step(at=one.sent_at or one.created_at, text=me.translate(text, channel=one.channel))


def _silences(me: Visitor, alert: Alert) -> Iterator[Step]:
    """Those that stand or ran out; of those that somebody ended, what the audit log says."""
    end = alert.resolved_at or me.services.clock.now()
    for silence in me.services.silences.all(alert.project):
        if _covers(silence, alert, end):
            yield _silenced(me, alert, silence)
    events = me.services.audit.list(alert.project, action="silence", before=None, limit=_EVENTS)
    made = {event.target: event for event in events if event.action == "silence.create"}
    for event in events:
        if event.action != "silence.delete" or event.target not in made:
            continue
        silence = _made_by(made[event.target])
        if _covers(replace(silence, ends_at=event.at), alert, end):
            yield _silenced(me, alert, silence)
            yield Step(
                at=event.at, text=me.translate("The silence was ended"), who=event.actor_name
            )


def _covers(silence: Silence, alert: Alert, end: datetime) -> bool:
    matches = silence.rule in {"*", alert.rule} and silence.app in {"*", alert.app}
    return matches and alert.started_at < silence.ends_at and silence.starts_at <= end


def _made_by(event: AuditEvent) -> Silence:
    """The silence that an event of the audit log tells of."""
    ends_at, hours = event.details.get("ends_at"), event.details.get("hours")
    length = timedelta(hours=hours if isinstance(hours, int) else 0)
    return Silence(
        id=event.target,
        project=event.project,
        rule=str(event.details.get("rule")),
        app=str(event.details.get("app")),
        starts_at=event.at,
        ends_at=datetime.fromisoformat(ends_at) if isinstance(ends_at, str) else event.at + length,
        created_by=event.actor_name,
    )


def _silenced(me: Visitor, alert: Alert, silence: Silence) -> Step:
    """A silence on nothing but this rule and app is what people call a snooze."""
    alone = (silence.rule, silence.app) == (alert.rule, alert.app)
    text = msgid("Snoozed until {time}") if alone else msgid("Silenced until {time}")
    return Step(
        at=silence.starts_at,
        text=me.translate(text, time=me.local(silence.ends_at, "%m-%d %H:%M")),
        who=silence.created_by,
        note=silence.comment,
    )
