"""Dry runs on stored history: how often would this rule have fired?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from rag_monitor.alerting.evaluator import Evaluator, slot
from rag_monitor.alerting.lifecycle import step
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.alerting.ports import EstimateSource
from rag_monitor.domain.alert import Alert, AlertRule, AlertState


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One time the rule would have fired on one app."""

    app: str
    fired_at: datetime
    resolved_at: datetime | None
    """None: it would still fire."""
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a rule would have done."""

    looks: int
    untold: int
    """Looks that could not tell: too little data. Near `looks`, the rule is blind."""
    episodes: tuple[Episode, ...]


def replay(
    rule: AlertRule,
    estimates: EstimateSource,
    since: datetime,
    until: datetime,
    *,
    every: timedelta = timedelta(minutes=5),
    options: AlertOptions | None = None,
) -> Replay:
    """Run a rule over the past, with its hold and keep times. Changes and announces nothing.

    Args:
        rule: Checked before, by `check_rule`.
        estimates: Answers about past windows, as far as rollups are kept.
        since: First look.
        until: No look after this.
        every: Between looks; at least a minute, as numbers are kept by the minute.
        options: Limits.
    """
    if every < timedelta(minutes=1):
        raise ValueError("looks less than a minute apart would see the same numbers")
    evaluator = Evaluator(estimates, options or AlertOptions())
    episodes: list[Episode] = []
    looks = untold = 0
    for app in evaluator.apps(rule):
        alert: Alert | None = None
        now = slot(since, 60.0)
        while now <= until:
            finding = evaluator.look(rule, app, now)
            looks += 1
            untold += finding.active is None
            alert = step(rule, app, alert, finding, now, mute=True).alert
            if alert is not None and alert.state is AlertState.RESOLVED:
                episodes.append(_episode(alert))
            if alert is not None and alert.state not in (AlertState.PENDING, AlertState.FIRING):
                alert = None
            now += every
        if alert is not None and alert.state is AlertState.FIRING:
            episodes.append(_episode(alert))
    return Replay(looks=looks, untold=untold, episodes=tuple(episodes))


def _episode(alert: Alert) -> Episode:
    return Episode(
        app=alert.app,
        fired_at=alert.fired_at or alert.started_at,
        resolved_at=alert.resolved_at,
        summary=alert.finding.summary,
    )
