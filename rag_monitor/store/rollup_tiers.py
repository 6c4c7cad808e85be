"""Rollups of ten minutes, an hour and a day: what keeps long windows as cheap as short ones.

A block is the sum of the minutes in it. Whoever rewrites a minute marks its blocks stale in the
same transaction; a stale block is never read, its shorter blocks and minutes are read instead, so
that a number never depends on whether the blocks were built. They are built once they are quiet.
A block without a mark and without rows had no traces.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, or_, select

from rag_monitor.domain.rollup import Rollup
from rag_monitor.domain.stored import StaleBlock
from rag_monitor.store import bulk, rollup_rows
from rag_monitor.store.rollup_rows import dump_rollup
from rag_monitor.store.tables import rollup_blocks, rollups, stale_blocks

TIERS: Final = (1440, 60, 10)
"""Minutes of a block, longest first; each begins at a multiple of itself since 1970, in UTC."""
QUIET: Final = {
    10: timedelta(seconds=20),
    60: timedelta(minutes=2),
    1440: timedelta(minutes=15),
}
"""How long nothing must have changed in a block before it is built."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE: Final = timedelta(minutes=1)
_BITS: Final = 62
_RUNS: Final = 100
"""Stretches per statement."""

Place = tuple[str, str, datetime]
"""Project, app and minute."""


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring blocks of one length (1: minutes), from `start` up to `end`."""

    minutes: int
    start: datetime
    end: datetime


def floor_to(moment: datetime, minutes: int) -> datetime:
    """The start of the block of that length in which `moment` lies."""
    return moment - (moment - _EPOCH) % (minutes * _MINUTE)


def ceil_to(moment: datetime, minutes: int) -> datetime:
    """The first start of a block of that length at or after `moment`."""
    return moment + (_EPOCH - moment) % (minutes * _MINUTE)


def tiers_for(start: datetime, step: timedelta | None) -> tuple[int, ...]:
    """The blocks that never reach over the end of a step, for steps that begin at `start`."""
    if step is None:
        return TIERS
    return tuple(
        minutes
        for minutes in TIERS
        if not step % (minutes * _MINUTE) and floor_to(start, minutes) == start
    )


def cover(
    start: datetime,
    end: datetime,
    lengths: Sequence[int],
    stale: Iterable[tuple[int, datetime]] = (),
) -> list[Run]:
    """The minutes from `start` up to `end` as few runs: the longest blocks that are not stale."""
    marked: dict[int, list[datetime]] = defaultdict(list)
    for minutes, place in sorted(stale):
        marked[minutes].append(place)
    runs: list[Run] = []
    for run in _cover(start, end, tuple(lengths), marked):
        last = runs[-1] if runs else None
        if last is not None and last.minutes == run.minutes and last.end == run.start:
            runs[-1] = Run(run.minutes, last.start, run.end)
        else:
            runs.append(run)
    return runs


def _cover(
    start: datetime,
    end: datetime,
    lengths: tuple[int, ...],
    stale: Mapping[int, Sequence[datetime]],
) -> Iterator[Run]:
    if start >= end:
        return
    if not lengths:
        yield Run(1, start, end)
        return
    minutes, *shorter = lengths
    rest = tuple(shorter)
    first, last = ceil_to(start, minutes), floor_to(end, minutes)
    if first >= last:
        yield from _cover(start, end, rest, stale)
        return
    yield from _cover(start, first, rest, stale)
    marks, place = stale.get(minutes, ()), first
    for mark in marks[bisect_left(marks, first) : bisect_left(marks, last)]:
        if place < mark:
            yield Run(minutes, place, mark)
        place = mark + minutes * _MINUTE
        yield from _cover(mark, place, rest, stale)
    if place < last:
        yield Run(minutes, place, last)
    yield from _cover(last, end, rest, stale)


def load_sums(
    connection: Connection,
    project: str,
    apps: Sequence[str],
    start: datetime,
    end: datetime,
    lengths: Sequence[int],
    filters: Mapping[str, str | Sequence[str]],
    steps: tuple[datetime, timedelta] | None = None,
) -> list[Rollup]:
    """Rollups that add up to the minutes from `start` up to `end`, in no order.

    Per key there is one, or a few where stretches of different kinds meet.

    Args:
        connection: A reading one.
        project: Tenant.
        apps: Applications; of several each has rows of its own.
        start: Start of a minute.
        end: Start of the first minute beyond.
        lengths: Blocks that may be used, longest first.
        filters: Values that columns (metric, release, judge) must have; of several any.
        steps: Start of the first step, and the length of all: steps are not added up.
    """
    first, step = steps if steps is not None else (start, None)
    postgresql = connection.dialect.name == "postgresql"
    stale = _stale(connection, project, apps, start, end, lengths) if lengths else {}
    # Most apps have the same blocks, or the same stale ones: they are asked for in one stretch.
    alike: dict[Run, list[str]] = defaultdict(list)
    for app in apps:
        for run in cover(start, end, lengths, stale.get(app, ())):
            alike[run].append(app)
    loaded: list[Rollup] = []
    for table, mine in (
        (rollups, [run for run in alike if run.minutes == 1]),
        (rollup_blocks, [run for run in alike if run.minutes > 1]),
    ):
        sums = rollup_rows.select_sums(table, first, step, postgresql=postgresql)
        for place in range(0, len(mine), _RUNS):
            # All that is asked stands in every part: what they have in common, set apart, would be
            # all that SQLite looks for in the index, and so it would read all of the history.
            stretches = (
                and_(
                    table.c.project == project,
                    has(table.c.app, alike[run]),
                    *(has(table.c[name], value) for name, value in filters.items()),
                    _within(table, run),
                )
                for run in mine[place : place + _RUNS]
            )
            statement = sums.where(or_(*stretches))
            loaded += rollup_rows.load_sums(connection.execute(statement).all())
    return loaded


def has(column: ColumnElement[Any], value: str | Sequence[str]) -> ColumnElement[bool]:
    """Whether a column has the value, or one of several."""
    if isinstance(value, str):
        return column == value
    return column == value[0] if len(value) == 1 else column.in_(value)


def _within(table: Table, run: Run) -> Any:
    inside = and_(table.c.minute >= run.start, table.c.minute < run.end)
    return inside if run.minutes == 1 else and_(table.c.minutes == run.minutes, inside)


def _stale(
    connection: Connection,
    project: str,
    apps: Sequence[str],
    start: datetime,
    end: datetime,
    lengths: Sequence[int],
) -> dict[str, set[tuple[int, datetime]]]:
    """Length and start of the blocks not to read, by app."""
    mark = stale_blocks.c
    rows = connection.execute(
        select(mark.app, mark.minutes, mark.minute).where(
            mark.project == project,
            has(mark.app, apps),
            mark.minutes.in_(lengths),
            mark.minute >= start,
            mark.minute < end,
        )
    )
    blocks: dict[str, set[tuple[int, datetime]]] = defaultdict(set)
    for app, minutes, minute in rows:
        blocks[app].add((minutes, minute))
    return blocks


def invalidate(connection: Connection, places: Iterable[Place], now: datetime) -> None:
    """Mark the blocks of these minutes stale. A mark set anew never equals an old one."""
    blocks = {
        (project, app, minutes, floor_to(minute, minutes))
        for project, app, minute in places
        for minutes in TIERS
    }
    rows = [
        {
            "project": project,
            "app": app,
            "minutes": minutes,
            "minute": minute,
            "version": secrets.randbits(_BITS),
            "marked_at": now,
        }
        for project, app, minutes, minute in sorted(blocks)  # one order: no deadlocks
    ]
    bulk.upsert(connection, stale_blocks, rows)


def due(connection: Connection, now: datetime, limit: int) -> list[StaleBlock]:
    """Stale blocks that are over and quiet, short ones first: long ones are built from them."""
    blocks: list[StaleBlock] = []
    for minutes in reversed(TIERS):
        if len(blocks) >= limit:
            break
        table = stale_blocks.c
        rows = connection.execute(
            select(table.project, table.app, table.minutes, table.minute, table.version)
            .where(
                table.minutes == minutes,
                table.marked_at <= now - QUIET[minutes],
                table.minute <= now - minutes * _MINUTE,
            )
            .order_by(table.marked_at)
            .limit(limit - len(blocks))
        )
        blocks += [StaleBlock(*row) for row in rows]
    return blocks


def save(connection: Connection, block: StaleBlock, sums: Sequence[Rollup]) -> bool:
    """Write the rows of a block and take its mark away; False if it was marked anew meanwhile."""
    mine = stale_blocks.c
    cleared = connection.execute(
        delete(stale_blocks).where(*_same_block(stale_blocks, block), mine.version == block.version)
    )
    if not cleared.rowcount:
        return False
    connection.execute(delete(rollup_blocks).where(*_same_block(rollup_blocks, block)))
    rows = [dump_rollup(rollup) | {"minutes": block.minutes} for rollup in sums]
    bulk.insert(connection, rollup_blocks, rows)
    return True


def _same_block(table: Table, block: StaleBlock) -> tuple[Any, ...]:
    return (
        table.c.project == block.project,
        table.c.app == block.app,
        table.c.minutes == block.minutes,
        table.c.minute == block.minute,
    )
