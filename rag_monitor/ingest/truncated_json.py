"""JSON that an attribute length limit of the sender's SDK cut off: what is left of it.

Only for texts that people wrote, where a part is better than nothing. A list of passages that is
cut must stay unknown: judged by a part of it, an answer would look unsupported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

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
