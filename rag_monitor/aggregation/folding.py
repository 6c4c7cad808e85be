"""Rollups as an exporter needs them: one load per app, old releases under one name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rag_monitor.aggregation.once import ReadOnce
from rag_monitor.aggregation.totals import RollupSource
from rag_monitor.domain.rollup import Rollup


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
