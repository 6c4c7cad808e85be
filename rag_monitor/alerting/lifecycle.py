"""The life of an alert: inactive, pending, firing, resolved. Pure functions of what was seen.

Whatever runs them, how often and how late: the same alert, finding and slot give the same result,
so two schedulers that look at one window announce the same thing under the same key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding, Silence

_SKEW: Final = timedelta(minutes=1)
"""By how much the clocks of two processes may differ; what lies further ahead of now than this was
written by a clock that was ahead."""
_MOMENTS: Final = (
    "since", "started_at", "fired_at", "last_announced_at", "clear_since", "resolved_at",
    "acknowledged_at",
)  # fmt: skip


class Event(StrEnum):
    """What is announced."""

    FIRING = "firing"
    REPEAT = "repeat"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The result of one evaluation."""

    alert: Alert | None
    """None: there was no alert, and there is none."""
    event: Event | None = None
    """What is to be announced now."""


def alert_id(project: str, rule: str, app: str, started_at: datetime) -> str:
    """20 hex digits, the same wherever they are computed."""
    key = "\0".join((project, rule, app, started_at.isoformat()))
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def dedup_key(rule: AlertRule, alert: Alert, event: Event, now: datetime) -> str:
    """Same announcement, same key; a repeat carries the number of its slot."""
    if event is Event.REPEAT:
        return f"{alert.id}:{event.value}:{_repeat_slot(rule, alert, now)}"
    return f"{alert.id}:{event.value}"


def muted(silences: Iterable[Silence], rule: AlertRule, app: str, now: datetime) -> bool:
    """Whether a silence covers this rule on this app now; `*` covers all of its project."""
    return any(
        silence.project == rule.project
        and silence.rule in ("*", rule.name)
        and silence.app in ("*", app)
        and silence.starts_at <= now < silence.ends_at
        for silence in silences
    )


def step(
    rule: AlertRule, app: str, alert: Alert | None, finding: Finding, now: datetime, *, mute: bool
) -> Step:
    """Apply one evaluation of a rule on an app to its alert.

    Args:
        rule: What is watched.
        app: The app.
        alert: The pending or firing alert so far, or None.
        finding: What was seen.
        now: End of the window that was looked at.
        mute: A silence holds; the state moves, nothing is announced.
    """
    if alert is None:
        if finding.active is not True:
            return Step(alert=None)
        alert = Alert(
            id=alert_id(rule.project, rule.name, app, now),
            project=rule.project,
            rule=rule.name,
            app=app,
            state=AlertState.PENDING,
            severity=rule.severity,
            kind=rule.kind,
            runbook_url=rule.runbook_url,
            since=now,
            started_at=now,
            finding=finding,
        )
    if finding.active is not None:
        alert = replace(
            alert,
            finding=finding,
            severity=rule.severity,
            kind=rule.kind,
            runbook_url=rule.runbook_url,
        )
    if finding.active:
        alert = replace(alert, evidence=finding)
    if alert.state is AlertState.PENDING:
        alert = _from_pending(rule, alert, finding.active, now)
    elif alert.state is AlertState.FIRING:
        alert = _from_firing(rule, alert, finding.active, now)
    return announce(rule, alert, now, mute=mute)


def announce(rule: AlertRule, alert: Alert, now: datetime, *, mute: bool) -> Step:
    """The announcement that is due now, if any. A silence postpones it."""
    event = None if mute else _owed(rule, alert, now)
    if event is None:
        return Step(alert=alert)
    return Step(alert=replace(alert, last_announced_at=now), event=event)


def retire(alert: Alert, now: datetime, resolved_for_s: float) -> Alert:
    """A resolved alert, inactive once its resolution was announced and shown for a while."""
    resolved_at = alert.resolved_at
    if alert.state is not AlertState.RESOLVED or resolved_at is None or _owes_resolution(alert):
        return alert
    if (now - resolved_at).total_seconds() < resolved_for_s:
        return alert
    return replace(alert, state=AlertState.INACTIVE, since=now)


def correct_clock(alert: Alert, now: datetime) -> Alert:
    """The alert with its times corrected after the clock was ahead.

    Its moments after `now` keep their order, and the latest of them becomes `now`: an alert must
    not stay as it is for as long as the clock was ahead.
    """
    moments = {name: getattr(alert, name) for name in _MOMENTS}
    ahead = {name: at for name, at in moments.items() if at is not None and at > now}
    latest = max(ahead.values(), default=now)
    if latest - now <= _SKEW:
        return alert
    return replace(alert, **{name: at - (latest - now) for name, at in ahead.items()})


def _from_pending(rule: AlertRule, alert: Alert, active: bool | None, now: datetime) -> Alert:
    if active is False:
        return replace(alert, state=AlertState.INACTIVE, since=now)
    if active and (now - alert.started_at).total_seconds() >= rule.hold_for_s:
        return replace(alert, state=AlertState.FIRING, since=now, fired_at=now)
    return alert


def _from_firing(rule: AlertRule, alert: Alert, active: bool | None, now: datetime) -> Alert:
    if active is None:
        return alert
    if active:
        return replace(alert, clear_since=None)
    clear_since = alert.clear_since or now
    # A clock that was set back must not make the end look older than the last announcement.
    later = alert.last_announced_at is None or now > alert.last_announced_at
    if later and (now - clear_since).total_seconds() >= rule.keep_firing_s:
        return replace(
            alert,
            state=AlertState.RESOLVED,
            since=now,
            resolved_at=now,
            clear_since=clear_since,
        )
    return replace(alert, clear_since=clear_since)


def _owed(rule: AlertRule, alert: Alert, now: datetime) -> Event | None:
    if alert.state is AlertState.RESOLVED:
        return Event.RESOLVED if _owes_resolution(alert) else None
    if alert.state is not AlertState.FIRING:
        return None
    if alert.last_announced_at is None:
        return Event.FIRING
    if rule.repeat_s <= 0 or alert.acknowledged_by is not None:
        return None
    announced_slot = _repeat_slot(rule, alert, alert.last_announced_at)
    return Event.REPEAT if _repeat_slot(rule, alert, now) > announced_slot else None


def _owes_resolution(alert: Alert) -> bool:
    announced_at, resolved_at = alert.last_announced_at, alert.resolved_at
    # Nobody heard that it fired, so nobody waits to hear that it ended.
    return announced_at is not None and resolved_at is not None and announced_at < resolved_at


def _repeat_slot(rule: AlertRule, alert: Alert, moment: datetime) -> int:
    since_fired = (moment - (alert.fired_at or alert.started_at)).total_seconds()
    return int(since_fired // rule.repeat_s) if rule.repeat_s > 0 else 0
