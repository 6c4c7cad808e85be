"""Strict reading of replies: the whole reply is exactly one JSON object, or it is refused.

Nothing is searched for, repaired, rounded or guessed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from rag_monitor.errors import JudgeOutputInvalid

MAX_REPLY: Final = 200_000
"""Characters; longer replies are refused unread."""


def parse_object(text: str | None) -> dict[str, Any]:
    """The one JSON object that `text` is.

    Raises:
        JudgeOutputInvalid: It is anything else: empty, prose, fenced, several objects, cut short,
            with duplicate keys, NaN, infinite numbers, too long or too deep.
    """
    if not text or not text.strip(" \t\r\n"):
        raise JudgeOutputInvalid("the reply is empty")
    if len(text) > MAX_REPLY:
        raise JudgeOutputInvalid(f"the reply is longer than {MAX_REPLY} characters")
    if text.lstrip(" \t\r\n")[0] != "{":
        raise JudgeOutputInvalid("the reply is not a JSON object")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise JudgeOutputInvalid(f"the reply is not one JSON object: {error}") from None
    return dict(value)


def probability(value: object, where: str) -> float:
    """`value` as a probability.

    Raises:
        JudgeOutputInvalid: Not a number (booleans and strings are none) or outside 0 to 1.
    """
    if type(value) not in (int, float):
        raise JudgeOutputInvalid(f"{where} is not a number")
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number) or not 0.0 <= number <= 1.0:
        raise JudgeOutputInvalid(f"{where} is outside 0 to 1")
    return number


def only(value: Mapping[str, Any], fields: Iterable[str]) -> None:
    """Check that `value` has no field but `fields`.

    Raises:
        JudgeOutputInvalid: It has others.
    """
    strange = sorted(set(value) - set(fields))
    if strange:
        raise JudgeOutputInvalid(f"the reply has fields that were not asked for: {strange[:3]}")


def texts(value: object, most: int, where: str) -> list[str]:
    """A list of 1 to `most` non-empty strings.

    Raises:
        JudgeOutputInvalid: It is anything else.
    """
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise JudgeOutputInvalid(f"{where} is not a list of 1 to {most} texts")
    if not all(isinstance(text, str) and text.strip() for text in value):
        raise JudgeOutputInvalid(f"{where} holds something that is not a text")
    return [text.strip() for text in value]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate keys")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
