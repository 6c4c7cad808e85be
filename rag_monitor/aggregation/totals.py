"""Rollups of many minutes added up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from rag_monitor.aggregation import keys
from rag_monitor.domain.rollup import Rollup, RollupKey
from rag_monitor.domain.window import Window
from rag_monitor.statistics.difference import DifferenceSums

Key = TypeVar("Key")


class RollupSource(Protocol):
    """Where rollups come from; the store's `rollups` is one."""

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
        ...


@runtime_checkable
class SummingSource(RollupSource, Protocol):
    """A source that can add minutes up before it hands them out."""

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
        ...


@dataclass(slots=True)
class Totals:
    """The sums of `Rollup`, over any number of them."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    bad: int = 0
    failed: int = 0
    not_applicable: int = 0
    suspect: int = 0
    histogram: list[int] = field(default_factory=list)
    weight: float = 0.0
    weighted_total: float = 0.0
    weight_squares: float = 0.0
    weighted_squares: float = 0.0
    moments: dict[str, float] = field(default_factory=dict)

    def add(self, row: Rollup) -> None:
        """Add one rollup."""
        self.count += row.count
        self.total += row.total
        self.squares += row.squares
        self.bad += row.bad
        self.failed += row.failed
        self.not_applicable += row.not_applicable
        self.suspect += row.suspect
        self.weight += row.weight
        self.weighted_total += row.weighted_total
        self.weight_squares += row.weight_squares
        self.weighted_squares += row.weighted_squares
        if row.histogram:
            self.histogram = _added(self.histogram, row.histogram)
        for name, value in row.moments.items():
            self.moments[name] = self.moments.get(name, 0.0) + value

    def rollup(self, key: RollupKey) -> Rollup:
        """The sums as one row."""
        return Rollup(
            key=key,
            count=self.count,
            total=self.total,
            squares=self.squares,
            bad=self.bad,
            failed=self.failed,
            not_applicable=self.not_applicable,
            suspect=self.suspect,
            histogram=tuple(self.histogram),
            weight=self.weight,
            weighted_total=self.weighted_total,
            weight_squares=self.weight_squares,
            weighted_squares=self.weighted_squares,
            moments=self.moments,
        )

    def moment(self, name: str) -> float:
        """A further sum; 0 where nothing was counted."""
        return self.moments.get(name, 0.0)

    def difference_sums(self, cheap: str, cheap_totals: Totals) -> DifferenceSums:
        """The sums of the difference estimate against the cheap judge of that identity."""
        judged = self.moment(keys.pair("n", cheap))
        return DifferenceSums(
            n=float(cheap_totals.count),
            judged=judged,
            a=self.moment(keys.pair("rf", cheap)) - cheap_totals.total,
            b=self.moment(keys.pair("rj", cheap)),
            aa=self.moment(keys.pair("ff", cheap)) + cheap_totals.squares,
            bb=self.moment(keys.pair("rj2", cheap)),
            ab=self.moment(keys.pair("jf", cheap)),
        )


def sum_of(rows: Iterable[Rollup]) -> Totals:
    """All rows added up."""
    totals = Totals()
    for row in rows:
        totals.add(row)
    return totals


def sums_by(rows: Iterable[Rollup], key: Callable[[Rollup], Key]) -> dict[Key, Totals]:
    """Rows added up per key."""
    grouped: dict[Key, Totals] = defaultdict(Totals)
    for row in rows:
        grouped[key(row)].add(row)
    return dict(grouped)


def _added(first: Sequence[int], second: Sequence[int]) -> list[int]:
    if not first:
        return list(second)
    if len(first) != len(second):
        raise ValueError("histograms with different buckets cannot be added")
    return [a + b for a, b in zip(first, second, strict=True)]
