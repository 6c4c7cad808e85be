"""Value axes with round ticks: ratios, shares, counts and durations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

_TICKS: Final = 3
"""Steps between the ends of an axis, about."""
_LEAST_RATIO: Final = 0.1
"""A narrower range of ratios would make noise look like news."""
_LEAST_SHARE: Final = 0.02


@dataclass(frozen=True, slots=True)
class Scale:
    """The range of an axis, and the values that stand at it."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    """Value and what it is called, from the lowest to the highest."""

    def share(self, value: float) -> float:
        """How far up the axis a value lies, 0 to 1."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def ratios(values: Iterable[float]) -> Scale:
    """For scores: as near to them as round ticks allow, never beyond 0 to 1."""
    given = list(values)
    low, high = min(given, default=0.0), max(given, default=1.0)
    missing = max(0.0, _LEAST_RATIO - (high - low)) / 2
    low, high = max(0.0, low - missing), min(1.0, high + missing)
    step = _round_step(high - low)
    digits = max(1, -math.floor(math.log10(step) + 1e-9))
    # The steps are 1, 2 or 5 times a power of ten: every one of them ends at 1 exactly.
    start, end = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return _scale(start, end, step, lambda value: f"{value:.{digits}f}")


def shares(values: Iterable[float]) -> Scale:
    """For shares of all traces, 0 to 1: from nothing up, in percent."""
    high = max(_LEAST_SHARE, *values, 0.0)
    step = _round_step(high)
    return _from_zero(min(1.0, high), step, lambda value: f"{100 * value:g}%")


def balances(values: Iterable[float]) -> Scale:
    """For what is left of a whole, in percent: from nothing, or below where it is overspent."""
    given = [0.0, 1.0, *values]
    low, high = min(given), max(given)
    step = _round_step(high - low)
    start, end = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return _scale(start, end, step, lambda value: f"{100 * value:g}%".replace("-", "−"))


def counts(values: Iterable[float]) -> Scale:
    """For numbers of things: from nothing up, in whole numbers."""
    high = max(1.0, *values, 1.0)
    step = max(1.0, _round_step(high))
    return _from_zero(high, step, lambda value: f"{value:,.0f}")


def durations(values: Iterable[float]) -> Scale:
    """For milliseconds: from nothing up, in the unit that fits the longest."""
    high = max(1.0, *values, 1.0)
    size, unit = next(
        (size, unit)
        for size, unit in ((3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))
        if high >= size or size == 1
    )
    step = _round_step(high / size) * size
    return _from_zero(high, step, lambda value: f"{value / size:g} {unit}" if value else "0")


def _from_zero(high: float, step: float, text_of: Callable[[float], str]) -> Scale:
    return _scale(0, max(1, math.ceil(high / step - 1e-9)), step, text_of)


def _scale(start: int, end: int, step: float, text_of: Callable[[float], str]) -> Scale:
    values = [round(number * step, 9) for number in range(start, end + 1)]
    return Scale(values[0], values[-1], tuple((value, text_of(value)) for value in values))


def _round_step(span: float) -> float:
    """1, 2 or 5 times a power of ten that makes about `_TICKS` steps of the span."""
    rough = span / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return float(next(times for times in (1, 2, 5, 10) if rough <= times * power + 1e-12) * power)
