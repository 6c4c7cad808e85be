"""What the shipped rules say of small apps over days: no window is right for all of them."""

from __future__ import annotations

import random

import pytest

from rag_monitor.domain.rule_state import Verdict
from tests.unit.alerting.days import DAY, HOUR, MONDAY, asked, office_hours, steadily, watch

RATES = {"four": 4.0, "six": 6.0, "nine": 9.0, "fourteen": 14.0, "twenty": 20.0}


@pytest.mark.parametrize("seed", [1, 2])
def test_apps_of_four_to_twenty_an_hour_are_told_of_a_fall_within_a_day(seed: int) -> None:
    chance = random.Random(seed)
    fell = MONDAY + 2 * DAY
    facts = [
        fact
        for app, rate in RATES.items()
        for fact in steadily(
            app,
            lambda at, rate=rate: rate,  # type: ignore[misc]
            MONDAY,
            fell + DAY,
            chance,
            lambda at: 0.95 if at < fell else 0.64,
        )
    ]

    only = {
        *("faithfulness drop", "context precision drop", "context sufficiency drop"),
        *("error rate", "no data"),
    }
    told = watch(facts, MONDAY + HOUR, fell + DAY, only=only)

    for app in RATES:
        fired_at = told.fired.get(("faithfulness drop", app))
        assert fired_at is not None, app
        assert fell < fired_at <= fell + DAY, app
        looks = told.verdicts["faithfulness drop", app]
        assert {one for at, one in looks if at < MONDAY + 2 * HOUR} == {Verdict.CANNOT_TELL}, app
        state = told.states.states["default", "faithfulness drop", app]
        assert state.chosen_at is not None
        assert HOUR.total_seconds() < state.window_s <= DAY.total_seconds()
    quiet = [rule for rule, _ in told.fired if rule != "faithfulness drop"]
    assert quiet == [], "nothing else changed"


def test_errors_are_told_as_errors_and_not_as_bad_retrieval() -> None:
    chance = random.Random(5)
    began = MONDAY + DAY
    facts = steadily("shop", lambda at: 12.0, MONDAY, began + DAY, chance, lambda at: 1.0)
    facts = [
        fact
        if fact.trace.started_at < began or chance.random() > 0.3
        else asked("shop", fact.trace.started_at, failed=True)
        for fact in facts
    ]

    told = watch(facts, MONDAY + HOUR, began + DAY)

    assert told.rules("shop") == {"error rate"}
    assert told.fired["error rate", "shop"] <= began + DAY


def test_an_office_hours_app_is_never_missed_at_night_or_on_weekends() -> None:
    facts = steadily("desk", office_hours(30.0), MONDAY, MONDAY + 14 * DAY, random.Random(7))

    told = watch(facts, MONDAY + 9 * HOUR, MONDAY + 14 * DAY, only={"no data", "traffic"})

    assert told.rules("desk") == set()
    assert Verdict.OK in {one for _, one in told.verdicts["no data", "desk"]}


def test_an_office_hours_app_that_dies_is_missed_on_its_next_working_day() -> None:
    died = MONDAY + 9 * DAY + 12 * HOUR  # a Wednesday at noon
    facts = steadily("desk", office_hours(30.0), MONDAY, died, random.Random(7))

    told = watch(facts, died - 6 * HOUR, died + DAY, only={"no data"})

    assert "no data" in told.rules("desk")
    assert told.fired["no data", "desk"] <= died + 3 * HOUR


def test_golden_runs_and_a_handful_of_traces_are_not_missed() -> None:
    chance = random.Random(9)
    nightly = [
        fact
        for day in range(14)
        for fact in steadily(
            "golden",
            lambda at: 300.0,
            MONDAY + day * DAY + 2 * HOUR,
            MONDAY + day * DAY + 3 * HOUR,
            chance,
        )
        if day != 12
    ]
    once = steadily("tried", lambda at: 8.0, MONDAY + HOUR, MONDAY + 2 * HOUR, chance)

    told = watch([*nightly, *once], MONDAY + 3 * HOUR, MONDAY + 14 * DAY, only={"no data"})

    assert {rule for rule, _ in told.fired} == set()
