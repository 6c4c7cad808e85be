"""Adds up labels against predictions: generic classes, the judge's flag, routing, hit rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.trace import Trace
from rag_monitor.evaluation.report.model import Confusions, Figure, LabelRates
from rag_monitor.metrics.classification import ConfusionMatrix
from rag_monitor.metrics.routing import Confusion, expected_names, hit_names
from rag_monitor.statistics.jackknife import jackknife_se
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

    def report(self) -> Confusions | None:
        """The matrix and what follows from it; None without rows."""
        pooled: Counter[tuple[str, str]] = Counter()
        for block in self._blocks:
            pooled.update(block)
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
        found = {
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
                    found[f"{kind}_{rate}"] = jackknifed(value, without, matrix.total)
        return found


def jackknifed(value: float, without: list[float | None], n: int) -> Figure:
    """A figure with the normal interval of its grouped jackknife, inside 0 to 1."""
    known = [part for part in without if part is not None]
    if len(known) < 2:
        return Figure(value=value, n=n)
    reach = z_two_sided(0.95) * jackknife_se(known)
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

    def add(self, trace: Trace) -> None:
        """Count one trace."""
        self._traces += 1
        called = hit_names(trace, self._kind)
        self._hits.update(called)
        expected = expected_names(trace, self._kind)
        if expected is None:
            return
        self._labelled += 1
        self._tp.update(expected & called)
        self._fp.update(called - expected)
        self._fn.update(expected - called)

    def report(self) -> Confusions | None:
        """Counts by name; None when no trace is labelled."""
        names = sorted(self._tp | self._fp | self._fn)
        if not self._labelled or not names:
            return None
        rows = [self._confusion(name) for name in names]
        shown = sorted(rows, key=lambda row: -(row.tp + row.fp + row.fn))[:_LABELS_SHOWN]
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
        return Confusions(
            title=self._kind.value,
            rows=self._labelled,
            labels=tuple(row.name for row in shown),
            matrix=None,
            rates=tuple(_rates(row.name, row) for row in shown),
            averages=averages,
            left_out=len(rows) - len(shown),
        )

    def _confusion(self, name: str) -> Confusion:
        tp, fp, fn = self._tp[name], self._fp[name], self._fn[name]
        tn = self._labelled - tp - fp - fn
        return Confusion(kind=self._kind, name=name, tp=tp, fp=fp, fn=fn, tn=tn)

    def hit_rates(self) -> dict[str, Figure]:
        """`kind/name/basis` to the rate, for names that were hit or expected."""
        rates = {
            f"{self._kind.value}/{name}/all": _share(self._hits[name], self._traces)
            for name in self._hits
        }
        for name in self._tp | self._fn:
            wanted = self._tp[name] + self._fn[name]
            rates[f"{self._kind.value}/{name}/expected"] = _share(self._tp[name], wanted)
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
