"""Adds up labels against predictions: generic classes, the judge's flag, routing, hit rates."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.classification import ConfusionMatrix
from rag_monitor.metrics.routing import Confusion, expected_names, hit_names, tried_names
from rag_monitor.offline import figures
from rag_monitor.offline.report.model import Confusions, Figure, LabelRates
from rag_monitor.statistics.moments import jackknife_se
from rag_monitor.statistics.wilson import wilson_interval, z_two_sided

BLOCKS: Final = 50
"""Groups of the jackknife."""
_LABELS_KEPT: Final = 200
_LABELS_SHOWN: Final = 20
_OTHER: Final = "(other)"
_RATES: Final = ("precision", "recall", "f1")


def block_of(trace: Trace) -> int:
    """Which group of the jackknife a row is in; the same every time."""
    return int(trace.trace_id[:8], 16) % BLOCKS


def block_of_row(name: str) -> int:
    """As `block_of`, of a row by its id: rows of labels alone may all be alike."""
    return zlib.crc32(name.encode("utf-8", "replace")) % BLOCKS


class LabelTally:
    """A confusion matrix with intervals for its averages."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._labels: set[str] = set()
        self._blocks: list[Counter[tuple[str, str]]] = [Counter() for _ in range(BLOCKS)]

    def add(self, truth: str, predicted: str, block: int) -> None:
        """Count one row."""
        self._blocks[block][self._kept(truth), self._kept(predicted)] += 1

    def _kept(self, label: str) -> str:
        if label in self._labels:
            return label
        if len(self._labels) >= _LABELS_KEPT:
            return _OTHER
        self._labels.add(label)
        return label

    def _pooled(self) -> Counter[tuple[str, str]]:
        return sum(self._blocks, Counter())

    def figures(self) -> dict[str, Figure]:
        """All rates by the names that targets have for them."""
        pooled = self._pooled()
        if not pooled:
            return {}
        matrix = _matrix(pooled)
        rates = figures.rates_of((name, matrix.of(name)) for name in matrix.labels)
        by_name = {name: Figure(value=value, n=matrix.total) for name, value in rates.items()}
        return figures.named(self._title, by_name | self._averages(pooled, matrix), matrix.labels)

    def report(self) -> Confusions | None:
        """The matrix and what follows from it; None without rows."""
        pooled = self._pooled()
        if not pooled:
            return None
        matrix = _matrix(pooled)
        seen: Counter[str] = Counter()
        for (truth, predicted), n in pooled.items():
            seen[truth] += n
            seen[predicted] += n
        shown = tuple(sorted(name for name, _ in seen.most_common(_LABELS_SHOWN)))
        return Confusions(
            title=self._title,
            rows=matrix.total,
            labels=shown,
            matrix=tuple(tuple(pooled[truth, p] for p in shown) for truth in shown),
            rates=tuple(_rates(name, matrix.of(name)) for name in shown),
            averages=self._averages(pooled, matrix),
            left_out=len(matrix.labels) - len(shown),
        )

    def _averages(
        self, pooled: Counter[tuple[str, str]], matrix: ConfusionMatrix
    ) -> dict[str, Figure]:
        right = sum(n for (truth, predicted), n in pooled.items() if truth == predicted)
        ends = wilson_interval(right, matrix.total)
        averages = {
            "accuracy": Figure(
                value=matrix.accuracy, lower=ends.lower, upper=ends.upper, n=matrix.total
            )
        }
        parts = [_matrix(pooled - block) for block in self._blocks if block and pooled - block]
        for kind in ("macro", "micro"):
            for rate in _RATES:
                value = getattr(matrix, kind)(rate)
                if value is not None:
                    without = [getattr(part, kind)(rate) for part in parts]
                    averages[f"{kind}_{rate}"] = jackknifed(value, without, matrix.total)
        return averages


def jackknifed(value: float, without: list[float | None], n: int) -> Figure:
    """A figure with the normal interval of its grouped jackknife, inside 0 to 1."""
    defined = [part for part in without if part is not None]
    if len(defined) < 2:
        return Figure(value=value, n=n)
    reach = z_two_sided(0.95) * jackknife_se(defined)
    return Figure(value=value, lower=max(0.0, value - reach), upper=min(1.0, value + reach), n=n)


def _matrix(counts: Mapping[tuple[str, str], int]) -> ConfusionMatrix:
    names = {name for pair, n in counts.items() if n for name in pair}
    return ConfusionMatrix(tuple(sorted(names)), {p: n for p, n in counts.items() if n})


def _rates(name: str, counts: Any) -> LabelRates:
    return LabelRates(
        name=name,
        tp=counts.tp,
        fp=counts.fp,
        tn=counts.tn,
        fn=counts.fn,
        precision=counts.precision,
        recall=counts.recall,
        false_positive_rate=counts.false_positive_rate,
        false_negative_rate=counts.false_negative_rate,
        f1=counts.f1,
        accuracy=counts.accuracy,
    )


class RoutingTally:
    """Routing to one kind of thing: several names may be right for one question."""

    def __init__(self, kind: HitKind) -> None:
        self._kind = kind
        self._traces = 0
        self._labelled = 0
        self._tp: Counter[str] = Counter()
        self._fp: Counter[str] = Counter()
        self._fn: Counter[str] = Counter()
        self._hits: Counter[str] = Counter()
        self._tried: set[str] = set()
        self._any = Counter[str]()
        """Traces with any hit, with any expected name, with a hit of one that was expected."""

    @property
    def kind(self) -> HitKind:
        """Of what is called."""
        return self._kind

    def rows_of(self, figure: str) -> int:
        """Rows behind a figure: all, or those that say what should have been hit."""
        return self._traces if figure.endswith("/all") else self._labelled

    def add(self, trace: Trace) -> None:
        """Count one trace."""
        self._traces += 1
        called = hit_names(trace, self._kind)
        self._hits.update(called)
        self._tried |= tried_names(trace, self._kind)
        self._any["hit"] += bool(called)
        expected = expected_names(trace, self._kind)
        if expected is None:
            return
        self._labelled += 1
        self._any["expected"] += bool(expected)
        self._any["found"] += bool(expected & called)
        self._tp.update(expected & called)
        self._fp.update(called - expected)
        self._fn.update(expected - called)

    def _confusions(self) -> list[Confusion]:
        return [self._confusion(name) for name in sorted(self._tp | self._fp | self._fn)]

    def _averages(self, rows: list[Confusion]) -> dict[str, Figure]:
        averages = {f"macro_{rate}": value for rate in _RATES if (value := _macro(rows, rate))}
        pooled = Confusion(
            kind=self._kind,
            name="",
            tp=self._tp.total(),
            fp=self._fp.total(),
            fn=self._fn.total(),
            tn=sum(row.tn for row in rows),
        )
        averages |= {f"micro_{rate}": value for rate in _RATES if (value := _micro(pooled, rate))}
        return averages

    def figures(self) -> dict[str, Figure]:
        """All rates by the names that targets have for them."""
        rows = self._confusions()
        rates = figures.rates_of((row.name, row) for row in rows)
        by_name = {name: Figure(value=value, n=self._labelled) for name, value in rates.items()}
        by_name |= self._averages(rows) if rows else {}
        hits = {f"{figures.HIT_RATE}/{name}": rate for name, rate in self.hit_rates().items()}
        return figures.named(self._kind.value, by_name) | hits

    def report(self) -> Confusions | None:
        """Counts by name; None when no trace is labelled."""
        rows = self._confusions()
        if not rows:
            return None
        shown = sorted(rows, key=lambda row: -(row.tp + row.fp + row.fn))[:_LABELS_SHOWN]
        return Confusions(
            title=self._kind.value,
            rows=self._labelled,
            labels=tuple(row.name for row in shown),
            matrix=None,
            rates=tuple(_rates(row.name, row) for row in shown),
            averages=self._averages(rows),
            left_out=len(rows) - len(shown),
        )

    def _confusion(self, name: str) -> Confusion:
        tp, fp, fn = self._tp[name], self._fp[name], self._fn[name]
        tn = self._labelled - tp - fp - fn
        return Confusion(kind=self._kind, name=name, tp=tp, fp=fp, fn=fn, tn=tn)

    def hit_rates(self) -> dict[str, Figure]:
        """`kind/name/basis` to the rate, for names that were tried or expected.

        `kind/basis` is that of any name: rows with a hit, those among them that expected one with a
        hit of one that was expected.
        """
        kind = self._kind.value
        # What was called in vain counts too: a backend that is down must not go out of sight.
        rates = {f"{kind}/{n}/all": _share(self._hits[n], self._traces) for n in self._tried}
        for name in self._tp | self._fn:
            wanted = self._tp[name] + self._fn[name]
            rates[f"{kind}/{name}/expected"] = _share(self._tp[name], wanted)
        if self._tried:
            rates[f"{kind}/all"] = _share(self._any["hit"], self._traces)
        if self._any["expected"]:
            rates[f"{kind}/expected"] = _share(self._any["found"], self._any["expected"])
        return dict(sorted(rates.items()))


def _share(part: int, whole: int) -> Figure:
    ends = wilson_interval(part, whole)
    return Figure(value=part / whole, lower=ends.lower, upper=ends.upper, n=whole)


def _macro(rows: list[Confusion], rate: str) -> Figure | None:
    values = [value for row in rows if (value := getattr(row, rate)) is not None]
    return Figure(value=sum(values) / len(values), n=len(values)) if values else None


def _micro(pooled: Confusion, rate: str) -> Figure | None:
    value = getattr(pooled, rate)
    return None if value is None else Figure(value=value, n=pooled.tp + pooled.fp + pooled.fn)
