"""The range of an option, written beside its type and checked in one place.

@dataclass(frozen=True, slots=True, kw_only=True)
class AlertOptions:
slot_s: Annotated[float, above(0)] = 15.0

def __post_init__(self) -> None:
check_ranges(self)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, get_type_hints

from rag_monitor.i18n import Message, msgid

_ABOVE: Final = msgid("`{name}` must be above {least:g}, not {value:g}")
_AT_LEAST: Final = msgid("`{name}` must be at least {least:g}, not {value}")
_NOT_NEGATIVE: Final = msgid("`{name}` must be 0 or more, not {value:g}")


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that an option may be, and what is said of others."""

    refusal: str
    """Of a `Message` with the parameters `name`, `value`, `least` and `most`."""
    least: float = -math.inf
    most: float = math.inf
    least_open: bool = False
    """The option must be above `least`."""

    def holds(self, value: float) -> bool:
        """Whether the option may be this number."""
        above = value > self.least if self.least_open else value >= self.least
        return above and value <= self.most

    def refused(self, name: str, value: float) -> Message:
        """What is wrong with a number that it may not be."""
        return Message(self.refusal, name=name, value=value, least=self.least, most=self.most)


def above(least: float, refusal: str = _ABOVE) -> Range:
    """Numbers above `least`."""
    return Range(refusal, least=least, least_open=True)


def at_least(least: float, refusal: str = _AT_LEAST) -> Range:
    """`least` and all above."""
    return Range(refusal, least=least)


def at_most(most: float, refusal: str) -> Range:
    """`most` and all below."""
    return Range(refusal, most=most)


def not_negative(refusal: str = _NOT_NEGATIVE) -> Range:
    """0 and all above."""
    return Range(refusal, least=0)


def between(least: float, most: float, refusal: str, *, least_open: bool = False) -> Range:
    """Numbers from `least` to `most`, both among them unless the first is left out."""
    return Range(refusal, least=least, most=most, least_open=least_open)


def check_ranges(options: Any, error: type[Exception] = ValueError) -> None:
    """Refuse options out of the ranges they are annotated with; None is out of none.

    Args:
        options: An instance of a dataclass.
        error: What is raised.

    Raises:
        ValueError: Or what `error` says; about the first option that is out of its range.
    """
    for name, allowed in _ranges(options.__class__):
        value = getattr(options, name)
        if value is not None and not allowed.holds(value):
            raise error(allowed.refused(name, value))


@lru_cache
def _ranges(kind: type[Any]) -> tuple[tuple[str, Range], ...]:
    return tuple(
        (name, part)
        for name, hint in get_type_hints(kind, include_extras=True).items()
        for part in getattr(hint, "__metadata__", ())
        if isinstance(part, Range)
    )
