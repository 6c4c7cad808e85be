"""Minutes added up to tens, hours and days, on each database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import delete

from rag_monitor.aggregation.totals import merged
from rag_monitor.domain.rollup import Rollup, RollupKey, RollupQuery
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.window import Window
from rag_monitor.store.store import Store
from rag_monitor.store.tables import rollups
from rag_monitor.testing import EPOCH, ManualClock

_APP = "test-app"
_LAST_HOUR = EPOCH + timedelta(hours=70)
"""Of the 600 minutes written below; blocks of less than ten minutes there are none."""


def _rollup(minute: datetime, count: int, metric: str = "faithfulness") -> Rollup:
    key = RollupKey(project="default", app=_APP, metric=metric, minute=minute, judge="j")
    return Rollup(
        key=key, count=count, total=count / 2, histogram=(count, 0), moments={"w2y": float(count)}
    )


def _write(store: Store, now: datetime, *rows: Rollup) -> None:
    store.rollups.mark_changed({("default", _APP, row.key.minute) for row in rows}, now)
    store.rollups.replace(store.rollups.changed(100_000), rows)


def _fold(store: Store, now: datetime) -> int:
    built = 0
    while stale := store.rollups.stale(now, 1000):
        shortest = [block for block in stale if block.minutes == stale[0].minutes]
        built += store.rollups.put_blocks(
            [(block, merged(store.rollups.parts(block), block.minute)) for block in shortest]
        )
    return built


def _sums(
    store: Store, window: Window, *, step: timedelta | None = None, **filters: str
) -> list[Rollup]:
    wanted = {"project": "default", "app": _APP, **filters}
    return store.rollups.load_sums(RollupQuery(window=window, **wanted), step)


def _count(rows: Sequence[Rollup]) -> int:
    return sum(row.count for row in rows)


def _days(number: int) -> Window:
    return Window(EPOCH, EPOCH + timedelta(days=number))


def test_built_blocks_give_the_sums_of_their_minutes_in_fewer_rows(
    store: Store, clock: ManualClock
) -> None:
    minutes = [EPOCH + timedelta(minutes=7 * n) for n in range(600)]
    _write(store, EPOCH, *(_rollup(minute, 1) for minute in minutes))
    clock.advance(timedelta(days=4))
    window = _days(3)

    (before,) = _sums(store, window, metric="faithfulness")
    built = _fold(store, clock.now())
    with store._database.write() as connection:  # what the blocks hold is not read from minutes
        connection.execute(delete(rollups).where(rollups.c.minute < _LAST_HOUR))
    after = _sums(store, window, metric="faithfulness")

    assert built > 3
    assert before.count == _count(after) == 600
    assert before.key.minute == EPOCH
    assert len(after) <= 2, "one of blocks, one of minutes"
    assert sum(row.moments["w2y"] for row in after) == before.moments["w2y"] == 600.0
    assert sum(row.histogram[0] for row in after) == before.histogram[0] == 600
    assert store.rollups.stale(clock.now()) == []


def test_rows_are_added_up_field_by_field_and_per_key(store: Store) -> None:
    first = _rollup(EPOCH, 3)
    key = first.key
    later = EPOCH + timedelta(minutes=3)
    rows = [
        first,
        replace(
            first,
            key=replace(key, minute=later),
            bad=2,
            failed=1,
            squares=0.25,
            weight=1.5,
            histogram=(1, 4),
            moments={"w2y": 1.0, "other": 2.0},
        ),
        replace(first, key=replace(key, minute=later, release="v2"), histogram=(), moments={}),
        replace(first, key=replace(key, minute=later, dimension="d"), count=9),
    ]
    _write(store, EPOCH, *rows)

    found = _sums(store, _days(1))

    def by_key(row: Rollup) -> tuple[str, ...]:
        return (row.key.release, row.key.judge, row.key.dimension)

    expected = [replace(row, key=replace(row.key, minute=EPOCH)) for row in merged(rows)]
    assert [
        replace(row, key=replace(row.key, minute=EPOCH)) for row in sorted(found, key=by_key)
    ] == (sorted(expected, key=by_key))
    assert {type(row.count) for row in found} == {int}


def test_a_rewritten_minute_is_seen_at_once_although_its_blocks_were_built(
    store: Store, clock: ManualClock
) -> None:
    _write(store, EPOCH, _rollup(EPOCH, 1), _rollup(EPOCH + timedelta(hours=2), 10))
    clock.advance(timedelta(days=2))
    _fold(store, clock.now())

    _write(store, clock.now(), _rollup(EPOCH, 5))

    assert _count(_sums(store, _days(1))) == 15
    clock.advance(timedelta(hours=1))
    assert _fold(store, clock.now()) == 3
    assert _count(_sums(store, _days(1))) == 15


def test_a_block_that_changed_while_it_was_added_up_stays_stale(
    store: Store, clock: ManualClock
) -> None:
    _write(store, EPOCH, _rollup(EPOCH, 1))
    clock.advance(timedelta(days=2))
    ten = store.rollups.stale(clock.now())[0]
    read = merged(store.rollups.parts(ten), ten.minute)
    _write(store, clock.now(), _rollup(EPOCH, 5))

    assert store.rollups.put_blocks([(ten, read)]) == 0

    assert _count(_sums(store, _days(1))) == 5


def test_a_block_is_built_only_when_it_is_over_and_quiet(store: Store, clock: ManualClock) -> None:
    _write(store, clock.now(), _rollup(EPOCH, 1))

    assert store.rollups.stale(EPOCH + timedelta(minutes=9)) == []
    assert [block.minutes for block in store.rollups.stale(EPOCH + timedelta(minutes=11))] == [10]
    late = EPOCH + timedelta(days=1, minutes=20)
    assert [block.minutes for block in store.rollups.stale(late)] == [10, 60, 1440]


def test_rows_of_a_step_never_reach_into_the_next(store: Store, clock: ManualClock) -> None:
    minutes = [EPOCH + timedelta(minutes=n) for n in range(180)]
    _write(store, EPOCH, *(_rollup(minute, 1) for minute in minutes))
    clock.advance(timedelta(days=4))
    _fold(store, clock.now())
    step = timedelta(minutes=30)

    rows = _sums(store, _days(1), metric="faithfulness", step=step)

    per_step = [0] * 6
    for row in rows:
        per_step[(row.key.minute - EPOCH) // step] += row.count
    assert per_step == [30] * 6
    assert len(rows) == 6


def test_other_metrics_releases_and_judges_are_left_out(store: Store) -> None:
    _write(store, EPOCH, _rollup(EPOCH, 1), _rollup(EPOCH, 2, "context_precision"))

    assert _count(_sums(store, _days(1), metric="context_precision")) == 2
    assert _sums(store, _days(1), release="x") == []
    assert _count(_sums(store, _days(1), judge="j")) == 3
    assert _sums(store, _days(1), project="other") == []
    assert _sums(store, _days(1), app="other") == []


def test_several_apps_are_added_up_together_each_from_its_own_blocks(
    store: Store, clock: ManualClock
) -> None:
    """One has built blocks, one a minute rewritten since, one nothing; one is not asked."""
    named = ("a", "b", "c", "d")
    minutes = [EPOCH + timedelta(minutes=7 * n) for n in range(600)]
    for weight, app in enumerate(named[:2] + named[3:], start=1):
        for metric in ("faithfulness", "traces"):
            rows = [_rollup(minute, weight, metric) for minute in minutes]
            mine = [replace(row, key=replace(row.key, app=app)) for row in rows]
            places = {("default", app, row.key.minute) for row in mine}
            store.rollups.mark_changed(places, EPOCH)
            others = store.rollups.load(RollupQuery(project="default", window=_days(3), app=app))
            store.rollups.replace(store.rollups.changed(100_000), [*others, *mine])
    clock.advance(timedelta(days=4))
    _fold(store, clock.now())
    again = [
        replace(
            _rollup(minutes[40], 50, metric),
            key=replace(_rollup(minutes[40], 0, metric).key, app="b"),
        )
        for metric in ("faithfulness", "traces")
    ]
    store.rollups.mark_changed({("default", "b", minutes[40])}, clock.now())
    store.rollups.replace(store.rollups.changed(100_000), again)

    window = _days(2)
    together = RollupQuery(
        project="default", window=window, apps=named[:3], metrics=("faithfulness", "refusal_rate")
    )
    found = merged(store.rollups.load_sums(together), EPOCH)
    alone = [
        row
        for app in named[:3]
        for row in merged(_sums(store, window, app=app, metric="faithfulness"), EPOCH)
    ]

    assert sorted(found, key=lambda row: row.key.app) == alone
    assert [(row.key.app, row.count) for row in alone] == [("a", 412), ("b", 2 * 411 + 50)]
    assert {row.key.app for row in store.rollups.load(together)} == {"a", "b"}
    assert {row.key.metric for row in store.rollups.load(together)} == {"faithfulness"}


def test_sums_of_no_app_in_particular_are_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="by app"):
        store.rollups.load_sums(RollupQuery(project="default", window=_days(1)))


def test_retention_takes_blocks_away_with_their_minutes(store: Store, clock: ManualClock) -> None:
    later = EPOCH + timedelta(days=2)
    _write(store, EPOCH, _rollup(EPOCH, 1), _rollup(later, 2))
    clock.advance(timedelta(days=4))
    _fold(store, clock.now())

    store.retention.run(later + timedelta(hours=5), RetentionPolicy(scores_days=1))

    assert _count(_sums(store, _days(5))) == 2


def test_sums_per_bucket_add_up_over_minutes_and_blocks(store: Store, clock: ManualClock) -> None:
    dense, sparse = [float(bucket) for bucket in range(64)], [0.0] * 63 + [0.25]
    rows = [
        replace(_rollup(EPOCH + timedelta(minutes=n), 1), clusters={"r": dense, "f:1": sparse})
        for n in range(25)
    ]
    _write(store, EPOCH, *rows)
    clock.advance(timedelta(days=4))

    minutes = store.rollups.load(RollupQuery(project="default", app=_APP, window=_days(1)))
    before = _sums(store, _days(1))
    _fold(store, clock.now())
    after = _sums(store, _days(1))

    assert [list(row.clusters["r"]) for row in minutes] == [dense] * 25
    for found in (before, after):
        sums = merged(found)[0].clusters
        assert list(sums["r"]) == [25.0 * value for value in dense]
        assert list(sums["f:1"]) == [25.0 * value for value in sparse]
    assert _sums(store, _days(1), metric="nothing") == []


def test_a_sum_that_overflowed_is_read_back_as_it_was_written(store: Store) -> None:
    odd = replace(_rollup(EPOCH, 1), moments={"label_rr": float("inf")})
    _write(store, EPOCH, odd, _rollup(EPOCH + timedelta(minutes=1), 2))

    minutes = store.rollups.load(RollupQuery(project="default", app=_APP, window=_days(1)))

    assert [row.moments.get("label_rr") for row in minutes] == [float("inf"), None]
    assert merged(_sums(store, _days(1)))[0].moments["label_rr"] == float("inf")
