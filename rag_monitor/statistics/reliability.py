"""How far stated probabilities can be believed: against what happened, in constant memory.

Bins are of equal mass: every point of a reliability diagram rests on as many rows, and its interval
says how many that is. Source: Nguyen and O'Connor 2015; reference/judging.md 2.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.statistics.wilson import wilson_interval

MOST_BINS: Final = 10
PER_BIN: Final = 10
"""Fewer rows than this say nothing about a share; small sets get fewer bins."""
_FINE: Final = 1_000
"""Probabilities within a thousandth of each other count as equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """Rows with similar stated probabilities."""

    stated: float
    """Their mean probability."""
    observed: float
    """Share of them that came true."""
    lower: float
    upper: float
    """95 % interval of `observed`."""
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How far a probability can be believed, on rows whose truth is known."""

    n: int
    ece: float
    """Expected calibration error over ten bins of equal mass."""
    brier: float
    auroc: float | None
    """None unless both outcomes occur."""
    bins: tuple[ReliabilityBin, ...]


@dataclass(slots=True)
class _Cell:
    n: int = 0
    stated: float = 0.0
    true: int = 0

    def add(self, other: _Cell) -> None:
        self.n += other.n
        self.stated += other.stated
        self.true += other.true


class ReliabilityTally:
    """Adds up rows one by one."""

    def __init__(self) -> None:
        self._fine: dict[int, _Cell] = {}
        self._squares = 0.0

    def add(self, probability: float, true: bool) -> None:
        """Count one row; a probability outside 0 to 1 counts as the nearer end."""
        p = min(1.0, max(0.0, probability))
        cell = self._fine.setdefault(min(_FINE - 1, int(p * _FINE)), _Cell())
        cell.add(_Cell(1, p, int(true)))
        self._squares += (p - true) ** 2

    def report(self) -> Reliability | None:
        """None without rows."""
        cells = [self._fine[place] for place in sorted(self._fine)]
        n = sum(cell.n for cell in cells)
        if not n:
            return None
        shown = max(1, min(MOST_BINS, n // PER_BIN))
        return Reliability(
            n=n,
            ece=sum(abs(cell.stated - cell.true) for cell in _merged(cells, MOST_BINS)) / n,
            brier=self._squares / n,
            auroc=_auroc(cells),
            bins=tuple(_bin(cell) for cell in _merged(cells, shown)),
        )


def _merged(cells: Sequence[_Cell], bins: int) -> list[_Cell]:
    """At most `bins` groups of about equal mass; equal probabilities stay together."""
    n = sum(cell.n for cell in cells)
    merged: list[_Cell] = []
    open_bin, counted = _Cell(), 0
    for cell in cells:
        open_bin.add(cell)
        counted += cell.n
        if counted >= (len(merged) + 1) * n // bins:
            merged.append(open_bin)
            open_bin = _Cell()
    return merged


def _bin(cell: _Cell) -> ReliabilityBin:
    interval = wilson_interval(cell.true, cell.n)
    return ReliabilityBin(
        stated=cell.stated / cell.n,
        observed=cell.true / cell.n,
        lower=interval.lower,
        upper=interval.upper,
        n=cell.n,
    )


def _auroc(cells: Sequence[_Cell]) -> float | None:
    true = sum(cell.true for cell in cells)
    pairs = true * (sum(cell.n for cell in cells) - true)
    if not pairs:
        return None
    below, wins = 0, 0.0
    for cell in cells:
        false = cell.n - cell.true
        wins += cell.true * (below + false / 2)
        below += false
    return wins / pairs
