"""Rollups of many minutes added up."""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol, TypeVar

from rag_monitor.aggregation import keys
from rag_monitor.domain.bucket_sums import BucketSums, Sums
from rag_monitor.domain.rollup import CLUSTER_BUCKETS, Rollup, RollupKey, RollupQuery
from rag_monitor.metrics.latency import bucket_of
from rag_monitor.statistics.difference import DifferenceSums, LabelSums, RatioSums

Key = TypeVar("Key")

_LABEL_SUMS: Final = ("n", "r", "rr", "rd", "rrd", "rrdd", "rrj", "rrjd")
_PROXY_LABEL_SUMS: Final = ("f", "fd", "rf", "rfd")
_OUT_SUMS: Final = ("out_r", "out_rr", "out_rf", "out_rrf", "out_rff", "out_rrff")


class RollupSource(Protocol):
    """Where rollups come from: the store's `rollups`, or a memory before it."""

    def load(self, query: RollupQuery) -> Sequence[Rollup]:
        """The rollups, minute by minute."""
        ...

    def load_sums(self, query: RollupQuery, step: timedelta | None = None) -> Sequence[Rollup]:
        """As `load`, but rows of several minutes may come added up as one, dated by the first.

        With a step no row reaches over the end of one; steps begin with the window.
        """
        ...


@dataclass(slots=True)
class Totals:
    """A mutable `Rollup`: adds up values, or rollups of any number of minutes."""

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
    _parts: list[Sums] = field(default_factory=list, init=False)
    """Sums per bucket of what was added."""
    _own: dict[str, list[float]] = field(default_factory=dict, init=False)
    """Sums per bucket of what was added to a bucket."""
    _clusters: Sums | None = field(default=None, init=False, compare=False)
    """All of them; None: not asked for since something was added."""

    @property
    def clusters(self) -> Sums:
        """As `Rollup.clusters`: what was added is added up when somebody looks at the sums."""
        if self._clusters is None:
            own = {name: tuple(sums) for name, sums in self._own.items()}
            parts = (*self._parts, own) if own else tuple(self._parts)
            if len(parts) < 2:
                self._clusters = parts[0] if parts else {}
            else:
                self._clusters = BucketSums(partial(_added_up, parts))
        return self._clusters

    def add_value(self, value: float, bounds: Sequence[float]) -> None:
        """Count one value, its square and its place in the histogram."""
        self.count += 1
        self.total += value
        self.squares += value * value
        if not self.histogram:
            self.histogram = [0] * (len(bounds) + 1)
        self.histogram[bucket_of(value, bounds)] += 1

    def add_moment(self, name: str, value: float) -> None:
        """Add to a further sum."""
        self.moments[name] = self.moments.get(name, 0.0) + value

    def add_to_bucket(self, name: str, bucket: int, value: float) -> None:
        """Add to a sum of one bucket of clusters; see `Rollup.clusters`."""
        if name not in self._own:
            self._own[name] = [0.0] * CLUSTER_BUCKETS
        self._own[name][bucket] += value
        self._clusters = None

    def add_weight(self, bucket: int | None, weight: float, total: float = 0.0) -> None:
        """Add a weight and a weighted value to their bucket; None: buckets are not kept."""
        if bucket is None:
            return
        if weight:
            self.add_to_bucket("r", bucket, weight)
        if total:
            self.add_to_bucket("y", bucket, total)

    def add(self, row: Rollup | Totals) -> None:
        """Add one rollup, or other sums."""
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
        moments = self.moments
        for name, value in row.moments.items():
            if name in moments:
                moments[name] += value
            else:
                moments[name] = value
        if clusters := row.clusters:
            self._parts.append(clusters)
            self._clusters = None

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
            clusters=self.clusters,
        )

    def moment(self, name: str) -> float:
        """A further sum; 0 where nothing was counted."""
        return self.moments.get(name, 0.0)

    def label_sums(self, proxy: str = "") -> LabelSums:
        """The sums over labelled traces; with the proxy of that identity beside this judge."""
        return LabelSums(
            **{name: self.moment(keys.label(name)) for name in _LABEL_SUMS},
            **{name: self.moment(keys.label(name, proxy)) for name in _PROXY_LABEL_SUMS if proxy},
        )

    def difference_sums(
        self, proxy: str, proxy_totals: Totals, *, ratio: bool | None = None
    ) -> DifferenceSums | RatioSums | None:
        """The sums of the difference estimate against the proxy of that identity.

        The ratio form, which leaves out draws without a score and reaches 0 and 1 where all that
        was judged is as bad or as good as can be. Rollups written before its sums were kept have
        mean(D), as long as every draw has a score. None: the sums cannot tell.

        Args:
            proxy: Identity of the judge of every trace.
            proxy_totals: Its sums.
            ratio: Which form is wanted, whatever there is; None: the one that is right here.
        """
        unscored = self.failed + self.not_applicable + self.suspect
        counted = self.moment(keys.UNSCORED) == unscored
        r = self.moment(keys.pair("r", proxy))
        judged = self.moment(keys.pair("n", proxy))
        whole = counted and judged >= 2 and judged == self.count and math.isclose(r, self.weight)
        if ratio is None:
            complete = counted and not self.moment(keys.pair("x", proxy))
            ratio = whole or not complete
        if not ratio:
            return self._plain_sums(proxy, proxy_totals)
        # Where minutes of both kinds stand in a window that misses a verdict it is left to Hajek:
        # wider, but without the bias of mean(D).
        return self._ratio_sums(proxy, proxy_totals) if whole else None

    def _ratio_sums(self, proxy: str, proxy_totals: Totals) -> RatioSums:
        rrjf, rff = self.moment(keys.pair("rrjf", proxy)), self.moment(keys.pair("rff", proxy))
        # Every score is one of a pair, so that sums over scores are sums over pairs.
        return RatioSums(
            n=float(proxy_totals.count),
            f=proxy_totals.total,
            ff=proxy_totals.squares,
            judged=float(self.count),
            r=self.weight,
            rr=self.weight_squares,
            rj=self.weighted_total,
            rrj=self.moment(keys.W2_TOTAL),
            rrjj=self.moment(keys.W2_SQUARES),
            rf=self.moment(keys.pair("rf", proxy)),
            rrf=self.moment(keys.pair("rrf", proxy)),
            rff=rff,
            rrff=self.moment(keys.pair("ff", proxy)) + 2.0 * rff,
            rjf=rrjf - self.moment(keys.pair("jf", proxy)),
            rrjf=rrjf,
            **{name: self.moment(keys.pair(name, proxy)) for name in _OUT_SUMS},
        )

    def _plain_sums(self, proxy: str, proxy_totals: Totals) -> DifferenceSums:
        judged = self.moment(keys.pair("n", proxy))
        return DifferenceSums(
            n=float(proxy_totals.count),
            judged=judged,
            a=self.moment(keys.pair("rf", proxy)) - proxy_totals.total,
            b=self.moment(keys.pair("rj", proxy)),
            aa=self.moment(keys.pair("ff", proxy)) + proxy_totals.squares,
            bb=self.moment(keys.pair("rj2", proxy)),
            ab=self.moment(keys.pair("jf", proxy)),
        )


def sum_of(rows: Iterable[Rollup | Totals]) -> Totals:
    """All rows added up."""
    totals = Totals()
    for row in rows:
        totals.add(row)
    return totals


def merged(rows: Sequence[Rollup], start: datetime | None = None) -> Sequence[Rollup]:
    """One row per key, whatever the minute; dated `start`, or as the first of its rows."""
    groups: dict[tuple[str, ...], list[Rollup]] = defaultdict(list)
    for row in rows:
        key = row.key
        groups[key.project, key.app, key.metric, key.release, key.judge, key.dimension].append(row)
    rows_by_key = []
    for group in groups.values():
        key = group[0].key
        if start is not None:
            key = replace(key, minute=start)
        alone = len(group) == 1 and key == group[0].key
        rows_by_key.append(group[0] if alone else sum_of(group).rollup(key))
    return rows_by_key


def sums_by(rows: Iterable[Rollup], key: Callable[[Rollup], Key]) -> dict[Key, Totals]:
    """Rows added up per key."""
    grouped: dict[Key, Totals] = defaultdict(Totals)
    for row in rows:
        grouped[key(row)].add(row)
    return dict(grouped)


def _added_up(parts: Sequence[Sums]) -> dict[str, Sequence[float]]:
    """In the order of the parts: what floats add up to depends on it."""
    added: dict[str, Sequence[float]] = {}
    for part in parts:
        for name, sums in part.items():
            mine = added.get(name)
            added[name] = sums if mine is None else list(map(operator.add, mine, sums))
    return added


def _added(first: Sequence[int], second: Sequence[int]) -> list[int]:
    if not first:
        return list(second)
    if len(first) != len(second):
        raise ValueError("histograms with different buckets cannot be added")
    return [a + b for a, b in zip(first, second, strict=True)]
