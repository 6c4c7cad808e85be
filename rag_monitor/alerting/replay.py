"""Dry runs on stored history: how often would this rule have fired?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.evaluator import Evaluator, slot
from rag_monitor.alerting.lifecycle import step
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.domain.alert import Alert, AlertRule, AlertState


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One time the rule would have fired on one app."""

    app: str
    fired_at: datetime
    resolved_at: datetime | None
    """None: it would still fire."""
    summary: str
    summary_zh: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppReplay:
    """What a rule would have done on one app."""

    looks: int = 0
    untold: int = 0
    """Looks that could not tell: too little data. Near `looks`, the rule is blind."""
    episodes: tuple[Episode, ...] = ()
    stopped_at: datetime | None = None
    """The last moment looked at, of a run that was stopped in it; None: it was looked at whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a rule would have done."""

    since: datetime
    until: datetime
    every: timedelta
    apps: Mapping[str, AppReplay] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    """Apps that were not looked at, because the run was stopped before."""

    @property
    def complete(self) -> bool:
        """Whether every app was looked at whole: only then do the numbers hold for the time."""
        return not self.left_out and all(one.stopped_at is None for one in self.apps.values())

    @property
    def looks(self) -> int:
        """Looks on all apps."""
        return sum(app.looks for app in self.apps.values())

    @property
    def untold(self) -> int:
        """Looks that could not tell."""
        return sum(app.untold for app in self.apps.values())

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """Every time it would have fired, app by app."""
        return tuple(episode for app in self.apps.values() for episode in app.episodes)


MAX_LOOKS: Final = 20_000
"""Of one replay, over all apps; beyond it looks are made less often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayBounds:
    """What a replay may cost."""

    looks: int = MAX_LOOKS
    """Over all apps; beyond it looks are made less often."""
    within_s: float = math.inf
    """Seconds after which it is stopped."""


UNHURRIED: Final = ReplayBounds()
"""Of a dry run that somebody asked for."""


class ReplayRule(Protocol):
    """Runs a rule over stored history."""

    def __call__(
        self,
        rule: AlertRule,
        since: datetime,
        until: datetime,
        bounds: ReplayBounds = UNHURRIED,
    ) -> Replay:
        """What the rule would have done, as far as it was looked at within the bounds."""


EVERY: Final = timedelta(minutes=5)
"""Between looks, where that is not too many."""


def replay(
    rule: AlertRule,
    estimates: RuleEstimates,
    since: datetime,
    until: datetime,
    *,
    every: timedelta = EVERY,
    options: AlertOptions | None = None,
    source_of: Callable[[str], RuleEstimates] | None = None,
    max_looks: int = MAX_LOOKS,
    stop: Callable[[], bool] = lambda: False,
) -> Replay:
    """Run a rule over the past, with its hold and keep times. Changes and announces nothing.

    Args:
        rule: Checked before, by `check_rule`.
        estimates: Answers about past windows, as far as rollups are kept.
        since: First look.
        until: No look after this.
        every: Between looks; at least a minute, as numbers are kept by the minute. Longer where
            there would be more than `max_looks`; the result says how long.
        options: Limits.
        source_of: Answers about one app, made when its turn comes; None: `estimates` does.
        max_looks: Over all apps.
        stop: Asked before every look; once it says so, no further look is made.
    """
    if every < timedelta(minutes=1):
        raise ValueError("looks less than a minute apart would see the same numbers")
    limits = options or AlertOptions()
    apps = Evaluator(estimates, limits).apps(rule)
    source = source_of or (lambda _: estimates)
    steps = (until - since) / every * len(apps)
    if steps > max_looks:
        minutes = math.ceil(every / timedelta(minutes=1) * steps / max_looks)
        every = timedelta(minutes=minutes)
    replayed: dict[str, AppReplay] = {}
    left_out: list[str] = []
    for app in apps:
        if stop():
            left_out.append(app)
        else:
            times = _times(since, until, every)
            replayed[app] = _replay(Evaluator(source(app), limits), rule, app, times, stop)
    return Replay(since=since, until=until, every=every, apps=replayed, left_out=tuple(left_out))


def _times(since: datetime, until: datetime, every: timedelta) -> Iterator[datetime]:
    now = slot(since, 60.0)
    while now <= until:
        yield now
        now += every


def _replay(
    evaluator: Evaluator,
    rule: AlertRule,
    app: str,
    times: Iterable[datetime],
    stop: Callable[[], bool],
) -> AppReplay:
    episodes: list[Episode] = []
    looks = untold = 0
    alert: Alert | None = None
    last: datetime | None = None
    stopped_at: datetime | None = None
    for now in times:
        if last is not None and stop():
            stopped_at = last
            break
        finding = evaluator.reevaluate(rule, app, alert, now)
        looks += 1
        untold += finding.active is None
        alert = step(rule, app, alert, finding, now, mute=True).alert
        if alert is not None and alert.state is AlertState.RESOLVED:
            episodes.append(_episode(alert))
        if alert is not None and alert.state not in (AlertState.PENDING, AlertState.FIRING):
            alert = None
        last = now
    if alert is not None and alert.state is AlertState.FIRING:
        episodes.append(_episode(alert))
    return AppReplay(looks=looks, untold=untold, episodes=tuple(episodes), stopped_at=stopped_at)


def _episode(alert: Alert) -> Episode:
    return Episode(
        app=alert.app,
        fired_at=alert.fired_at or alert.started_at,
        resolved_at=alert.resolved_at,
        summary=alert.cause.summary,
        summary_zh=alert.cause.summary_zh,
    )
