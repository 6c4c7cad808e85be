"""Rollups for one page or one scrape: each window of an app is read once, for all its metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import chain

from rag_monitor.aggregation.totals import RollupSource, SummingSource, merged
from rag_monitor.domain.rollup import Rollup
from rag_monitor.domain.window import Window

_Read = tuple[str, Window, str, timedelta | None, str | None]


class ReadOnce:
    """A rollup source that answers from memory what it has read. Make a new one per page.

    Args:
        source: Where rollups come from.
    """

    def __init__(self, source: RollupSource) -> None:
        self._source = source
        self._rows: dict[_Read, dict[str, list[Rollup]]] = {}

    def load(
        self,
        project: str,
        window: Window,
        app: str | None = None,
        metric: str | None = None,
        release: str | None = None,
        judge: str | None = None,
    ) -> Sequence[Rollup]:
        """The rollups minute by minute: not remembered, as they are many."""
        found = self._source.load(project, window, app, metric, None, judge)
        return _matching(map(self._renamed, found), release, None)

    def load_sums(
        self,
        project: str,
        window: Window,
        app: str,
        metric: str | None = None,
        release: str | None = None,
        judge: str | None = None,
        step: timedelta | None = None,
    ) -> Sequence[Rollup]:
        """As `load`, but rows of several minutes may come added up as one.

        A whole window is read with all its metrics, steps only with the metric that is asked for:
        there are many, and few metrics are drawn.
        """
        place = (project, window, app, step, None if step is None else metric)
        if place not in self._rows:
            by_metric: dict[str, list[Rollup]] = defaultdict(list)
            rows = [self._renamed(row) for row in self._read(*place)]
            # Without steps one row per key is enough, and every figure is made of a few rows.
            for row in rows if step is not None else merged(rows, window.start):
                by_metric[row.key.metric].append(row)
            self._rows[place] = dict(by_metric)
        known = self._rows[place]
        wanted = known.get(metric, ()) if metric is not None else chain(*known.values())
        return _matching(wanted, release, judge)

    def _read(
        self,
        project: str,
        window: Window,
        app: str,
        step: timedelta | None,
        metric: str | None,
    ) -> Sequence[Rollup]:
        if isinstance(self._source, SummingSource):
            return self._source.load_sums(project, window, app, metric, step=step)
        return self._source.load(project, window, app, metric)

    def _renamed(self, row: Rollup) -> Rollup:
        return row


def _matching(rows: Iterable[Rollup], release: str | None, judge: str | None) -> list[Rollup]:
    return [
        row
        for row in rows
        if (release is None or row.key.release == release)
        and (judge is None or row.key.judge == judge)
    ]
