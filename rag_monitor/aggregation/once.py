"""Rollups for one page or one scrape: each window of an app is read once, for all its metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain

from rag_monitor.aggregation.totals import RollupSource, SummingSource, merged
from rag_monitor.domain.rollup import Rollup, RollupQuery


class ReadOnce:
    """A rollup source that answers from memory what it has read. Make a new one per page.

    Args:
        source: Where rollups come from.
    """

    def __init__(self, source: RollupSource) -> None:
        self._source = source
        self._rows: dict[tuple[RollupQuery, timedelta | None], dict[str, list[Rollup]]] = {}

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
        if (asked, step) not in self._rows:
            by_metric: dict[str, list[Rollup]] = defaultdict(list)
            rows = [self._renamed(row) for row in self._read(asked, step)]
            # Without steps one row per key is enough, and every figure is made of a few rows.
            for row in rows if step is not None else merged(rows, wanted.window.start):
                by_metric[row.key.metric].append(row)
            self._rows[asked, step] = dict(by_metric)
        known = self._rows[asked, step]
        metric = wanted.metric
        return _matching(
            known.get(metric, ()) if metric is not None else chain(*known.values()), wanted
        )

    def _read(self, wanted: RollupQuery, step: timedelta | None) -> Sequence[Rollup]:
        if isinstance(self._source, SummingSource):
            return self._source.load_sums(wanted, step)
        return self._source.load(wanted)

    def _renamed(self, row: Rollup) -> Rollup:
        return row


def _matching(rows: Iterable[Rollup], wanted: RollupQuery) -> list[Rollup]:
    return [row for row in rows if wanted.wants(row.key)]
