"""Foreign values into text and JSON that every receiver can read. Off the request path.

Bounded in bytes, depth, breadth and nodes; exact built-in types only, everything else by type name.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import re
import uuid
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import islice
from operator import index
from typing import Any, Final

from rag_monitor.redaction.redactor import TextRedactor
from rag_monitor.sdk.peek import number_of, text_of, type_name

MAX_DEPTH: Final = 6
MAX_BREADTH: Final = 50
MAX_NODES: Final = 500
_LOOKAHEAD: Final = 4096
"""Characters looked at beyond a cut, so that a secret on the cut is found whole."""
_PLAIN: Final = frozenset(
    {
        datetime.datetime,
        datetime.date,
        datetime.time,
        datetime.timedelta,
        uuid.UUID,
        decimal.Decimal,
    }
)
_MAX_INT: Final = 2**63 - 1
_quote: Final = json.encoder.encode_basestring
_ESCAPES: Final = (
    ("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"),
)  # fmt: skip
_UNESCAPED: Final = b"\n\r\t" + bytes(range(0x20, 0x100))
"""Bytes of UTF-8 that stand for themselves in JSON, or are in `_ESCAPES`."""

_STATED: Final = re.compile(r"\w{1,200}|HTTP \d{3}|documents of unknown type \w{1,100}")
"""How the SDK itself names a failure: an exception's type, a status, a shape."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def valid_text(text: str) -> str:
    """`text` as valid UTF-8 without NUL: surrogate pairs joined, lone ones become U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd") if "\0" in text else text


def cut_bytes(text: str, limit: int) -> str:
    """The longest start of `text` that fits `limit` UTF-8 bytes."""
    if text.isascii():
        return text[: max(0, limit)]
    return text.encode()[: max(0, limit)].decode("utf-8", "ignore")


class Sanitiser:
    """Cleans the values of one trace under one common byte budget.

    >>> clean = Sanitiser(None, content=True, per_text=10, budget=14)
    >>> clean.bulk("question", "a long question"), clean.bulk("answer", "an answer")
    ('a long que', 'an a')
    >>> clean.truncated
    True
    """

    def __init__(
        self, redactor: TextRedactor | None, *, content: bool, per_text: int, budget: int
    ) -> None:
        self._redactor = redactor
        self._content = content
        self._per_text = per_text
        self.left = budget
        """Bytes of text this trace may still use."""
        self.truncated = False
        self._nodes = 0
        self._cleared = redactor is None
        self._clean = False

    def screen(self, texts: Iterable[object]) -> None:
        """Look at all bulk texts of the trace at once; most traces hold nothing to mend or hide.

        One look at ten texts joined costs a fraction of a look at each.
        """
        if not self._content:
            return
        joined = "\n".join([text for value in texts if (text := text_of(value))])
        try:
            raw = joined.encode()
        except UnicodeEncodeError:
            raw = None
        self._clean = raw is not None and not raw.translate(None, _UNESCAPED)
        if self._redactor is not None:
            self._cleared = self._redactor.clears(joined)

    def quoted(self, text: str) -> str:
        """A bulk text as a JSON string."""
        if not self._clean:
            return _quote(text)
        for character, escaped in _ESCAPES:
            if character in text:
                text = text.replace(character, escaped)
        return f'"{text}"'

    def bulk(self, field: str, value: object) -> str | None:
        """As `content`, for a text that was among those given to `screen`."""
        if not self._content:
            return None
        if self._cleared and self._clean and type(value) is str:
            size = len(value) if value.isascii() else len(value.encode())
            if size <= self._per_text and size <= self.left:
                self.left -= size
                return value
        return self.text(field, value, redact=not self._cleared)

    def content(self, field: str, value: object) -> str | None:
        """Text a person wrote or read; None when content is not captured."""
        return self.text(field, value) if self._content else None

    def text(
        self, field: str, value: object, limit: int | None = None, *, redact: bool = True
    ) -> str | None:
        """Any text, valid, redacted and cut; None when `value` is not text."""
        text = text_of(value)
        if text is None:
            return None
        room = min(self._per_text if limit is None else limit, max(0, self.left))
        if len(text) > room + _LOOKAHEAD:
            text = text[: room + _LOOKAHEAD]
        text = valid_text(text)
        if redact and self._redactor is not None and text:
            redacted = self._redactor.clean(field, text)
            if redacted is None:
                return None
            text = redacted if redacted is text else valid_text(redacted)
        size = len(text) if text.isascii() else len(text.encode())
        if size > room:
            text = cut_bytes(text, room)
            self.truncated = True
            size = len(text.encode())
        self.left -= size
        return text

    def error(self, value: object, limit: int) -> str | None:
        """Why something failed. Where content is not captured, only what cannot quote a user."""
        text = text_of(value)
        if text is None or self._content or (text.isascii() and _STATED.fullmatch(text)):
            return self.text("error", text, limit)
        return "error"

    def label(self, value: object) -> str | None:
        """A name or id the application chose: text or a number, at most 512 bytes.

        Not redacted: labels must stay equal to be counted and compared.
        """
        if type(value) is str and value.isascii() and len(value) <= 128 and "\0" not in value:
            self.left -= len(value)
            return value
        text = text_of(_plain_id(value))
        if text is None:
            return None
        text = cut_bytes(valid_text(text[:512]), 512)
        self.left -= len(text)
        return text

    def person(self, field: str, value: object) -> str | None:
        """Who asked: a session or user id, redacted like text."""
        return self.text(field, _plain_id(value), 512)

    def tree(self, field: str, value: object, most: int = MAX_BREADTH) -> Json:
        """A JSON value: metadata and labels. None when content is not captured.

        Of its own items `most` are kept, of those inside them `MAX_BREADTH`.
        """
        if not self._content:
            return None
        self._nodes = 0
        return self._tree(field, value, 0, most)

    def _tree(self, field: str, value: object, depth: int, most: int = MAX_BREADTH) -> Json:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self.truncated = True
            return None
        if value is None or type(value) is bool:
            return value
        if type(value) is int:
            return value if abs(value) <= _MAX_INT else None
        number = finite(value)
        if number is not None:
            return number
        text = self.text(field, value, 4096)
        if text is not None:
            return text
        if depth >= MAX_DEPTH:
            self.truncated = True
            return f"<{type_name(value)}>"
        return self._branch(field, value, depth, most)

    def _branch(self, field: str, value: object, depth: int, most: int) -> Json:
        kind = type(value)
        if kind in _PLAIN:
            return self.text(field, str(value), 512)
        try:
            if kind is dict:
                out: dict[str, Json] = {}
                for key, item in self._some(value.items(), most):  # type: ignore[attr-defined]
                    name = self.label(key)
                    if name is not None:
                        out[name] = self._tree(f"{field}.{name}", item, depth + 1)
                return out
            if kind in (list, tuple, set, frozenset):
                return [
                    self._tree(field, item, depth + 1)
                    for item in self._some(value, most)  # type: ignore[arg-type]
                ]
        except RuntimeError:  # the host changes it while we read
            return f"<{type_name(value)}>"
        return self.text(field, f"<{type_name(value)}>", 128)

    def _some(self, items: Collection[Any], most: int) -> list[Any]:
        """The first of the items; the trace says so where there are more."""
        self.truncated = self.truncated or len(items) > most
        return list(islice(items, most))


def _plain_id(value: object) -> object:
    if (type(value) is int and abs(value) <= _MAX_INT) or type(value) is uuid.UUID:
        return str(value)
    if type.__dict__["__module__"].__get__(type(value)) == "numpy":
        with suppress(TypeError):  # the places that an index of vectors gives
            return str(index(value))  # type: ignore[arg-type]
    return value


def finite(value: object) -> float | None:
    """A finite float, or None."""
    number = number_of(value)
    return number if number is not None and math.isfinite(number) else None


def whole(value: object) -> int | None:
    """A 63-bit non-negative int, or None."""
    return value if type(value) is int and 0 <= value <= _MAX_INT else None
