"""What programming languages print of their objects: read where it is plain, no text elsewhere.

Instrumentations call `str` on whatever a framework hands them. A list or dict printed by Python
holds what was said and can be read; an object printed with its class is neither read nor text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_MAX_LITERAL: Final = 1_000_000
_TOKEN: Final = re.compile(
    r"""\s*+(?:
      (?P<text>'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<object><[^<>]*+>)
    | (?P<sign>[\[\]{}(),:=])
    | (?P<word>[^\s\[\]{}(),:='"<>]++)
    )""",
    re.DOTALL | re.VERBOSE,
)
"""A string, `<an object>`, a sign, or a word; possessive, so that no text makes it look twice."""
_LITERAL_STARTS: Final = ("{'", "['", "('", "[{'", "[('", "[['", "[[{'", '[{"')
_CLOSING: Final = {"[": "]", "{": "}", "(": ")"}
_JSON_SIGN: Final = {"(": "[", ")": "]", "=": None}
_JSON_WORD: Final = {"None": "null", "True": "true", "False": "false"}
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5})|(.))", re.DOTALL
)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "\n": "", "a": "\a", "b": "\b", "f": "\f"}

_CALL_START: Final = re.compile(r"[\[({\s]*+(?:[A-Za-z_]\w*\.)*+_*[A-Z]\w*\(")
_FIELD_START: Final = re.compile(r"[a-z_]\w*=(?=['\"\[{(<]|None\b|[A-Z]\w*\()")
_FIELDS: Final = re.compile(r"(?:w=(?:t|o|g|wg?))*+(?:w=?)?")
"""Words, signs, texts, objects and groups in brackets, at the outermost level."""
_SHAPES: Final = {"text": "t", "object": "o", "word": "w"}
_OBJECT: Final = re.compile(
    r"\[?<[^<>]*\bat 0x[0-9a-fA-F]+>?"
    r"|\[?<(?:class '|function |bound method |module '|(?:async_)?generator |coroutine )"
    r"|<[A-Z]\w*\.\w+: [^<>]*>$"
    r"|\[object \w+\]$"
    r"|#<[A-Z]\w*"
    r"|&?\{[A-Z]\w*:\S|map\[\S+:"
    r"|[A-Z]\w*\s?[\[{]\w+="
    r"|(?:[a-z]\w*\.)+[A-Z][\w$]*@[0-9a-f]{4,8}$"
)
"""Of Python, JavaScript, Ruby, Go and Java."""


def literal(text: str) -> Any:
    """What Python printed of a list, tuple or dict; None when the text is not one."""
    text = text.strip()
    if not text.startswith(_LITERAL_STARTS) or len(text) > _MAX_LITERAL:
        return None
    parts = [_as_json(token) for token in _tokens(text)]
    if None in parts:
        return None
    written = "".join(part for part in parts if part)
    try:
        return json.loads(re.sub(r",([\]}])", r"\1", written) if ",)" in text else written)
    except (ValueError, RecursionError):
        return None


def is_printed_object(text: str) -> bool:
    """Whether the text is an object as a language prints it, whole or cut off at its end."""
    text = text.strip()
    if _OBJECT.match(text):
        return True
    if _CALL_START.match(text):
        return _closes_at_end(text)
    return _FIELD_START.match(text) is not None and _is_fields(text)


def _tokens(text: str) -> Iterator[re.Match[str] | None]:
    """The tokens; None at a place where none can be, which ends them."""
    end = 0
    while end < len(text):
        token = _TOKEN.match(text, end)
        yield token
        if token is None:
            return
        end = token.end()


def _as_json(token: re.Match[str] | None) -> str | None:
    """The token as JSON writes it; None where JSON has none."""
    if token is None or token["object"]:
        return None
    if token["text"]:
        return json.dumps(_unescaped(token["text"][1:-1]))
    if sign := token["sign"]:
        return _JSON_SIGN.get(sign, sign)
    word = token["word"]
    return _JSON_WORD.get(word, word if _NUMBER.fullmatch(word) else None)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code:
        return chr(int(code, 16))
    return _ESCAPED.get(escape[4], escape[4])


def _closes_at_end(text: str) -> bool:
    """Whether the first bracket closes at the very end of the text, or not at all.

    Or where another object begins: what an agent gave out in a stream is printed in one piece.
    """
    open_: list[str] = []
    for token in _tokens(text):
        if token is None:
            return True  # cut within a string
        sign = token["sign"] or ""
        if sign in _CLOSING:
            open_.append(_CLOSING[sign])
        elif sign and sign in "])}":
            if not open_ or open_.pop() != sign:
                return False
            if not open_ and not ("=" in text and _CALL_START.match(text, token.end())):
                return not text[token.end() :].strip()
    return bool(open_) and "=" in text


def _is_fields(text: str) -> bool:
    """Whether the text is `name=value name=value …` to its end, as pydantic prints a model."""
    shape, depth = [], 0
    for token in _tokens(text):
        if token is None:
            break  # cut within a string
        sign = token["sign"] or ""
        if sign in _CLOSING:
            depth += 1
        elif sign and sign in "])}":
            depth -= 1
            shape.append("g" * (depth == 0))
        elif depth == 0:
            shape.append(sign or _SHAPES[token.lastgroup or ""])
    return _FIELDS.fullmatch("".join(shape)) is not None
