"""Rollups for one page or one scrape: each window of an app is read once, for all its metrics.

A list of many apps reads each window once for all of them: the way to the database and back takes
longer than the rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain

from rag_monitor.aggregation.totals import RollupSource, merged
from rag_monitor.domain.rollup import Rollup, RollupQuery

_ByMetric = Mapping[str, Sequence[Rollup]]


class ReadOnce:
    """A rollup source that answers from memory what it has read. Make a new one per page.

    Args:
        source: Where rollups come from.
        apps: Whole windows of these are read together, as soon as one of them is asked for.
        metrics: Of whole windows of these apps only these are read; empty: all.
    """

    def __init__(
        self, source: RollupSource, apps: Sequence[str] = (), metrics: Sequence[str] = ()
    ) -> None:
        self._source = source
        self._apps, self._metrics = tuple(apps), tuple(metrics)
        self._rows: dict[tuple[RollupQuery, timedelta | None], _ByMetric] = {}
        self._listed: dict[RollupQuery, _ByMetric] = {}

    def load(self, wanted: RollupQuery) -> Sequence[Rollup]:
        """The rollups minute by minute: not remembered, as they are many."""
        found = self._source.load(replace(wanted, release=None))
        return _matching(map(self._renamed, found), wanted)

    def load_sums(self, wanted: RollupQuery, step: timedelta | None = None) -> Sequence[Rollup]:
        """As `load`, but rows of several minutes may come added up as one.

        A whole window is read with all its metrics, steps only with the metric that is asked for:
        there are many, and few metrics are drawn.
        """
        asked = replace(
            wanted, metric=None if step is None else wanted.metric, release=None, judge=None
        )
        known = self._of_list(asked) if self._is_listed(wanted, step) else self._of(asked, step)
        metric = wanted.metric
        return _matching(
            known.get(metric, ()) if metric is not None else chain(*known.values()), wanted
        )

    def _of(self, asked: RollupQuery, step: timedelta | None) -> _ByMetric:
        """The rows of an app."""
        if (asked, step) not in self._rows:
            rows = [self._renamed(row) for row in self._source.load_sums(asked, step)]
            # Without steps one row per key is enough, and every figure is made of a few rows.
            fewer = rows if step is not None else merged(rows, asked.window.start)
            self._rows[asked, step] = _by_metric(fewer)
        return self._rows[asked, step]

    def _is_listed(self, wanted: RollupQuery, step: timedelta | None) -> bool:
        """Whether this is read for all apps of the list together."""
        return (
            step is None
            and wanted.app in self._apps
            and (not self._metrics or wanted.metric in self._metrics)
        )

    def _of_list(self, asked: RollupQuery) -> _ByMetric:
        """The rows of an app, with those of all others."""
        if asked not in self._listed:
            together = replace(asked, app=None, apps=self._apps, metrics=self._metrics)
            rows: dict[str, list[Rollup]] = {app: [] for app in self._apps}
            for row in self._source.load_sums(together, None):
                rows[row.key.app].append(self._renamed(row))
            for app, mine in rows.items():
                found = _by_metric(merged(mine, asked.window.start))
                self._listed[replace(asked, app=app)] = found
        return self._listed[asked]

    def _renamed(self, row: Rollup) -> Rollup:
        return row


class FoldedReleases(ReadOnce):
    """A rollup source that keeps some releases apart and counts the rest as one.

    Args:
        source: Where rollups come from.
        keep: Releases that keep their name.
        other: Name of the rest.
    """

    def __init__(self, source: RollupSource, keep: Collection[str], other: str = "other") -> None:
        super().__init__(source)
        self._keep = frozenset(keep)
        self._other = other

    def _renamed(self, row: Rollup) -> Rollup:
        if row.key.release in self._keep:
            return row
        return replace(row, key=replace(row.key, release=self._other))


def _by_metric(rows: Iterable[Rollup]) -> _ByMetric:
    found: dict[str, list[Rollup]] = defaultdict(list)
    for row in rows:
        found[row.key.metric].append(row)
    return dict(found)


def _matching(rows: Iterable[Rollup], wanted: RollupQuery) -> list[Rollup]:
    return [row for row in rows if wanted.wants(row.key)]
