"""Rollups kept in memory between evaluations, so that each run reads only what is new.

Rules look at the same hours again and again: without this every rule reads its whole window from
the database every few seconds. Minutes of the last half day are kept per project and metric, and
added up in blocks, so that six hours are a few dozen additions. What may still change is read anew
by every run (`begin`): the youngest minutes, and those that were recomputed (`forget`).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor.aggregation.totals import RollupSource, Totals
from rag_monitor.domain.rollup import Rollup, RollupKey
from rag_monitor.domain.stored import DirtyMinute
from rag_monitor.domain.window import Window

_MINUTE: Final = timedelta(minutes=1)
BLOCKS: Final = (60, 10)
"""Minutes that are added up once and kept, longest first; each begins at a multiple of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOptions:
    """How much is kept, and for how long it is believed."""

    kept: timedelta = timedelta(hours=13)
    """Windows that begin earlier than this before the present are read from the source."""
    unsettled: timedelta = timedelta(minutes=10)
    """The youngest minutes: read anew by every run."""
    renewed: timedelta = timedelta(hours=1)
    """Everything is forgotten this often: another process may have changed an old minute."""
    max_rows: int = 200_000
    """Above this many rows (about 250 MB) no further metric is kept; it is read from the source."""


@dataclass(slots=True)
class _Column:
    """One metric of one project: what is known of it."""

    known: Window | None = None
    """The minutes that were read; those in `stale` must be read again."""
    minutes: dict[tuple[str, datetime], list[Rollup]] = field(default_factory=dict)
    """By app and minute; a minute without rows is not in it."""
    blocks: dict[tuple[str, int, datetime], list[Rollup]] = field(default_factory=dict)
    stale: set[tuple[str, datetime]] = field(default_factory=set)

    def put(self, rows: Iterable[Rollup]) -> None:
        """Add rows of minutes that hold nothing yet."""
        for row in rows:
            self.minutes.setdefault((row.key.app, row.key.minute), []).append(row)

    def drop(self, app: str, minute: datetime) -> None:
        """Forget one minute of one app, and the blocks it is part of."""
        self.minutes.pop((app, minute), None)
        for length in BLOCKS:
            start = minute - minute.minute % length * _MINUTE
            self.blocks.pop((app, length, start), None)

    def drop_outside(self, window: Window) -> None:
        """Forget what lies outside, and the blocks that reach over its ends."""
        self.minutes = {
            key: rows for key, rows in self.minutes.items() if window.start <= key[1] < window.end
        }
        self.blocks = {
            key: rows
            for key, rows in self.blocks.items()
            if window.start <= key[2] and key[2] + key[1] * _MINUTE <= window.end
        }
        self.stale = {key for key in self.stale if window.start <= key[1] < window.end}


class RollupMemory:
    """A rollup source in front of another. Safe to share between threads.

    Args:
        source: Where rollups come from.
        options: How much is kept.
        app: Read the rollups of this app only, and answer for no other; None: of every app.
    """

    def __init__(
        self,
        source: RollupSource,
        options: MemoryOptions | None = None,
        *,
        app: str | None = None,
    ) -> None:
        self._source = source
        self._app = app
        self._options = options or MemoryOptions()
        self._columns: dict[tuple[str, str], _Column] = defaultdict(_Column)
        self._lock = threading.Lock()
        self._earliest: datetime | None = None
        self._renewed_at: datetime | None = None

    def begin(self, now: datetime) -> None:
        """Start a run: the youngest minutes will be read again, the oldest are let go."""
        options = self._options
        with self._lock:
            self._earliest = now - options.kept
            if self._renewed_at is None or not (
                timedelta(0) <= now - self._renewed_at < options.renewed
            ):
                self._columns.clear()
                self._renewed_at = now
                return
            settled = _ceiling(now - options.unsettled) - _MINUTE
            for key, column in list(self._columns.items()):
                if column.known is None:
                    continue
                start = max(column.known.start, _ceiling(self._earliest))
                end = min(column.known.end, settled)
                if end <= start:
                    del self._columns[key]
                    continue
                column.known = Window(start, end)
                column.drop_outside(column.known)

    def clear(self) -> None:
        """Forget everything: another process wrote meanwhile."""
        with self._lock:
            self._columns.clear()

    def forget(self, changed: Iterable[DirtyMinute]) -> None:
        """Read these minutes again when they are asked for: they were recomputed."""
        with self._lock:
            for item in changed:
                for (project, _), column in self._columns.items():
                    known = column.known
                    if project != item.project or known is None:
                        continue
                    if known.start <= item.minute < known.end:
                        column.stale.add((item.app, item.minute))

    def load(
        self,
        project: str,
        window: Window,
        app: str | None = None,
        metric: str | None = None,
        release: str | None = None,
        judge: str | None = None,
    ) -> Sequence[Rollup]:
        """The rollups whose minute lies in the window; None does not filter."""
        with self._lock:
            mine = app is not None and self._app in (None, app)
            column = self._column(project, window, metric) if mine else None
            if column is None or app is None:
                return self._source.load(project, window, app, metric, release, judge)
            return [
                row
                for minute in _starts(window, _MINUTE)
                for row in column.minutes.get((app, minute), ())
                if _fits(row, release, judge)
            ]

    def load_sums(
        self,
        project: str,
        window: Window,
        app: str,
        metric: str,
        release: str | None = None,
        judge: str | None = None,
    ) -> Sequence[Rollup]:
        """As `load`, but rows of several minutes may come added up as one."""
        with self._lock:
            mine = self._app in (None, app)
            column = self._column(project, window, metric) if mine else None
            if column is None:
                return self._source.load(project, window, app, metric, release, judge)
            return [
                row
                for rows in _pieces(column, app, window)
                for row in rows
                if _fits(row, release, judge)
            ]

    def _column(self, project: str, window: Window, metric: str | None) -> _Column | None:
        """The column with the window read, or None where it is not worth keeping."""
        if metric is None or self._earliest is None or window.start < self._earliest:
            return None
        if (project, metric) not in self._columns and self._rows() > self._options.max_rows:
            return None
        column = self._columns[project, metric]
        needed = Window(
            _ceiling(window.start), max(_ceiling(window.end), _ceiling(window.start) + _MINUTE)
        )
        known = column.known
        if known is None:
            self._read(column, project, metric, needed)
            column.known = needed
        else:
            # Reading the gap as well keeps what is known in one piece.
            if needed.start < known.start:
                self._read(column, project, metric, Window(needed.start, known.start))
            if known.end < needed.end:
                self._read(column, project, metric, Window(known.end, needed.end))
            column.known = Window(min(known.start, needed.start), max(known.end, needed.end))
        self._reread(column, project, metric)
        return column

    def _rows(self) -> int:
        return sum(len(column.minutes) for column in self._columns.values())

    def _read(self, column: _Column, project: str, metric: str, window: Window) -> None:
        column.put(self._source.load(project, window, self._app, metric))

    def _reread(self, column: _Column, project: str, metric: str) -> None:
        """Read the minutes again that were recomputed since they were read."""
        known = column.known
        if not column.stale or known is None:
            return
        stale, column.stale = column.stale, set()
        by_app: dict[str, list[datetime]] = defaultdict(list)
        for app, minute in stale:
            if known.start <= minute < known.end:
                by_app[app].append(minute)
        for app, minutes in by_app.items():
            wanted = set(minutes)
            for minute in wanted:
                column.drop(app, minute)
            span = Window(min(wanted), max(wanted) + _MINUTE)
            rows = self._source.load(project, span, app, metric)
            column.put(row for row in rows if row.key.minute in wanted)


def _pieces(column: _Column, app: str, window: Window) -> Iterator[Sequence[Rollup]]:
    """The window as few rows: whole blocks where they fit, minutes at the ends."""
    place = _ceiling(window.start)
    while place < window.end:
        for length in BLOCKS:
            after = place + length * _MINUTE
            if place.minute % length == 0 and after <= window.end:
                yield _block(column, app, length, place)
                place = after
                break
        else:
            yield column.minutes.get((app, place), ())
            place += _MINUTE


def _block(column: _Column, app: str, length: int, start: datetime) -> Sequence[Rollup]:
    key = (app, length, start)
    found = column.blocks.get(key)
    if found is None:
        end = start + length * _MINUTE
        found = merged(
            (
                row
                for minute in _starts(Window(start, end), _MINUTE)
                for row in column.minutes.get((app, minute), ())
            ),
            start,
        )
        column.blocks[key] = found
    return found


def merged(rows: Iterable[Rollup], start: datetime) -> list[Rollup]:
    """One row per key, whatever the minute; dated `start`."""
    sums: dict[tuple[str, ...], Totals] = defaultdict(Totals)
    keys: dict[tuple[str, ...], RollupKey] = {}
    for row in rows:
        key = row.key
        name = (key.project, key.app, key.metric, key.release, key.judge, key.dimension)
        sums[name].add(row)
        keys[name] = key
    return [totals.rollup(replace(keys[name], minute=start)) for name, totals in sums.items()]


def _fits(row: Rollup, release: str | None, judge: str | None) -> bool:
    return (release is None or row.key.release == release) and (
        judge is None or row.key.judge == judge
    )


def _starts(window: Window, step: timedelta) -> Iterator[datetime]:
    place = _ceiling(window.start)
    while place < window.end:
        yield place
        place += step


def _ceiling(moment: datetime) -> datetime:
    moment = moment.astimezone(UTC)
    floor = moment.replace(second=0, microsecond=0)
    return floor if floor == moment else floor + _MINUTE
