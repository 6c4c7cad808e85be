"""A number as a text states it, and whether another one is the same in whatever unit."""

from __future__ import annotations

from math import floor, log10
from typing import Final, NamedTuple

from rag_monitor.language.clock_times import HALF_DAY
from rag_monitor.language.units import MEASURES

TIME: Final = "time"
HALF_OPEN: Final = "half"
"""Unit of a time whose half of the day is not told."""


class Quantity(NamedTuple):
    """A number as stated."""

    value: float
    """In units of one: 22% is 22 with kind percent; 2.5 million is 2500000."""
    kind: str
    """`number`, `percent`, `money` or `time` (of day, in minutes)."""
    unit: str
    """Canonical unit, empty when none was read."""
    digits: int
    """Significant digits as written, which bound how exact it claims to be."""
    start: int
    end: int

    @property
    def base(self) -> tuple[str, float] | None:
        """Dimension, and the value in its base unit; shares and bare numbers are of one."""
        if self.kind == "percent":
            return "share", self.value / 100
        if not self.unit:
            return "share", self.value
        measure = MEASURES.get(self.unit)
        return measure and (measure.dimension, (self.value + measure.zero) * measure.factor)

    def equals(self, other: Quantity) -> bool:
        """Same value within the precision stated here, in the same or in another unit.

        Units of different dimensions and currencies contradict; a missing unit does not.
        """
        if TIME in (self.kind, other.kind):
            return self.kind == other.kind and self._same_time(other)
        if "percent" in (self.kind, other.kind) and self.kind != other.kind:
            return not (self.unit or other.unit) and self._converted(other)
        unit, other_unit = self.unit, other.unit
        if unit == other_unit or not unit or not other_unit or _loose(unit, other_unit):
            return same_value(self.value, other.value, self.digits, other.digits)
        return self._converted(other)

    def _converted(self, other: Quantity) -> bool:
        """Whether the other one is the same in the unit of this one, rounded as this one is."""
        if self.base is None or other.base is None or self.base[0] != other.base[0]:
            return False
        one, zero = (0.01, 0.0) if self.kind == "percent" else (1.0, 0.0)
        if self.unit:
            _, one, zero = MEASURES[self.unit]
        return same_value(self.value, other.base[1] / one - zero, self.digits, _EXACT)

    def _same_time(self, other: Quantity) -> bool:
        apart = abs(self.value - other.value)
        return apart == 0 or (apart == HALF_DAY and HALF_OPEN in (self.unit, other.unit))


_EXACT: Final = 16
"""Digits of a number that was worked out."""
COUNTED: Final = frozenset({"item", "person", "time"})
"""What is counted one by one; which word counts it says little."""
_INTERCHANGEABLE: Final = (
    COUNTED,
    frozenset({"day", "workday"}),
    frozenset({"age", "year"}),
    frozenset({"degree", "kwh"}),
)


def _loose(a: str, b: str) -> bool:
    """Whether two units may name the same thing in other words."""
    if a.startswith("degree") and b.startswith("degree"):
        return "degree" in (a, b)
    return any(a in group and b in group for group in _INTERCHANGEABLE)


def same_value(stated: float, other: float, digits: int, known_digits: int) -> bool:
    """Whether `stated` is `other`, or `other` rounded to the fewer digits that were stated.

    At least two significant digits must be stated, or rounding would excuse anything.
    """
    if stated == other:
        return True
    apart = abs(stated - other)
    if apart <= 1e-10 * max(1.0, abs(stated), abs(other)):
        return True
    if digits < 2 or digits >= known_digits or stated * other <= 0:
        return False
    return apart <= 0.5 * 10.0 ** (_magnitude(abs(stated)) - digits + 1)


def _magnitude(value: float) -> int:
    return floor(log10(value))
