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


class CachedSource:
    """A rollup source that answers from memory what it has read. Make a new one per page.

    Args:
        source: Where rollups come from.
        apps: Windows of these are read together, as soon as one of them is asked for.
        metrics: Of whole windows of these apps only these are read; empty: all.
        drawn: Steps of these metrics are read together, as soon as those of one are asked for.
    """

    def __init__(
        self,
        source: RollupSource,
        apps: Sequence[str] = (),
        metrics: Sequence[str] = (),
        drawn: Sequence[str] = (),
    ) -> None:
        self._source = source
        self._apps, self._metrics, self._drawn = tuple(apps), tuple(metrics), tuple(drawn)
        self._rows: dict[tuple[RollupQuery, timedelta | None], _ByMetric] = {}
        self._listed: dict[tuple[RollupQuery, timedelta | None], _ByMetric] = {}

    def load(self, query: RollupQuery) -> Sequence[Rollup]:
        """The rollups minute by minute: not remembered, as they are many."""
        rows = self._source.load(replace(query, release=None))
        return _matching(map(self._renamed, rows), query)

    def load_sums(self, query: RollupQuery, step: timedelta | None = None) -> Sequence[Rollup]:
        """As `load`, but rows of several minutes may come added up as one.

        A whole window is read with all its metrics, steps only with the metric that is asked for,
        or with those that are drawn: there are many steps, and few metrics are drawn.
        """
        alone = step is not None and query.metric not in self._drawn
        wider = replace(query, metric=query.metric if alone else None, release=None, judge=None)
        by_metric = self._of_list(wider, step) if self._is_listed(query) else self._of(wider, step)
        metric = query.metric
        return _matching(
            by_metric.get(metric, ()) if metric is not None else chain(*by_metric.values()), query
        )

    def _of(self, query: RollupQuery, step: timedelta | None) -> _ByMetric:
        """The rows of an app."""
        if (query, step) not in self._rows:
            chosen = replace(query, metrics=self._read_with(query, step, ()))
            rows = [self._renamed(row) for row in self._source.load_sums(chosen, step)]
            # Without steps one row per key is enough, and every figure is made of a few rows.
            fewer = rows if step is not None else merged(rows, query.window.start)
            self._rows[query, step] = _by_metric(fewer)
        return self._rows[query, step]

    def _is_listed(self, query: RollupQuery) -> bool:
        """Whether this is read for all apps of the list together."""
        return query.app in self._apps and (not self._metrics or query.metric in self._metrics)

    def _of_list(self, query: RollupQuery, step: timedelta | None) -> _ByMetric:
        """The rows of an app, with those of all others."""
        if (query, step) not in self._listed:
            metrics = self._read_with(query, step, self._metrics)
            together = replace(query, app=None, apps=self._apps, metrics=metrics)
            rows: dict[str, list[Rollup]] = {app: [] for app in self._apps}
            for row in self._source.load_sums(together, step):
                rows[row.key.app].append(self._renamed(row))
            for app, mine in rows.items():
                fewer = mine if step is not None else merged(mine, query.window.start)
                self._listed[replace(query, app=app), step] = _by_metric(fewer)
        return self._listed[query, step]

    def _read_with(
        self, query: RollupQuery, step: timedelta | None, whole: tuple[str, ...]
    ) -> tuple[str, ...]:
        """The metrics that are read for a query; empty: the one that it names, or all."""
        if step is None:
            return whole
        return self._drawn if query.metric is None else ()

    def _renamed(self, row: Rollup) -> Rollup:
        return row


class FoldedReleases(CachedSource):
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
    grouped: dict[str, list[Rollup]] = defaultdict(list)
    for row in rows:
        grouped[row.key.metric].append(row)
    return dict(grouped)


def _matching(rows: Iterable[Rollup], query: RollupQuery) -> list[Rollup]:
    return [row for row in rows if query.wants(row.key)]
