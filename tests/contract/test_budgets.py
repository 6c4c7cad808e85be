"""The budget's ledger on each database: what is set aside, used, and given back."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.domain.ports import Reservation
from rag_monitor.domain.stored import BudgetLimits
from rag_monitor.store.budgets import Budgets
from rag_monitor.store.store import Store
from rag_monitor.store.tables import reservations
from rag_monitor.testing import ManualClock

USED = JudgeUsage(input_tokens=30, output_tokens=5, cost=0.25)


def _ledger(store: Store, clock: ManualClock, **limits: float) -> Budgets:
    return Budgets(store._database, clock, {"j": BudgetLimits(**limits)})


def _held(ledger: Budgets, tokens: int, output: int = 0, cost: float = 0.0) -> Reservation:
    estimate = JudgeUsage(input_tokens=tokens, output_tokens=output, cost=cost)
    found = ledger.reserve("p", "j", estimate)
    assert found is not None
    return found


def _spent(ledger: Budgets, day: Reservation) -> tuple[int, float, float]:
    (row,) = ledger.spent("p", day.day)
    return row.tokens, row.gpu_seconds, row.money


def _let_pass(store: Store, time: timedelta) -> None:
    """Whatever the database takes for the time: reservations run out as if so much had passed."""
    with store._database.write() as connection:
        for row in connection.execute(select(reservations)).all():
            connection.execute(
                update(reservations)
                .where(reservations.c.id == row.id)
                .values(held_until=row.held_until - time)
            )


def test_a_budget_holds_across_reservations(store: Store, clock: ManualClock) -> None:
    limits = {"j": BudgetLimits(tokens=100, money=1.0)}
    ledger = Budgets(store._database, clock, limits)
    other = Budgets(store._database, clock, limits)
    estimate = JudgeUsage(input_tokens=40, output_tokens=10)

    held = ledger.reserve("p", "j", estimate)
    assert held is not None
    assert held.day == clock.now().date()
    assert other.reserve("p", "j", estimate)
    assert ledger.reserve("p", "j", estimate) is None
    assert ledger.state("p", "j").exhausted
    ledger.settle(held, JudgeUsage(input_tokens=10, cost=0.25))
    assert ledger.state("p", "j").remaining == pytest.approx(0.4)
    assert ledger.reserve("q", "j", estimate)
    assert ledger.reserve("p", "unlimited", JudgeUsage(input_tokens=10**9))
    clock.advance(timedelta(days=1))
    assert ledger.state("p", "j").remaining == 1.0


def test_reservations_at_the_same_time_share_one_budget(store: Store, clock: ManualClock) -> None:
    ledgers = [_ledger(store, clock, tokens=1000) for _ in range(4)]

    def spend(number: int) -> int:
        ledger = ledgers[number % 4]
        held = ledger.reserve("p", "j", JudgeUsage(input_tokens=70))
        if held is None:
            return 0
        more = ledger.extend(held, JudgeUsage(input_tokens=30))
        ledger.settle(more or held, JudgeUsage(input_tokens=100 if more else 70))
        return 100 if more else 70

    with ThreadPoolExecutor(8) as pool:
        used = sum(pool.map(spend, range(40)))

    (row,) = ledgers[0].spent("p", clock.now().date())
    assert row.tokens == used
    assert 900 < used <= 1000
    assert ledgers[0].release() == 0, "all were settled"


def test_what_was_reserved_before_midnight_is_settled_on_that_day(
    store: Store, clock: ManualClock
) -> None:
    ledger = _ledger(store, clock, tokens=100)
    yesterday = _held(ledger, 90)
    clock.advance(timedelta(days=1))

    ledger.settle(yesterday, JudgeUsage(input_tokens=30))

    assert _spent(ledger, yesterday)[0] == 30
    assert ledger.reserve("p", "j", JudgeUsage(input_tokens=101)) is None, "no gift to the new day"


def test_more_is_set_aside_on_the_day_on_which_the_judgement_began(
    store: Store, clock: ManualClock
) -> None:
    ledger = _ledger(store, clock, tokens=100)
    yesterday = _held(ledger, 30)
    clock.advance(timedelta(days=1))

    more = ledger.extend(yesterday, JudgeUsage(input_tokens=70))

    assert more is not None
    assert more.day == yesterday.day
    assert ledger.extend(more, JudgeUsage(input_tokens=1)) is None
    assert ledger.state("p", "j").remaining == 1.0
    ledger.settle(more, USED)
    assert _spent(ledger, yesterday) == (35, 0.0, 0.25)


def test_what_is_known_only_afterwards_stops_at_its_limit(store: Store, clock: ManualClock) -> None:
    ledger = _ledger(store, clock, gpu_seconds=10.0)
    first = _held(ledger, 1000)

    ledger.settle(first, JudgeUsage(input_tokens=900, gpu_seconds=9.0))
    second = _held(ledger, 1000)
    ledger.settle(second, JudgeUsage(input_tokens=900, gpu_seconds=1.5))

    estimate = JudgeUsage(input_tokens=1000)
    assert ledger.reserve("p", "j", estimate) is None
    assert not ledger.allows("p", "j", estimate)


def test_asking_whether_a_budget_allows_something_takes_nothing_from_it(
    store: Store, clock: ManualClock
) -> None:
    ledger = _ledger(store, clock, tokens=100, money=1.0)

    assert ledger.allows("p", "j", JudgeUsage(input_tokens=100, cost=1.0))
    assert not ledger.allows("p", "j", JudgeUsage(input_tokens=101))
    assert not ledger.allows("p", "j", JudgeUsage(input_tokens=1, cost=1.01))
    assert ledger.allows("p", "unlimited", JudgeUsage(input_tokens=10**9))
    assert ledger.spent("p", clock.now().date()) == []
    assert ledger.reserve("p", "j", JudgeUsage(input_tokens=90))
    assert ledger.allows("p", "j", JudgeUsage(input_tokens=10))
    assert not ledger.allows("p", "j", JudgeUsage(input_tokens=11))
    assert ledger.allows("q", "j", JudgeUsage(input_tokens=100))


def test_what_a_dead_worker_had_set_aside_comes_back_but_for_what_it_had_sent(
    store: Store, clock: ManualClock
) -> None:
    dead, living = (_ledger(store, clock, tokens=300, money=3.0) for _ in range(2))
    waiting = _held(dead, 90, 10, cost=1.0)
    under_way = dead.note_sent(_held(dead, 90, 10, cost=1.0), JudgeUsage(input_tokens=90, cost=0.5))
    del dead
    assert living.release() == 0, "it may be at work"
    _let_pass(store, timedelta(minutes=3))

    assert living.release() == 2

    assert _spent(living, waiting) == (90, 0.0, 0.5)
    assert living.release() == 0, "once"
    living.settle(_held(living, 200), USED)
    assert _spent(living, under_way) == (125, 0.0, 0.75)


def test_what_a_judgement_under_way_needs_is_held_as_long_as_it_takes(
    store: Store, clock: ManualClock
) -> None:
    ledger = _ledger(store, clock, tokens=300)
    slow = ledger.note_sent(_held(ledger, 100), JudgeUsage(input_tokens=100))
    forgotten = _held(ledger, 50)
    day = forgotten.day
    del forgotten
    gc.collect()

    for _ in range(3):
        _let_pass(store, timedelta(minutes=1))
        assert ledger.renew() == 1
    released = ledger.release()

    assert released == 1, "nobody settles what was forgotten"
    assert _spent(ledger, slow)[0] == 100
    ledger.settle(slow, USED)
    assert ledger.renew() == 0
    assert [(row.day, row.tokens) for row in ledger.spent("p", day)] == [(day, 35)]


@pytest.mark.parametrize("noted", [0, 90])
def test_one_taken_for_dead_that_goes_on_pays_what_it_used_and_no_more(
    store: Store, clock: ManualClock, noted: int
) -> None:
    """Its process was stopped for a while: a debugger, a suspended machine."""
    ledger, other = (_ledger(store, clock, tokens=300, money=3.0) for _ in range(2))
    ends, goes_on, extends = (
        ledger.note_sent(_held(ledger, 90, 10, 1.0), JudgeUsage(input_tokens=noted))
        for _ in range(3)
    )
    _let_pass(store, timedelta(minutes=3))
    assert other.release() == 3
    assert _spent(other, ends)[0] == 3 * noted

    ledger.settle(ends, USED)
    assert _spent(other, ends)[0] == 35 + 2 * noted
    goes_on = ledger.note_sent(goes_on, JudgeUsage(input_tokens=90, cost=0.5))
    assert _spent(other, ends)[0] == 35 + 100 + noted, "held again"
    ledger.settle(goes_on, USED)
    more = ledger.extend(extends, JudgeUsage(input_tokens=20))
    assert more is not None
    assert _spent(other, ends)[0] == 70 + 120
    ledger.settle(more, USED)

    assert _spent(other, ends) == pytest.approx((105, 0.0, 0.75))


def test_a_clock_that_was_ahead_holds_nothing_for_long(store: Store, clock: ManualClock) -> None:
    ledger = _ledger(store, clock, tokens=300)
    held = _held(ledger, 100)
    _let_pass(store, -timedelta(days=2))

    assert ledger.release() == 1
    assert _spent(ledger, held)[0] == 0
