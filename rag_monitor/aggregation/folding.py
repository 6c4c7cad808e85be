"""Rollups as an exporter needs them: one load per app, old releases under one name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain

from rag_monitor.aggregation.totals import RollupSource
from rag_monitor.domain.rollup import Rollup
from rag_monitor.domain.window import Window


class FoldedReleases:
    """A rollup source that keeps some releases apart and counts the rest as one.

    Loads all rollups of an app and window once and answers from memory: make a new one per export.

    Args:
        source: Where rollups come from.
        keep: Releases that keep their name.
        other: Name of the rest.
    """

    def __init__(self, source: RollupSource, keep: Collection[str], other: str = "other") -> None:
        self._source = source
        self._keep = frozenset(keep)
        self._other = other
        self._rows: dict[tuple[str, Window, str | None], dict[str, list[Rollup]]] = {}

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
        place = (project, window, app)
        if place not in self._rows:
            by_metric: dict[str, list[Rollup]] = defaultdict(list)
            for row in self._source.load(project, window, app=app):
                by_metric[row.key.metric].append(self._folded(row))
            self._rows[place] = by_metric
        known = self._rows[place]
        candidates = known.get(metric, []) if metric is not None else chain(*known.values())
        return [
            row
            for row in candidates
            if (release is None or row.key.release == release)
            and (judge is None or row.key.judge == judge)
        ]

    def _folded(self, row: Rollup) -> Rollup:
        if row.key.release in self._keep:
            return row
        return replace(row, key=replace(row.key, release=self._other))
