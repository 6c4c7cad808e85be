"""What a rule that is not saved yet would have done over the last two weeks: bounded in time.

The same run as a dry run, stopped after a few seconds; and only so many at once, because it follows
the typing of whoever writes a rule.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from rag_monitor.alerting.replay import EVERY, AppReplay, Episode, Replay, ReplayBounds
from rag_monitor.domain.alert import AlertRule
from rag_monitor.server.ui.view import Visitor

DAYS: Final = 14
BOUNDS: Final = ReplayBounds(looks=4_100, within_s=6.0)
"""Two weeks of one app are looked at as closely as in a dry run. Longer than the seconds nobody
waits for what follows their typing, nor should others for a thread."""
MAX_SHOWN: Final = 10
"""Times that are listed; the dry run lists more."""
AT_ONCE: Final = 2
_turns: Final = threading.BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What is shown below the form."""

    replay: Replay | None = None
    """None: it was not run, because the form has to be corrected or others run theirs."""
    busy: bool = False
    within_s: float = BOUNDS.within_s
    """After so many seconds it is stopped."""

    @property
    def newest(self) -> Sequence[Episode]:
        """The last times it would have fired, the newest first."""
        episodes = () if self.replay is None else self.replay.episodes
        return sorted(episodes, key=lambda one: one.fired_at, reverse=True)[:MAX_SHOWN]

    @property
    def coarse(self) -> bool:
        """Whether looks were made less often than in a dry run: short spells may be missing."""
        return self.replay is not None and self.replay.every > EVERY

    @property
    def untold_share(self) -> float:
        """Of all looks, those that could not tell."""
        replay = self.replay
        return replay.untold / replay.looks if replay is not None and replay.looks else 0.0

    @property
    def stopped(self) -> Sequence[tuple[str, AppReplay]]:
        """The app in which time ran out."""
        apps = {} if self.replay is None else self.replay.apps
        return [(app, one) for app, one in apps.items() if one.stopped_at is not None]


def preview_of(me: Visitor, rule: AlertRule) -> Preview:
    """Run a checked rule over the last days. Saves and announces nothing."""
    if not _turns.acquire(blocking=False):
        return Preview(busy=True)
    try:
        now = me.services.clock.now()
        since = now - timedelta(days=DAYS)
        replay = me.services.replay_rule(rule, since, now, BOUNDS)
        return Preview(replay=replay, within_s=BOUNDS.within_s)
    finally:
        _turns.release()
