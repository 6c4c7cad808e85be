"""Reading of replies: exactly one JSON object that repeats the nonce, whatever stands around it.

The nonce was drawn for this request and stands in no trace, so an object that a trace put into the
reply is not the reply. Of two objects that repeat it none is taken. Nothing else is repaired,
rounded or guessed.

Models also write JSON with the punctuation of Chinese text: `“nonce”：“ab12”，｛…｝`. Only what
stands outside of strings is folded, and the quotation marks that delimit them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.redaction.redactor import presentable

_STRUCTURE: Final = {
    "，": ",", "、": ",", "：": ":", "｛": "{", "｝": "}", "［": "[", "］": "]", "\u3000": " ",
    "\u00a0": " ", "\ufeff": " ",
}  # fmt: skip
_CLOSING: Final = {"“": "”", "”": "”", "＂": "＂", "„": "“", "«": "»"}
"""Quotation marks that open a string, and the one that ends it."""
_FOREIGN: Final = frozenset(_STRUCTURE) | frozenset(_CLOSING)


def folded(text: str) -> str:
    """`text` with the objects in it written in ASCII punctuation; prose around them is kept."""
    if _FOREIGN.isdisjoint(text):
        return text
    parts: list[str] = []
    depth = place = 0
    while place < len(text):
        char = text[place]
        plain = _STRUCTURE.get(char, char)
        if not depth:
            inside = plain == "{"
            parts.append(plain if inside else char)
            depth += inside
            place += 1
        elif char == '"' or char in _CLOSING:
            string, place = _string(text, place)
            parts.append(string)
        else:
            depth += (plain == "{") - (plain == "}")
            parts.append(plain)
            place += 1
    return "".join(parts)


def _string(text: str, start: int) -> tuple[str, int]:
    """The string that begins at `start` between ASCII quotation marks, and where it ends."""
    opening = text[start]
    closing = _CLOSING.get(opening, opening)
    place = start + 1
    while place < len(text) and text[place] != closing:
        place += 2 if text[place] == "\\" else 1
    inner = text[start + 1 : place]
    if opening != '"':
        inner = inner.replace('\\"', '"').replace('"', '\\"')
    ended = '"' if place < len(text) else ""
    return f'"{inner}{ended}', min(place + 1, len(text))


MAX_REPLY: Final = 200_000
"""Characters; longer replies are refused unread."""
NONCE: Final = "nonce"
"""The field that repeats what was drawn for the request."""
_STARTS: Final = 200
"""Braces that are tried as the beginning of an object."""
_SHOWN: Final = 80
"""Characters of a reply that a message shows."""
_VALUE: Final = 40
"""Characters of a value that a message shows."""
_QUOTES: Final = r"\\*[\"“”＂'„«»]"
_NESTING: Final = 20


def parse_reply(text: str, nonce: str) -> dict[str, Any]:
    """The one JSON object in `text` that repeats `nonce`, at whatever depth it stands.

    Raises:
        JudgeOutputInvalid: There is none, or more than one; the message says which, and how the
            reply begins where it holds no object.
    """
    if not text.strip():
        raise JudgeOutputInvalid("the reply is empty")
    if len(text) > MAX_REPLY:
        raise JudgeOutputInvalid(
            "the reply is longer than {longest:,} characters", longest=MAX_REPLY
        )
    plain = folded(text)
    objects, problem = _objects(plain)
    if not _carrying(objects, nonce) and plain != text:
        # Quotation marks of the prose around it may have been taken for those of a string.
        objects = _objects(text)[0] or objects
    right = _carrying(objects, nonce)
    if len(right) > 1 or _mentions(text, nonce) > 1:
        raise JudgeOutputInvalid("the reply repeats the nonce more than once: which is the reply?")
    if right:
        return right[0]
    if any(NONCE in value for top in objects for value in _within(top)):
        raise JudgeOutputInvalid("the reply belongs to another request: wrong nonce")
    if problem:
        raise JudgeOutputInvalid("the reply is not one JSON object: {reason}", reason=problem)
    if objects:
        raise JudgeOutputInvalid("no JSON object of the reply repeats the nonce")
    raise JudgeOutputInvalid(
        "the reply holds no JSON object; it begins: {reason}",
        reason=presentable(text, longest=_SHOWN),
    )


def repeats(text: str, nonce: str) -> bool:
    """Whether a field of `text` repeats `nonce`, wherever it stands."""
    return _mentions(text, nonce) > 0


def probability(value: object, where: str) -> float:
    """`value` as a probability.

    Raises:
        JudgeOutputInvalid: Not a number (booleans and strings are none) or outside 0 to 1.
    """
    if type(value) not in (int, float):
        shown = presentable(json.dumps(value, ensure_ascii=False, default=str), longest=_VALUE)
        raise JudgeOutputInvalid("{where} is not a number but {shown}", where=where, shown=shown)
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number) or not 0.0 <= number <= 1.0:
        raise JudgeOutputInvalid(
            "{where} is {number:g}, outside 0 to 1", where=where, number=number
        )
    return number


def only(value: Mapping[str, Any], fields: Iterable[str]) -> None:
    """Check that `value` has no field but `fields`.

    Raises:
        JudgeOutputInvalid: It has others.
    """
    strange = sorted(set(value) - set(fields))
    if strange:
        named = ", ".join(presentable(name, longest=_SHOWN) for name in strange[:3])
        raise JudgeOutputInvalid(
            "the reply has fields that were not asked for: {named}", named=named
        )


def texts(value: object, most: int, where: str) -> list[str]:
    """A list of 1 to `most` non-empty strings.

    Raises:
        JudgeOutputInvalid: It is anything else.
    """
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise JudgeOutputInvalid(
            "{where} is not a list of 1 to {most} texts", where=where, most=most
        )
    if not all(isinstance(text, str) and text.strip() for text in value):
        raise JudgeOutputInvalid("{where} holds something that is not a text", where=where)
    return [text.strip() for text in value]


def _objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """The outermost objects in `text`, and what is wrong with the first that is none."""
    objects: list[dict[str, Any]] = []
    problem, place = "", 0
    for _ in range(_STARTS):
        start = text.find("{", place)
        if start < 0:
            break
        try:
            value, place = _DECODER.raw_decode(text, start)
            objects.append(value)
        except (ValueError, RecursionError) as error:
            problem = problem or str(error)
            place = start + 1
    return objects, problem


def _carrying(objects: Iterable[dict[str, Any]], nonce: str) -> list[dict[str, Any]]:
    return [value for top in objects for value in _within(top) if value.get(NONCE) == nonce]


def _within(value: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """An object and those in its fields, where some servers and models put the reply.

    `{"result": {…}}`, and a tool call written as text, its arguments an object or a string of JSON.
    """
    if depth > _NESTING:
        return
    if isinstance(value, dict):
        yield value
        for entry in value.values():
            yield from _within(entry, depth + 1)
    elif isinstance(value, list):
        for entry in value:
            yield from _within(entry, depth + 1)
    elif isinstance(value, str) and value.lstrip().startswith("{"):
        for inner in _objects(value)[0]:
            yield from _within(inner, depth + 1)


def _mentions(text: str, nonce: str) -> int:
    """How often a field repeats `nonce`, also in JSON that is broken or stands in a string."""
    field = rf"{NONCE}{_QUOTES}\s*[:：]\s*{_QUOTES}{re.escape(nonce)}{_QUOTES}"
    return len(re.findall(field, text))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError("duplicate keys")
    return unique


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)


MIN_LABEL_MASS: Final = 0.5
"""Below it the model meant to say something else than a label: no verdict."""
LOW_LABEL_MASS: Final = "low_label_mass"


@dataclass(frozen=True, slots=True)
class LabelVerdict:
    """Yes against no, for one question."""

    probability: float | None
    """None: the labels hold too little of the distribution."""
    mass: float
    """What yes and no hold together, of everything."""
    bounded: bool = False
    """One label was not listed; its mass was taken as the smallest listed one."""


def verdict_of(yes: float, no: float) -> LabelVerdict:
    """P = yes / (yes + no); never renormalised over a small label mass."""
    total = yes + no
    if total < MIN_LABEL_MASS:
        return LabelVerdict(None, total)
    return LabelVerdict(yes / total, min(total, 1.0))
