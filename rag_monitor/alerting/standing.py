"""How rules stand on apps, put together from findings and alerts; and what of it is to be saved."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.alerting.window_chooser import COUNTED, WindowChooser
from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding
from rag_monitor.domain.rule_state import Counted, Place, RuleState, Verdict

IDLE_NOTES: Final = frozenset({"no_baseline", "no_hits_seen"})
"""Why a rule has nothing to watch, not too little: only one release, no plugin."""
_SAVED_EVERY: Final = timedelta(minutes=5)
"""How old the counts of a state may get that is else the same."""


def state_of(
    rule: AlertRule,
    app: str,
    finding: Finding,
    alert: Alert | None,
    windows: WindowChooser,
    now: datetime,
) -> RuleState:
    """How the rule stands on the app, as it was just looked at.

    Args:
        rule: What is watched.
        app: Where.
        finding: What was seen.
        alert: The alert after that look; None: there is none.
        windows: Where the window came from.
        now: End of the window.
    """
    choice = windows.choice(rule, app, now)
    state = RuleState(
        project=rule.project,
        rule=rule.name,
        app=app,
        verdict=_verdict(finding, alert),
        since=now,
        looked_at=now,
        window_s=windows.window_s(rule, app, now),
        chosen_at=None if choice is None else choice.chosen_at,
        chosen_by="" if choice is None else choice.chosen_by,
        counted=COUNTED.get(rule.kind, Counted.TRACES),
    )
    if finding.active is not None:
        return state
    fitting = windows.fitting(rule, app, now) if finding.needed else None
    has = finding.judged if finding.judged < finding.needed else finding.baseline_judged
    return replace(
        state,
        needed=finding.needed,
        has=has if finding.needed else finding.judged,
        fitting_window_s=None if fitting is None else fitting.total_seconds(),
        summary=str(finding.summary),
        summary_zh=finding.summary_zh,
        notes=finding.notes,
    )


def _verdict(finding: Finding, alert: Alert | None) -> Verdict:
    if alert is not None and alert.state is AlertState.FIRING:
        return Verdict.FIRING
    if alert is not None and alert.state is AlertState.PENDING:
        return Verdict.PENDING
    if finding.active is None:
        return Verdict.IDLE if IDLE_NOTES & set(finding.notes) else Verdict.CANNOT_TELL
    return Verdict.OK


@dataclass(slots=True)
class Standing:
    """The states as they are stored, and those of the present run."""

    saved: Mapping[Place, RuleState]
    seen: dict[Place, RuleState] = field(default_factory=dict)

    def add(self, state: RuleState) -> None:
        """Note a state of this run; it keeps its beginning while the verdict is the same."""
        place = (state.project, state.rule, state.app)
        before = self.saved.get(place)
        if before is not None and before.verdict is state.verdict:
            state = replace(state, since=min(before.since, state.looked_at))
        self.seen[place] = state

    @property
    def changed(self) -> list[RuleState]:
        """What is to be saved: news at once, mere counts some minutes later."""
        return [
            state for place, state in self.seen.items() if _is_news(self.saved.get(place), state)
        ]

    def gone(
        self, in_force: Collection[tuple[str, str]], apps: Mapping[tuple[str, str], Sequence[str]]
    ) -> list[Place]:
        """Saved states of rules that are not in force, and of apps they do not watch any more.

        Args:
            in_force: Project and name of every enabled rule.
            apps: What each was looked at for; missing where that could not be told.
        """
        return [
            place
            for place in self.saved
            if place[:2] not in in_force or place[2] not in apps.get(place[:2], (place[2],))
        ]


def _is_news(before: RuleState | None, now: RuleState) -> bool:
    if before is None or not _alike(before, now):
        return True
    return not timedelta(0) <= now.looked_at - before.looked_at < _SAVED_EVERY


def _alike(before: RuleState, now: RuleState) -> bool:
    return (before.verdict, before.window_s, before.chosen_by, before.needed, before.notes) == (
        now.verdict,
        now.window_s,
        now.chosen_by,
        now.needed,
        now.notes,
    )
