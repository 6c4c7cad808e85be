"""A user's rating of a whole answer, in the form that the application gave it in.

What people say of an answer is apart from what is supported: a rating enters `satisfaction_rate`
and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rag_monitor.errors import RagMonitorError

SATISFIED_ABOVE: Final = 0.5
"""Who rates an answer higher than this is satisfied: a thumb up, 4 or 5 of 5, more than half."""
MOST_STEPS: Final = 100
"""The longest scale."""
_THUMBS: Final = {"up": 1.0, "thumbs_up": 1.0, "down": 0.0, "thumbs_down": 0.0}


class RatingError(RagMonitorError, ValueError):
    """This is no rating; the message says what is taken."""


class RatingKind(StrEnum):
    """In which form a rating was given."""

    THUMB = "thumb"
    """Up or down: `true`, `false`, or a word for them."""
    SCALE = "scale"
    """Whole or fractional steps from 1 to `scale`."""
    NUMBER = "number"
    """0 (bad) to 1 (good)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A rating as it was given, and what it means from 0 to 1."""

    kind: RatingKind
    raw_value: bool | float | str
    """As it was given."""
    scale: int | None = None
    """Of kind `scale`: the best step; the worst is 1."""
    value: float
    """0 (bad) to 1 (good)."""


def rating_of(raw_value: object, scale: object = None) -> Rating:
    """Read a rating.

    A number above 1 is never guessed at: 4 is bad out of 10 and good out of 5.

        >>> rating_of(4, scale=5).value, rating_of("up").value, rating_of(False).value
        (0.75, 1.0, 0.0)

    Args:
        raw_value: `True`, `False`, "up", "down", "thumbs_up", "thumbs_down", a number from 0 to 1,
            or, with a scale, a number from 1 to `scale`.
        scale: The best step of a scale that begins with 1, from 2 to 100.

    Raises:
        RatingError: It is none of these; the message says what is taken.
    """
    if scale is not None:
        return _of_scale(raw_value, scale)
    if isinstance(raw_value, bool):
        return Rating(kind=RatingKind.THUMB, raw_value=raw_value, value=float(raw_value))
    if isinstance(raw_value, str):
        value = _THUMBS.get(raw_value.strip().casefold().replace("-", "_").replace(" ", "_"))
        if value is not None:
            return Rating(kind=RatingKind.THUMB, raw_value=raw_value.strip(), value=value)
    elif isinstance(raw_value, int | float):
        if 0 <= raw_value <= 1:
            return Rating(kind=RatingKind.NUMBER, raw_value=raw_value, value=float(raw_value))
        if raw_value > 1:
            raise RatingError(
                "a `value` above 1 needs its `scale`: `scale=5` for 1 to 5; without one, "
                "`value` is 0 (bad) to 1 (good)"
            )
    raise RatingError(
        '`value` must be true, false, "up", "down", "thumbs_up", "thumbs_down", a number from '
        "0 (bad) to 1 (good), or, with `scale=5`, a number from 1 to 5"
    )


def _of_scale(raw_value: object, scale: object) -> Rating:
    if isinstance(scale, bool) or not isinstance(scale, int) or not 2 <= scale <= MOST_STEPS:
        raise RatingError(
            "`scale` is the best step of a scale that begins with 1: a whole number from 2 to "
            "{most}",
            most=MOST_STEPS,
        )
    is_number = isinstance(raw_value, int | float) and not isinstance(raw_value, bool)
    if not is_number or not 1 <= raw_value <= scale:  # type: ignore[operator]
        raise RatingError(
            "with `scale={scale}`, `value` is a number from 1 to {scale}", scale=scale
        )
    number = float(raw_value)  # type: ignore[arg-type]
    return Rating(
        kind=RatingKind.SCALE,
        raw_value=raw_value,  # type: ignore[arg-type]
        scale=scale,
        value=(number - 1.0) / (scale - 1.0),
    )
