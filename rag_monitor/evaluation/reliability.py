"""How far a judge's `answer_supported` can be believed, added up in constant memory."""

from __future__ import annotations

from typing import Final

from rag_monitor.evaluation.report.model import Reliability, ReliabilityBin

_BINS: Final = 10
_FINE: Final = 1_000
"""AUROC is read from a fine histogram: exact up to ties within a thousandth."""


class ReliabilityTally:
    """Stated probabilities against what people said."""

    def __init__(self) -> None:
        self._bins = [[0, 0.0, 0] for _ in range(_BINS)]
        self._squares = 0.0
        self._fine: dict[bool, list[int]] = {False: [0] * _FINE, True: [0] * _FINE}

    def add(self, probability: float, faithful: bool) -> None:
        """Count one labelled row."""
        p = min(1.0, max(0.0, probability))
        cell = self._bins[min(_BINS - 1, int(p * _BINS))]
        cell[0] += 1
        cell[1] += p
        cell[2] += faithful
        self._squares += (p - faithful) ** 2
        self._fine[faithful][min(_FINE - 1, int(p * _FINE))] += 1

    def report(self) -> Reliability | None:
        """None without labelled rows."""
        n = sum(int(cell[0]) for cell in self._bins)
        if not n:
            return None
        bins = tuple(
            ReliabilityBin(
                lower=place / _BINS,
                upper=(place + 1) / _BINS,
                n=int(count),
                stated=stated / count,
                observed=faithful / count,
            )
            for place, (count, stated, faithful) in enumerate(self._bins)
            if count
        )
        return Reliability(
            n=n,
            ece=sum(b.n * abs(b.stated - b.observed) for b in bins) / n,
            brier=self._squares / n,
            auroc=self._auroc(),
            bins=bins,
        )

    def _auroc(self) -> float | None:
        good, bad = self._fine[True], self._fine[False]
        pairs = sum(good) * sum(bad)
        if not pairs:
            return None
        below, wins = 0, 0.0
        for better, worse in zip(good, bad, strict=True):
            wins += better * (below + worse / 2)
            below += worse
        return wins / pairs
