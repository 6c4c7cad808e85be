"""What instrumentations put into attributes, as safe texts, plain numbers and objects.

A value may be text, a JSON string, JSON inside JSON, LangChain's serialisation, or a literal that
stands for "withheld". Texts of strangers are made safe to store, index and send.

JSON that an attribute length limit of the sender's SDK cut off is repaired only for texts that
people wrote, where a part is better than nothing. A list of passages that is cut must stay unknown:
judged by a part of it, an answer would look unsupported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_monitor import semconv
from rag_monitor.domain.clean_text import clean_text
from rag_monitor.ingest.reprs import is_printed_object, literal

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def clean_name(text: str, limit: int = 200) -> str:
    """A one-line name: control characters become spaces, the length is capped."""
    return _CONTROL.sub(" ", clean_text(text)).strip()[:limit].strip()


_DEPTH: Final = 6
_NOTHING: Final = frozenset({"None", "null", "nil", "undefined", "NaN"})
_BEGINNINGS: Final = ('{"', '[{"', "{'", "[{'")


def present(value: object) -> str | None:
    """The text, or None when it is empty or stands for withheld content."""
    if not isinstance(value, str):
        return None
    stripped = value.strip()
    return None if not stripped or stripped in semconv.WITHHELD else value


def authored(value: object) -> str | None:
    """As `present`, for what somebody wrote: nobody writes an object as a language prints it."""
    text = present(value)
    return None if text is None or is_printed_object(text) else text


def is_nothing(text: str) -> bool:
    """Whether that is how a language prints that there is no value.

    No question, passage, name or id is such a word; an answer may be.
    """
    return text.strip() in _NOTHING


def present_name(value: object) -> str | None:
    """As `present`, for names: instrumentations write `unknown` where they know none."""
    text = (present(value) or "").strip()
    return None if not text or is_nothing(text) or text.lower() == "unknown" else text


def structured(value: object) -> Any:
    """`value` with JSON strings parsed as long as they hold objects, lists or quoted strings."""
    for _ in range(3):
        if not isinstance(value, str):
            break
        text = value.strip()
        if not text or text[0] not in '{["' or text[-1] not in '}]"':
            break
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            break
        if not isinstance(parsed, (dict, list, str)):
            break
        value = parsed
    return value


def printed(value: object) -> Any:
    """As `structured`; also lists and objects as Python prints them."""
    plain = structured(value)
    read = literal(plain) if isinstance(plain, str) else None
    return plain if read is None else read


def opened(value: object) -> Any:
    """As `printed`; also of JSON that was cut off what is left."""
    plain = printed(value)
    left = repair(plain.strip()) if isinstance(plain, str) else None
    return plain if left is None else left


def is_structure(value: object) -> bool:
    """Whether that is an object or a list, or what was to be one: it is no text then."""
    if isinstance(value, str):
        return value.lstrip().startswith(_BEGINNINGS)
    return isinstance(value, (Mapping, list, tuple))


def members(value: object) -> Mapping[str, Any]:
    """`value` as an object; empty when it is not one."""
    plain = structured(value)
    return plain if isinstance(plain, Mapping) else {}


def unwrapped(value: object) -> Any:
    """A tool's argument or result without the framework's serialisation around it."""
    for _ in range(_DEPTH):
        value = structured(value)
        if not isinstance(value, Mapping):
            return value
        inner = _inner(value)
        if inner is value:
            return value
        value = inner
    return value


def _inner(value: Mapping[str, Any]) -> Any:
    if value.get("lc") and isinstance(value.get("kwargs"), Mapping):
        return value["kwargs"].get("content", value["kwargs"])
    if isinstance(value.get("data"), Mapping) and "content" in value["data"] and "type" in value:
        return value["data"]["content"]
    framed = "kwargs" in value or "tags" in value or "metadata" in value
    for key in ("inputs", "input_str", "output", "outputs"):
        if key in value and (framed or len(value) == 1):
            return value[key]
    return value


def flag(value: object) -> bool | None:
    """Yes or no, also as a word; None when it is neither."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def whole(value: object) -> int | None:
    """A count of tokens; None when it is not a non-negative number."""
    if isinstance(value, str) and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 2**53 else None


def real(value: object) -> float | None:
    """A finite number, also from a numeric string."""
    if isinstance(value, str) and len(value) < 40:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -1e300 < value < 1e300 else None


def first(*values: str | None) -> str | None:
    """The first that is there."""
    return next((value for value in values if value is not None), None)


_LEAST: Final = 64
"""Nobody sets a limit so low; a shorter text is one that merely begins like JSON."""
_MAX_DEPTH: Final = 64
_TOKEN: Final = re.compile(
    r'\s*+("[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]++)', re.DOTALL
)
"""A string, a sign, or a word; possessive, so that no text makes it look twice."""
_PLAIN: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity")
_HALF_ESCAPE: Final = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_CLOSING: Final = {"{": "}", "[": "]"}


def is_cut(value: object) -> bool:
    """Whether the value is the beginning of a JSON object or list."""
    if not isinstance(value, str) or len(value) < _LEAST or value[0] not in _CLOSING:
        return False
    return value[-1] != _CLOSING[value[0]] and repair(value) is not None


def repair(text: str) -> Any:
    """What the beginning of a JSON object or list holds; None when it is not one.

        >>> repair('{"answer": "The warranty lasts 24 months.", "sources": [1, 2], "note": "cut he')
        {'answer': 'The warranty lasts 24 months.', 'sources': [1, 2], 'note': 'cut he'}

    The last text is kept as far as it goes; a name without a value is left out.
    """
    if len(text) < _LEAST or text[0] not in _CLOSING:
        return None
    open_: list[str] = []
    safe: tuple[int, tuple[str, ...]] = (0, ())
    end = 0
    while (token := _TOKEN.match(text, end)) is not None:
        word, end = token[1], token.end()
        if word in _CLOSING:
            open_.append(_CLOSING[word])
            safe = (end, tuple(open_))
        elif word == ",":
            safe = (token.start(1), tuple(open_))
        elif not _fits(word, open_, last=end == len(text)):
            return None
        if not 0 < len(open_) <= _MAX_DEPTH:
            return None  # it ends before the text does, or with it; or it is no attribute's value
    whole = text
    if text[end:].lstrip().startswith('"'):
        half = _HALF_ESCAPE.search(text)
        whole = (text[: half.start(1)] if half else text) + '"'
    return _first_of(whole + _closers(open_), text[: safe[0]] + _closers(safe[1]))


def _fits(word: str, open_: list[str], *, last: bool) -> bool:
    """Whether the word may stand in JSON; closes what it closes. The last may be a part of one."""
    if word in ("}", "]"):
        return bool(open_) and open_.pop() == word
    return last or word[0] in '":' or _PLAIN.fullmatch(word) is not None


def _closers(open_: Sequence[str]) -> str:
    return "".join(reversed(open_))


def _first_of(*candidates: str) -> Any:
    for candidate in candidates:
        try:
            parsed = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return parsed or None
    return None
