"""JSON from strangers: strict where Python's parser is lax, bounded where it is not.

`json.loads` accepts NaN and Infinity, overflows `1e999` to infinity, lets duplicate keys pass,
guesses UTF-16, and builds as many keys as it is given. All of these are refused here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from rag_monitor.errors import MalformedPayload, PayloadTooLarge

_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**64 - 1
_DEPTH: Final = 64


_SHORTEST_KEY: Final = 4
"""Characters that a key takes at least, with quotation marks and colon."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        key = repeated_key(pairs)
        raise MalformedPayload(
            "a JSON object names the key {key!r} twice; name each key once", key=key
        )
    return members


class _Counting:
    """Makes objects of a document, and counts their keys."""

    def __init__(self, max_keys: int) -> None:
        self._left = max_keys
        self._max_keys = max_keys

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        self._left -= len(pairs)
        if self._left < 0:
            raise PayloadTooLarge(
                "the JSON has more than {most} object keys; send fewer items per request",
                most=self._max_keys,
            )
        return _object(pairs)


def repeated_key(pairs: Sequence[tuple[str, Any]]) -> str:
    """The beginning of the first name that comes twice, in characters that can be sent on."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name[:100].encode("utf-8", "replace").decode()
        seen.add(name)
    return ""


def _integer(text: str) -> int:
    if len(text) > 21:
        raise MalformedPayload("an integer does not fit 64 bits; send large numbers as strings")
    number = int(text)
    if not _INT_MIN <= number <= _INT_MAX:
        raise MalformedPayload("an integer does not fit 64 bits; send large numbers as strings")
    return number


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedPayload("a number is too large for a double; send a smaller one")
    return number


def _constant(name: str) -> float:
    raise MalformedPayload("{name} is not JSON; send null or leave the field out", name=name)


def _decoder(make: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=make,
        parse_int=_integer,
        parse_float=_real,
        parse_constant=_constant,
    )


_SHORT: Final = _decoder(_object)
"""For what is too short to have too many keys."""


def parse(body: bytes, *, max_keys: int = 250_000, max_depth: int | None = _DEPTH) -> Any:
    """The JSON value of `body` (UTF-8, no byte order mark).

    Args:
        body: The document.
        max_keys: Object keys in the whole document.
        max_depth: Nesting of arrays and objects; None: only what the parser itself can take.

    Raises:
        MalformedPayload: Not JSON, not UTF-8, or one of the refused constructs.
        PayloadTooLarge: More than `max_keys` keys.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedPayload(
            "the JSON is not UTF-8 (byte {byte}); encode the body as UTF-8", byte=error.start
        ) from error
    return parse_text(text, max_keys=max_keys, max_depth=max_depth)


def parse_text(text: str, *, max_keys: int = 250_000, max_depth: int | None = _DEPTH) -> Any:
    """As `parse`, for text that is already decoded."""
    few = len(text) <= _SHORTEST_KEY * max_keys
    decoder = _SHORT if few else _decoder(_Counting(max_keys).object)
    if text.startswith("\ufeff"):
        raise MalformedPayload("the JSON begins with a byte order mark; leave it out")
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise MalformedPayload(
            "not valid JSON: {reason} at line {line}, column {column}",
            reason=error.msg,
            line=error.lineno,
            column=error.colno,
        ) from error
    except RecursionError as error:
        raise MalformedPayload("the JSON is nested too deeply; flatten it") from error
    except ValueError as error:
        raise MalformedPayload("not valid JSON: {reason}", reason=error) from error
    if max_depth is None or _brackets_within(text, max_depth):
        return value
    if depth_exceeds(value, max_depth):
        raise MalformedPayload(
            "the JSON is nested deeper than {most} levels; flatten it", most=max_depth
        )
    return value


def _brackets_within(text: str, limit: int) -> bool:
    """Whether so few arrays and objects begin in a document that none can be nested deeper."""
    left = limit
    for bracket in "{[":
        place = text.find(bracket)  # leaps over long texts, as `count` does not
        while place >= 0:
            left -= 1
            if left < 0:
                return False
            place = text.find(bracket, place + 1)
    return True


def depth_exceeds(value: object, limit: int) -> bool:
    """Whether arrays and objects nest deeper than `limit` (no recursion, any depth is safe)."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True
