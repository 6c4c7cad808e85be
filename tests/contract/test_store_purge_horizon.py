"""Rollups are kept longer than traces: what counts forgotten traces must not change any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.totals import merged
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.window import Window
from rag_monitor.store import purge_horizon
from rag_monitor.store.store import Store
from rag_monitor.store.tables import rollups
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import claim, ingest

_KEPT = RetentionPolicy(traces_days=30, scores_days=400)
_LATER = timedelta(days=31)


def _trace(number: int, **fields: object):
    began = EPOCH + timedelta(seconds=number % 50)
    return make_trace(f"q{number}", "a", (), id=str(number), **({"started_at": began} | fields))


def _roll_up(store: Store) -> None:
    dirty = store.rollups.changed()
    store.rollups.replace(dirty, summarise(store.rollups.facts(dirty)))


def _fold(store: Store, clock: ManualClock) -> None:
    now = clock.now() + timedelta(days=2)
    for block in store.rollups.stale(now):
        store.rollups.put_blocks([(block, merged(store.rollups.parts(block), block.minute))])


def _counted(store: Store, app: str = "test-app") -> int:
    window = Window(EPOCH - timedelta(days=2), EPOCH + timedelta(days=2))
    return sum(
        Estimates(store.rollups)
        .traces(Selection(project="default", app=app, window=window))
        .values()
    )


def _judge(store: Store, at) -> None:
    for task in claim(store, at=at):
        score = Score(
            metric="faithfulness",
            status=ScoreStatus.SCORED,
            value=0.9,
            created_at=at,
        )
        store.tasks.complete(task, [score])


def _forget(store: Store, clock: ManualClock, policy: RetentionPolicy = _KEPT) -> None:
    clock.set(EPOCH + _LATER)
    store.retention.run(clock.now(), policy)


def test_a_trace_that_comes_after_its_minute_was_forgotten_is_added(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, *(_trace(number) for number in range(5)))
    _roll_up(store)
    _fold(store, clock)
    _forget(store, clock)

    ingest(store, _trace(9), at=clock.now())
    _roll_up(store)

    assert _counted(store) == 6
    _fold(store, clock)
    assert _counted(store) == 6


def test_a_trace_that_came_late_stays_counted_once_when_it_changes(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, *(_trace(number) for number in range(5)))
    _roll_up(store)
    _forget(store, clock)
    ingest(store, _trace(9), at=clock.now())
    _roll_up(store)

    store.rollups.mark_changed([("default", "test-app", EPOCH)], clock.now())
    _roll_up(store)

    assert _counted(store) == 6


def test_what_is_imported_again_after_it_was_forgotten_counts_once(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, *(_trace(number) for number in range(5)))
    _judge(store, EPOCH)
    _roll_up(store)
    _forget(store, clock)

    ingest(store, *(_trace(number) for number in range(7)), at=clock.now())
    _judge(store, clock.now())
    _roll_up(store)

    assert _counted(store) == 7


def test_an_app_that_keeps_less_has_its_numbers_as_long_as_others(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, _trace(1, app="short"), _trace(2, app="long"))
    _roll_up(store)
    clock.set(EPOCH + timedelta(days=3))
    store.retention.run(clock.now(), replace(_KEPT, apps={"short": 1}))

    ingest(store, _trace(3, app="short"), _trace(4, app="long"), at=clock.now())
    _roll_up(store)

    assert (_counted(store, "short"), _counted(store, "long")) == (2, 2)


def test_an_erased_user_leaves_the_minutes_whose_traces_are_there(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, _trace(1, user_id="u"), _trace(2))
    _roll_up(store)
    _forget(store, clock)
    ingest(store, _trace(3, user_id="u"), _trace(4), at=clock.now())
    _roll_up(store)

    store.traces.erase_user("default", "u")
    _roll_up(store)

    assert _counted(store) == 3


@pytest.mark.parametrize(("arrived", "counted"), [(timedelta(0), 6), (timedelta(days=20), 2)])
def test_rows_of_an_earlier_release_last_unless_they_are_imported_history(
    store: Store, clock: ManualClock, arrived: timedelta, counted: int
) -> None:
    first = 5 if arrived == timedelta(0) else 1
    clock.set(EPOCH + arrived)
    ingest(store, *(_trace(number) for number in range(first)), at=clock.now())
    _roll_up(store)
    with store._database.write() as connection:
        connection.execute(update(rollups).values(arrived=None))
    _forget(store, clock)

    ingest(store, _trace(9), at=clock.now())
    _roll_up(store)

    assert _counted(store) == counted


def test_a_clock_that_was_ahead_does_not_stop_the_counting(
    store: Store, clock: ManualClock
) -> None:
    store.retention.run(EPOCH + timedelta(days=400), _KEPT)

    ingest(store, _trace(1))
    _roll_up(store)
    assert _counted(store) == 1

    store.retention.run(EPOCH, _KEPT)
    with store._database.read() as connection:
        gone = purge_horizon.load(connection, EPOCH.date())
    assert gone.before("test-app") == EPOCH.date() - timedelta(days=30)


def test_a_longer_policy_brings_no_forgotten_day_back(store: Store, clock: ManualClock) -> None:
    ingest(store, _trace(1))
    _roll_up(store)
    _forget(store, clock)
    store.retention.run(clock.now(), replace(_KEPT, traces_days=90))

    ingest(store, _trace(2), at=clock.now())
    _roll_up(store)

    assert _counted(store) == 2


def test_an_app_whose_traces_are_gone_is_known_by_its_numbers(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, _trace(1, app="quiet"), _trace(2, app="live"))
    _roll_up(store)
    _forget(store, clock)
    ingest(store, _trace(3, app="live", started_at=clock.now()), at=clock.now())

    found = store.traces.apps("default")

    assert [(app.app, app.kept, app.last_seen) for app in found] == [
        ("live", 1, clock.now()),
        ("quiet", 0, EPOCH),
    ]
    assert store.traces.app_names("default") == ["live"]


def test_releases_whose_traces_are_gone_can_still_be_compared(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, _trace(1, release="v1"), _trace(2))
    ingest(store, _trace(3, release="v2", started_at=EPOCH + timedelta(days=1)))
    _roll_up(store)
    _fold(store, clock)
    _forget(store, clock)
    now = clock.now()
    ingest(store, *(_trace(9 + n, release=f"v{n}", started_at=now) for n in (3, 2)), at=now)

    assert set(store.traces.releases("default", "test-app")[:2]) == {"v2", "v3"}
    assert store.traces.releases("default", "test-app")[2:] == ["v1"]
