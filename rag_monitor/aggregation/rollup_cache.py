"""Rollups kept in memory between evaluations, so that each run reads only what is new.

Rules look at the same hours again and again: without this every rule reads its whole window from
the database every few seconds. Minutes of the last half day are kept per project and metric, and
added up in blocks, so that six hours are a dozen additions. What may still change is read anew by
every run (`begin`): the youngest minutes, and those that were recomputed (`invalidate`). What
several rules ask about one window is added up once. So a run costs about the same whatever the
length of the windows and however long the monitor has been running.
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from rag_monitor.aggregation.totals import RollupSource, merged
from rag_monitor.domain.rollup import Rollup, RollupQuery
from rag_monitor.domain.stored import ChangedMinute
from rag_monitor.domain.window import Window

_MINUTE: Final = timedelta(minutes=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SUMS: Final = 64
"""Windows of one metric and app whose sums are kept: more than rules have; dry runs have many."""
_TOGETHER: Final = 15
"""Minutes that are read for all apps at once, even where not every app needs all of them."""
BLOCKS: Final = (60, 30, 10, 5)
"""Minutes that are added up once and kept, longest first; each begins at a multiple of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupCacheOptions:
    """How much is kept, and for how long it is believed."""

    kept: timedelta = timedelta(hours=13)
    """Windows that begin earlier than this before the present are read from the source."""
    unsettled: timedelta = timedelta(minutes=1)
    """The youngest minutes: read anew by every run. Older ones change only with an `invalidate`."""
    renewed: timedelta = timedelta(hours=6)
    """Each metric is read afresh this often, one a run: whoever led before may have written a last
    minute after this process had read it."""
    ahead: timedelta = timedelta(0)
    """What follows a window is read with it, as far as it is settled: for dry runs, which walk
    through the past and would ask the source at every step."""
    max_rows: int = 200_000
    """Above this many minutes, of all apps and metrics, no further metric is kept; it is read from
    the source. A minute has a row for each judge and release, larger where sessions are known."""


class _Span(NamedTuple):
    """Minutes since the epoch, half-open: cheaper to count and to hash than datetimes."""

    start: int
    end: int

    def window(self) -> Window:
        """The same as a window."""
        return Window(_EPOCH + self.start * _MINUTE, _EPOCH + self.end * _MINUTE)


@dataclass(slots=True)
class _AppRows:
    """The rows of one metric of one app."""

    minutes: dict[int, list[Rollup]] = field(default_factory=dict)
    """A minute without rows is not in it."""
    blocks: dict[tuple[int, int], Sequence[Rollup]] = field(default_factory=dict)
    """By index into `BLOCKS` and first minute."""
    sums: dict[_Span, Sequence[Rollup]] = field(default_factory=dict)
    """Whole windows, until the next run or change."""

    def drop(self, span: _Span) -> None:
        """Forget these minutes, and the sums they are part of."""
        self.sums.clear()
        for minute in range(*span):
            self.minutes.pop(minute, None)
        for level, length in enumerate(BLOCKS):
            for start in range(span.start - span.start % length, span.end, length):
                self.blocks.pop((level, start), None)

    def rows(self, span: _Span) -> Iterator[Rollup]:
        """Minute by minute."""
        return (row for minute in range(*span) for row in self.minutes.get(minute, ()))

    def sum(self, span: _Span) -> Sequence[Rollup]:
        """The span as one row per key."""
        total = self.sums.get(span)
        if total is None:
            total = merged([row for piece in self._pieces(span) for row in piece])
            if len(self.sums) >= _SUMS:
                self.sums.clear()
            self.sums[span] = total
        return total

    def _pieces(self, span: _Span) -> Iterator[Sequence[Rollup]]:
        """The span as few rows: whole blocks where they fit, minutes at the ends."""
        place, end = span
        while place < end:
            for level, length in enumerate(BLOCKS):
                if place % length == 0 and place + length <= end:
                    yield self._block(level, place)
                    place += length
                    break
            else:
                yield self.minutes.get(place, ())
                place += 1

    def _block(self, level: int, start: int) -> Sequence[Rollup]:
        block = self.blocks.get((level, start))
        if block is None:
            end = start + BLOCKS[level]
            if level + 1 < len(BLOCKS):
                parts = (
                    self._block(level + 1, place) for place in range(start, end, BLOCKS[level + 1])
                )
            else:
                parts = (self.minutes.get(minute, ()) for minute in range(start, end))
            rows = [row for part in parts for row in part]
            block = merged(rows)
            self.blocks[level, start] = block
        return block


@dataclass(slots=True)
class _Column:
    """One metric of one project, as far as it was read."""

    read_at: datetime
    loaded: _Span | None = None
    """The minutes that were read; those in `stale` must be read again."""
    apps: dict[str, _AppRows] = field(default_factory=lambda: defaultdict(_AppRows))
    stale: set[tuple[str, int]] = field(default_factory=set)

    def put(self, rows: Iterable[Rollup]) -> None:
        """Add rows of minutes that hold nothing yet."""
        for row in rows:
            app = self.apps[row.key.app]
            app.minutes.setdefault(_minute(row.key.minute), []).append(row)
            app.sums.clear()

    def keep(self, span: _Span) -> None:
        """Drop what lies outside, and the blocks that cross its ends."""
        loaded = self.loaded
        if loaded is None:
            return
        for rows in self.apps.values():
            rows.drop(_Span(loaded.start, span.start))
            rows.drop(_Span(span.end, loaded.end))
        self.stale = {key for key in self.stale if span.start <= key[1] < span.end}
        self.loaded = span


class RollupCache:
    """A rollup source in front of another. Safe to share between threads.

    Args:
        source: Where rollups come from.
        options: How much is kept.
        app: Read the rollups of this app only, and answer for no other; None: of every app.
    """

    def __init__(
        self,
        source: RollupSource,
        options: RollupCacheOptions | None = None,
        *,
        app: str | None = None,
    ) -> None:
        self._source = source
        self._app = app
        self._options = options or RollupCacheOptions()
        self._columns: dict[tuple[str, str], _Column] = {}
        self._lock = threading.Lock()
        self._now: datetime | None = None

    def begin(self, now: datetime) -> None:
        """Start a run: mark the newest minutes to be read again, evict the oldest."""
        options = self._options
        with self._lock:
            self._now = now
            self._renew(now)
            settled = _first_minute(now - options.unsettled) - 1
            earliest = _first_minute(now - options.kept)
            for key, column in list(self._columns.items()):
                if column.loaded is None:
                    continue
                span = _Span(max(column.loaded.start, earliest), min(column.loaded.end, settled))
                if span.end <= span.start:
                    del self._columns[key]
                else:
                    column.keep(span)

    def _renew(self, now: datetime) -> None:
        """Evict the column that was read longest ago, if that is too long."""
        oldest = min(self._columns, key=lambda key: (self._columns[key].read_at, key), default=None)
        if oldest is None:
            return
        age = now - self._columns[oldest].read_at
        if age < timedelta(0):
            self._columns.clear()  # the clock was set back
        elif age >= self._options.renewed:
            del self._columns[oldest]

    def clear(self) -> None:
        """Forget everything: another process wrote meanwhile."""
        with self._lock:
            self._columns.clear()

    def invalidate(self, changed: Iterable[ChangedMinute]) -> None:
        """Read these minutes again when they are asked for: they were recomputed."""
        with self._lock:
            for item in changed:
                minute = _minute(item.minute)
                for (project, _), column in self._columns.items():
                    loaded = column.loaded
                    if project != item.project or loaded is None:
                        continue
                    if loaded.start <= minute < loaded.end:
                        column.stale.add((item.app, minute))

    def load(self, query: RollupQuery) -> Sequence[Rollup]:
        """The rollups, minute by minute."""
        with self._lock:
            rows = self._rows_of(query)
            if rows is None:
                return self._source.load(query)
            return [row for row in rows.rows(_span(query.window)) if query.wants(row.key)]

    def load_sums(self, query: RollupQuery, step: timedelta | None = None) -> Sequence[Rollup]:
        """As `load`, but rows of several minutes may come added up as one."""
        with self._lock:
            rows = self._rows_of(query)
            if rows is not None:
                span = _span(query.window)
                chosen = rows.sum(span) if step is None else rows.rows(span)
                return [row for row in chosen if query.wants(row.key)]
            return self._source.load_sums(query, step)

    def _rows_of(self, query: RollupQuery) -> _AppRows | None:
        """The app's rows with the window read, or None where it is not worth keeping."""
        project, window, app, metric = query.project, query.window, query.app, query.metric
        if app is None or metric is None or self._now is None or self._app not in (None, app):
            return None
        if window.start < self._now - self._options.kept:
            return None
        column = self._columns.get((project, metric))
        if column is None:
            if self._rows() > self._options.max_rows:
                return None
            column = self._columns[project, metric] = _Column(read_at=self._now)
        self._extend(column, project, metric, _span(window))
        if column.stale:
            self._reread(column, project, metric)
        return column.apps[app]

    def _extend(self, column: _Column, project: str, metric: str, needed: _Span) -> None:
        """Read what of these minutes is not known; the gap too, so that it stays in one piece."""
        # Nothing may start within a few seconds; a minute more keeps the column in one piece.
        needed = _Span(needed.start, max(needed.end, needed.start + 1))
        loaded = column.loaded
        if loaded is None or loaded.end < needed.end:
            needed = _Span(needed.start, max(needed.end, self._ahead(needed.end)))
        if loaded is None:
            self._read(column, project, metric, needed)
            column.loaded = needed
            return
        if needed.start < loaded.start:
            self._read(column, project, metric, _Span(needed.start, loaded.start))
        if loaded.end < needed.end:
            self._read(column, project, metric, _Span(loaded.end, needed.end))
        column.loaded = _Span(min(loaded.start, needed.start), max(loaded.end, needed.end))

    def _ahead(self, end: int) -> int:
        """Up to where to read when a window ends there."""
        options = self._options
        if self._now is None or not options.ahead:
            return end
        settled = _first_minute(self._now - options.unsettled) - 1
        return min(end + options.ahead // _MINUTE, settled)

    def _rows(self) -> int:
        return sum(
            len(rows.minutes) for column in self._columns.values() for rows in column.apps.values()
        )

    def _read(self, column: _Column, project: str, metric: str, span: _Span) -> None:
        column.put(self._source.load(self._query(project, metric, span, self._app)))

    @staticmethod
    def _query(project: str, metric: str, span: _Span, app: str | None) -> RollupQuery:
        return RollupQuery(project=project, window=span.window(), app=app, metric=metric)

    def _reread(self, column: _Column, project: str, metric: str) -> None:
        """Read the minutes again that were recomputed since they were read."""
        loaded = column.loaded
        if loaded is None:
            return
        stale, column.stale = column.stale, set()
        by_app: dict[str, set[int]] = defaultdict(set)
        for app, minute in stale:
            if loaded.start <= minute < loaded.end:
                by_app[app].add(minute)
        for app, minutes in by_app.items():
            for minute in minutes:
                column.apps[app].drop(_Span(minute, minute + 1))
        for one, span in _reads(by_app):
            rows = self._source.load(self._query(project, metric, span, one or self._app))
            column.put(row for row in rows if _minute(row.key.minute) in by_app[row.key.app])


def _reads(by_app: Mapping[str, set[int]]) -> list[tuple[str | None, _Span]]:
    """Which queries read these minutes: one for all apps where they are all recent, else one each.

    Every app that is in use has a minute that was just recomputed.
    """
    if not by_app:
        return []
    spans = {app: _Span(min(minutes), max(minutes) + 1) for app, minutes in by_app.items()}
    whole = _Span(min(s.start for s in spans.values()), max(s.end for s in spans.values()))
    if len(spans) > 1 and whole.end - whole.start <= _TOGETHER:
        return [(None, whole)]
    return list(spans.items())


def _span(window: Window) -> _Span:
    """The minutes that start in the window; may be none."""
    start = _first_minute(window.start)
    return _Span(start, max(_first_minute(window.end), start))


def _minute(moment: datetime) -> int:
    """Minutes since the epoch."""
    return int(moment.timestamp()) // 60


def _first_minute(moment: datetime) -> int:
    """The first minute that starts at this moment or after it."""
    return math.ceil(moment.timestamp() / 60.0)
