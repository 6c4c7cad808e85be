"""Reads fields out of a JSON object and says what is wrong in words that help to mend it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import Message

_FLAGS: Final = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
"""How tables and programs write it where every cell is a text."""


def at_fault(field: str, expected: str, /, **params: object) -> MalformedPayload:
    """The error for a field that is not as `expected`; carries the field's name besides.

    Args:
        field: Its name.
        expected: What it must be.
        params: Of `expected`, as `Message` takes them.
    """
    message = Message(expected, **params)
    return _malformed("`{field}` must be {expected}", field=field, expected=message)


def _malformed(text: str, /, *, field: str, **params: object) -> MalformedPayload:
    error = MalformedPayload(text, field=field, **params)
    error.field = field
    return error


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a JSON object. Nearly always a dict, which is told at once."""
    return isinstance(value, dict) or isinstance(value, Mapping)  # noqa: SIM101


@dataclass(slots=True)
class FieldReader:
    """Reads fields of one object.

    Every method returns None for a field that is absent or null, and raises `MalformedPayload` for
    one of the wrong form: the message names the field and says what it must be.

        >>> reader = FieldReader({"name": "faq", "items": -1}, where="hits[0].")
        >>> reader.text("name"), reader.text("kind")
        ('faq', None)
        >>> reader.whole("items")
        Traceback (most recent call last):
        rag_monitor.errors.MalformedPayload: `hits[0].items` must be a whole number ...
    """

    values: Mapping[str, Any]
    where: str = ""

    def fail(self, name: str, expected: str, /, **params: object) -> MalformedPayload:
        """The error for a field that is not as `expected`, see `at_fault`; shows a little of it."""
        shown = repr(self.values.get(name))
        return _malformed(
            "`{field}` must be {expected}, not {shown}",
            field=f"{self.where}{name}",
            expected=Message(expected, **params),
            shown=clean_text(shown if len(shown) <= 40 else shown[:37] + "..."),
        )

    def text(self, name: str) -> str | None:
        """A string; numbers are spelled out."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, str):  # as `clean_text`, which most texts can do without
            return value if value.isascii() and "\0" not in value else clean_text(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**64:
            return str(value)
        raise self.fail(name, "a string")

    def label(self, name: str) -> str | None:
        """A class: a string, a number, true or false; 1.0 of a table with gaps is 1."""
        value = self.values.get(name)
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        return str(value).lower() if isinstance(value, bool) else self.text(name)

    def number(self, name: str, low: float | None = None) -> float | None:
        """A number between -1e308 and 1e308, at least `low`."""
        value = self.values.get(name)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and -1e308 < value < 1e308 and (low is None or value >= low):
            return float(value)
        if low is None:
            raise self.fail(name, "a number above -1e308 and below 1e308")
        raise self.fail(name, "a number of at least {low:g} and below 1e308", low=low)

    def whole(self, name: str, low: int = 0) -> int | None:
        """An integer from `low` to 2^63 - 1."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 2**63:
            raise self.fail(name, "a whole number of at least {low} and below 2^63", low=low)
        return value

    def flag(self, name: str) -> bool | None:
        """true, false, 1 or 0 (1.0 or 0.0 from tables whose column has gaps), also as text."""
        value = self.values.get(name)
        if isinstance(value, str):
            value = _FLAGS.get(value.strip().lower(), value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and value in (0, 1):
            return bool(value)
        raise self.fail(name, "true or false")

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        """An object."""
        value = self.values.get(name)
        if value is None or is_object(value):
            return value
        raise self.fail(name, "an object")

    def items(self, name: str) -> Sequence[Any] | None:
        """A list."""
        value = self.values.get(name)
        if value is None or isinstance(value, list | tuple):
            return value
        raise self.fail(name, "a list")

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of strings; one string counts as a list of one."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            return (clean_text(value),)
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(clean_text(item) for item in value)
        raise self.fail(name, "a list of strings")
