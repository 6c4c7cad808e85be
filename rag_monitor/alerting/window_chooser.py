"""Which window a rule looks at an app over: the rule's own, somebody's, or one that fits it.

`windows` says which one fits, from counts; here they are asked for, seldom, and choices are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.alerting.conditions.context import EvaluationContext
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.params import required
from rag_monitor.alerting.windows import (
    HISTORY,
    STANDS,
    STANDS_YOUNG,
    STEP,
    chosen_window,
    fitting_window,
    full_days,
)
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.rollup import TRACES_METRIC
from rag_monitor.domain.rule_state import Counted, RuleState, WindowChoice
from rag_monitor.domain.window import Window
from rag_monitor.statistics.quantiles import least_for_upper

COUNTED: Final[Mapping[RuleKind, Counted]] = {
    RuleKind.THRESHOLD: Counted.JUDGED,
    RuleKind.DROP: Counted.JUDGED,
    RuleKind.CHANGE: Counted.JUDGED,
    RuleKind.BURN_RATE: Counted.JUDGED,
    RuleKind.JUDGE_FAILURES: Counted.JUDGED,
    RuleKind.SUSPECT: Counted.JUDGED,
    RuleKind.ERROR_RATE: Counted.TRACES,
    RuleKind.TRAFFIC: Counted.TRACES,
    RuleKind.HIT_RATE: Counted.TRACES,
    RuleKind.LATENCY: Counted.TRACES,
}
"""What a kind needs enough of; the others need nothing."""
FOLLOWING: Final = frozenset(COUNTED) - {RuleKind.CHANGE, RuleKind.BURN_RATE}
"""Kinds whose window may follow the traffic: a detector has none, and the windows of burn rates
state what is promised."""
UNCHOSEN: Final = timedelta(hours=1)
"""The window until a choice is made: at once, but on very many new apps."""
_REMEMBERED: Final = 64
_PROPOSED: Final = 20_000

_Place = tuple[str, str, str]
"""Project, rule and app."""
_Counts = tuple[str, str, str, str, str]


class _Turns:
    """Lets so many places have their turn in a run; who had to wait comes first in the next.

    Rules are looked at in the same order in every run: without turns the first places would be
    served again before the last were served once.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._left = most
        self._first: set[_Place] = set()
        """Who has waited longest; nobody else is served while there are any."""
        self._still: set[_Place] = set()
        """Of these, who had to wait again in this run."""
        self._later: set[_Place] = set()

    def begin(self) -> None:
        """A new run. Who was not looked at in the last one waits no more."""
        self._left = self._most
        if self._still:
            self._first = self._still
        else:
            self._first, self._later = self._later, set()
        self._still = set()

    def take(self, place: _Place) -> bool:
        """Whether it is this place's turn."""
        if self._left is None:
            return True
        waited = place in self._first
        if self._left and (waited or not self._first):
            self._left -= 1
            return True
        (self._still if waited else self._later).add(place)
        return False


class WindowChooser:
    """Knows and makes choices. Not for several threads.

    Args:
        estimates: Tells how much was counted.
        most: So many choices, and so many proposals, are made until the next `begin`; the others
            have to wait. None: all.
    """

    def __init__(self, estimates: RuleEstimates, *, most: int | None = None) -> None:
        self._estimates = estimates
        self._choosing, self._proposing = _Turns(most), _Turns(most)
        self._choices: dict[_Place, WindowChoice] = {}
        self._made: list[WindowChoice] = []
        self._counted: dict[tuple[_Counts, datetime], Sequence[int]] = {}
        self._proposed: dict[_Place, tuple[datetime, timedelta | None]] = {}

    def begin(self, stored: Iterable[WindowChoice], states: Iterable[RuleState] = ()) -> None:
        """Heed the choices that are stored, and no others.

        Args:
            stored: The choices.
            states: As they are stored: what they propose holds until it is this place's turn.
        """
        self._choices = {(one.project, one.rule, one.app): one for one in stored}
        self._made = []
        self._choosing.begin()
        self._proposing.begin()
        for state in states:
            if state.fitting_window_s is not None:
                proposal = timedelta(seconds=state.fitting_window_s)
                place = (state.project, state.rule, state.app)
                self._proposed.setdefault(place, (state.looked_at - STANDS_YOUNG, proposal))

    @property
    def made(self) -> Sequence[WindowChoice]:
        """The choices since `begin`: to be stored."""
        return tuple(self._made)

    def choice(self, rule: AlertRule, app: str, now: datetime) -> WindowChoice | None:
        """The choice for this app; None: the rule's own window holds."""
        place = (rule.project, rule.name, app)
        earlier = self._choices.get(place)
        if earlier is not None and earlier.chosen_by and rule.kind in FOLLOWING:
            return earlier
        if rule.window_s is not None:
            return None
        if earlier is not None and not earlier.chosen_by and _stands(earlier, now):
            return earlier
        if not self._choosing.take(place):
            return earlier
        counts = self._counts(rule, app, now)
        made = WindowChoice(
            project=rule.project,
            rule=rule.name,
            app=app,
            window_s=chosen_window(counts, needed_by(rule)).total_seconds(),
            chosen_at=now,
            days=full_days(counts),
        )
        self._choices[place] = made
        self._made.append(made)
        return made

    def window_s(self, rule: AlertRule, app: str, now: datetime) -> float:
        """The length of the window in which the rule looks at this app, in seconds."""
        choice = self.choice(rule, app, now)
        if choice is not None:
            return choice.window_s
        return UNCHOSEN.total_seconds() if rule.window_s is None else rule.window_s

    def fitting(self, rule: AlertRule, app: str, now: datetime) -> timedelta | None:
        """The shortest window with which the rule could tell about this app on most days.

        None: there is none, the kind's window is not to be chosen, or the apps are so many that
        this one has to wait for a later run.
        """
        if rule.kind not in FOLLOWING:
            return None
        place = (rule.project, rule.name, app)
        earlier = self._proposed.get(place)
        if earlier is not None and timedelta(0) <= now - earlier[0] < STANDS_YOUNG:
            return earlier[1]
        if not self._proposing.take(place):
            return None if earlier is None else earlier[1]
        if len(self._proposed) >= _PROPOSED:
            self._proposed.clear()
        proposal = fitting_window(self._counts(rule, app, now), needed_by(rule))
        self._proposed[place] = (now, proposal)
        return proposal

    def _counts(self, rule: AlertRule, app: str, now: datetime) -> Sequence[int]:
        """So many judged (or traces) per step; shared by rules that count the same."""
        end = now - (now - datetime.min.replace(tzinfo=now.tzinfo)) % STEP
        history = Window.ending(end, HISTORY)
        context = EvaluationContext(
            rule=rule, app=app, window=history, estimates=self._estimates, worst=0
        )
        what = rule.metric or ""
        if rule.kind in {RuleKind.JUDGE_FAILURES, RuleKind.SUSPECT}:
            what = f"asked:{what}"
        judge = "" if COUNTED[rule.kind] is Counted.TRACES else context.series().judge
        key = ((rule.project, app, what, judge, context.knowledge_base or ""), end)
        counts = self._counted.get(key)
        if counts is None:
            if len(self._counted) >= _REMEMBERED:
                self._counted.clear()
            counts = self._counted[key] = _count(context)
        return counts


def needed_by(rule: AlertRule) -> int:
    """So many a window must hold, or the rule cannot tell."""
    if rule.kind is RuleKind.LATENCY and "max_ms" not in rule.params:
        least = least_for_upper(required(rule, "quantile"), required(rule, "confidence"))
        return max(rule.min_judged, least)
    return rule.min_judged


def _count(context: EvaluationContext) -> Sequence[int]:
    kind, estimates = context.rule.kind, context.estimates
    if kind in {RuleKind.JUDGE_FAILURES, RuleKind.SUSPECT}:
        return estimates.asked_by_step(context.series(), context.window, STEP)
    if COUNTED[kind] is Counted.JUDGED:
        return estimates.judged_by_step(context.series(), context.window, STEP)
    metric = context.rule.metric if kind is RuleKind.LATENCY else None
    return estimates.traces_by_step(context.selection(), STEP, metric or TRACES_METRIC)


def _stands(choice: WindowChoice, now: datetime) -> bool:
    age = now - choice.chosen_at
    return timedelta(0) <= age < (STANDS if choice.days else STANDS_YOUNG)
