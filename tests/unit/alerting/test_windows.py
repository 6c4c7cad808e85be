"""Which window fits an app, from counts alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from rag_monitor.alerting.params import PARAMS
from rag_monitor.alerting.window_chooser import COUNTED, FOLLOWING, WindowChooser
from rag_monitor.alerting.windows import (
    HISTORY,
    LENGTHS,
    STEP,
    chosen_window,
    fitting_window,
    full_days,
)
from rag_monitor.domain.alert import RuleKind
from rag_monitor.domain.rule_state import Counted, RuleState, Verdict, WindowChoice
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Series, Window
from rag_monitor.testing import EPOCH
from tests.unit.alerting.fakes import APP, FakeEstimates, rule

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
STEPS_A_DAY = DAY // STEP


def steady(an_hour: float, days: int = 14) -> list[int]:
    """So many an hour, as evenly as whole numbers allow."""
    per_step, counts, owed = an_hour / 6, [], 0.0
    for _ in range(days * STEPS_A_DAY):
        owed += per_step
        counts.append(int(owed + 1e-9))
        owed -= counts[-1]
    return counts


@pytest.mark.parametrize(
    ("an_hour", "hours"),
    [
        (4, 24),
        (5, 24),
        (9, 12),
        (20, 6),
        (40, 3),
        (100, 1),
        (790, 1),
        (800, 0.5),
        (2390, 0.5),
        (2400, 1 / 6),
        (0.1, 24),
    ],
)
def test_the_window_is_the_shortest_that_holds_enough(an_hour: float, hours: float) -> None:
    assert chosen_window(steady(an_hour), 50) == timedelta(hours=hours)


def test_nights_and_weekends_do_not_lengthen_the_window_of_office_hours() -> None:
    day = [0] * 54 + [20] * 48 + [0] * 42
    week = day * 5 + [0] * (2 * STEPS_A_DAY)

    assert chosen_window(week * 2, 50) == HOUR


def test_one_busy_hour_a_day_does_not_make_a_short_window() -> None:
    """Most of what comes must be seen: a burst at nine says nothing about the rest of the day."""
    day = [10] * STEPS_A_DAY
    day[54:60] = [100] * 6

    assert chosen_window(day * 7, 50) > HOUR


def test_a_single_good_day_does_not_choose_for_all() -> None:
    quiet, busy = steady(4, 6), steady(400, 1)

    assert chosen_window([*quiet, *busy], 50) == DAY


def test_nothing_yet_means_the_longest_window() -> None:
    assert chosen_window([], 50) == LENGTHS[-1]
    assert chosen_window([0] * 100, 50) == LENGTHS[-1]


def test_a_window_is_proposed_that_could_tell_and_none_where_none_can() -> None:
    assert fitting_window(steady(7), 50) == timedelta(hours=12)
    assert fitting_window(steady(1.5), 50) == timedelta(days=3)
    assert fitting_window(steady(0.5), 50) == timedelta(days=7)
    assert fitting_window(steady(0.1), 50) is None


def test_full_days_count_from_the_first() -> None:
    assert full_days([0] * 10) == 0
    assert full_days([1] + [0] * (STEPS_A_DAY - 2)) == 0
    assert full_days([1] + [0] * (STEPS_A_DAY - 1)) == 1
    assert full_days(steady(1, 14)) == 7


class Counting(FakeEstimates):
    """Six judged in ten minutes; remembers how often it was asked."""

    asked = 0

    def judged_by_step(self, series: Series, window: Window, step: timedelta) -> Sequence[int]:
        self.asked += 1
        assert window.length == HISTORY
        return [6] * (HISTORY // STEP)

    def traces_by_step(
        self, selection: Selection, step: timedelta, metric: str = "traces"
    ) -> Sequence[int]:
        return [1] * (HISTORY // STEP)


FOLLOWS = rule(RuleKind.DROP, metric="faithfulness", window_s=None)


def test_a_choice_is_made_once_a_day_and_recorded() -> None:
    source = Counting()
    chooser = WindowChooser(source)  # type: ignore[arg-type]

    first = chooser.choice(FOLLOWS, APP, EPOCH)
    looks = [chooser.choice(FOLLOWS, APP, EPOCH + n * HOUR) for n in range(1, 24)]

    assert first is not None
    assert (first.window_s, first.days) == (3 * 3600.0, 7)
    assert set(looks) == {first}
    assert source.asked == 1, "what the rule sees does not choose its window"
    assert chooser.made == (first,)
    again = chooser.choice(FOLLOWS, APP, EPOCH + DAY)
    assert again is not None
    assert again.chosen_at == EPOCH + DAY


def test_a_stored_choice_holds_for_another_process_and_somebodys_above_all() -> None:
    stored = WindowChoice(
        project="default", rule=FOLLOWS.name, app=APP, window_s=600.0, chosen_at=EPOCH, days=2
    )
    chooser = WindowChooser(Counting())  # type: ignore[arg-type]

    chooser.begin([stored])
    assert chooser.window_s(FOLLOWS, APP, EPOCH + HOUR) == 600.0
    fixed = rule(RuleKind.DROP, metric="faithfulness", window_s=1800.0)
    assert chooser.choice(fixed, APP, EPOCH + HOUR) is None, "the rule's own window holds"

    mine = WindowChoice(
        project="default",
        rule=FOLLOWS.name,
        app=APP,
        window_s=43_200.0,
        chosen_at=EPOCH,
        chosen_by="mei",
    )
    chooser.begin([mine])
    assert chooser.window_s(fixed, APP, EPOCH + 400 * DAY) == 43_200.0
    assert chooser.made == ()


def test_very_many_apps_are_chosen_for_over_several_runs() -> None:
    chooser = WindowChooser(Counting(), most=2)  # type: ignore[arg-type]
    apps = [f"app-{number}" for number in range(5)]

    windows = [chooser.window_s(FOLLOWS, app, EPOCH) for app in apps]
    assert windows == [3 * 3600.0] * 2 + [3600.0] * 3
    chooser.begin(chooser.made)
    assert sum(chooser.window_s(FOLLOWS, app, EPOCH) == 3 * 3600.0 for app in apps) == 4


def _proposed(chooser: WindowChooser, now: datetime = EPOCH) -> list[bool]:
    fixed = rule(RuleKind.DROP, metric="faithfulness", window_s=600.0)
    return [chooser.fitting(fixed, f"app-{n}", now) is not None for n in range(5)]


def test_proposals_for_very_many_apps_are_made_over_several_runs_too() -> None:
    chooser = WindowChooser(Counting(), most=2)  # type: ignore[arg-type]

    assert _proposed(chooser) == [True, True, False, False, False]
    assert chooser.window_s(FOLLOWS, APP, EPOCH) == 3 * 3600.0, "choices have turns of their own"
    chooser.begin([])
    assert _proposed(chooser) == [True] * 4 + [False]
    chooser.begin([])
    assert _proposed(chooser) == [True] * 5


def test_who_had_to_wait_comes_before_who_was_served() -> None:
    source = Counting()
    chooser = WindowChooser(source, most=2)  # type: ignore[arg-type]
    for hour in range(3):  # proposals of an hour ago are made anew
        _proposed(chooser, EPOCH + hour * HOUR)
        chooser.begin([])

    assert all(_proposed(chooser, EPOCH + 3 * HOUR))


def test_a_stored_proposal_holds_until_it_is_its_turn() -> None:
    chooser = WindowChooser(Counting(), most=0)  # type: ignore[arg-type]
    name = rule(RuleKind.DROP, metric="faithfulness", window_s=600.0).name
    stored = RuleState(
        project="default",
        rule=name,
        app="app-3",
        verdict=Verdict.CANNOT_TELL,
        since=EPOCH,
        looked_at=EPOCH,
        window_s=600.0,
        counted=Counted.JUDGED,
        fitting_window_s=43_200.0,
    )

    chooser.begin([], [stored])
    assert _proposed(chooser) == [False, False, False, True, False]


def test_kinds_that_need_something_say_what() -> None:
    assert set(PARAMS) - set(COUNTED) == {RuleKind.NO_DATA, RuleKind.BUDGET}
    assert RuleKind.BURN_RATE not in FOLLOWING


def test_random_traffic_of_twenty_an_hour_keeps_one_window_most_days() -> None:
    chance = random.Random(4)
    counts = [sum(chance.random() < 0.1 for _ in range(33)) for _ in range(60 * STEPS_A_DAY)]
    days = range(7 * STEPS_A_DAY, len(counts), STEPS_A_DAY)
    chosen = [chosen_window(counts[:end], 50) for end in days]

    assert set(chosen) == {timedelta(hours=6)}
