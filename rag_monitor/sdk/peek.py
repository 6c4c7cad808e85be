"""Reading foreign objects without running their code.

Only state is read: an instance's `__dict__`, its slots, and the items of exact dicts. Properties,
`__getattr__`, `__iter__`, `__str__` and `__eq__` of the object are never called, so a lazy ORM
row fires no query and a hostile object cannot raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MemberDescriptorType
from typing import Any, Final, cast

_MOST_ITEMS: Final = 8
_MOST_BYTES: Final = 2**20
"""Of longer bytes the start is decoded: it happens in the call, and no field keeps as much."""


def peek(obj: Any, name: str) -> Any:
    """The instance attribute `name`, or None."""
    try:
        state = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        state = None
    if type(state) is dict and name in state:
        return state[name]
    for cls in type.__dict__["__mro__"].__get__(type(obj)):
        member = cls.__dict__.get(name)
        if type(member) is MemberDescriptorType:
            try:
                return member.__get__(obj)
            except AttributeError:
                return None
    return None


def first(obj: Any, names: Sequence[str]) -> Any:
    """The first of `names` that is there and not None: a key of a dict, else an attribute."""
    if issubclass(type(obj), dict):
        for name in names:
            value = dict.get(obj, name)
            if value is not None:
                return value
        return None
    for name in names:
        value = peek(obj, name)
        if value is not None:
            return value
    return None


def text_of(value: Any) -> str | None:
    """`value` as an exact str if it is text (str or UTF-8 bytes), else None."""
    kind = type(value)
    if kind is str:
        return cast("str", value)
    if issubclass(kind, str):
        return str.__str__(value)
    if kind is bytes or kind is bytearray or kind is memoryview:
        return bytes(value[:_MOST_BYTES]).decode("utf-8", "replace")
    return None


def number_of(value: Any) -> float | None:
    """`value` as a float if it is a number of Python's or NumPy's, else None."""
    kind = type(value)
    if kind is float:
        return cast("float", value)
    if kind is int:
        return _float(value)
    if kind is bool or value is None:
        return None
    if issubclass(kind, float):
        return float.__float__(value)
    if type.__dict__["__module__"].__get__(kind) in ("numpy", "decimal"):
        return _float(value)
    return None


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return None


def fields_of(kind: type) -> tuple[str, ...] | None:
    """The names of a named tuple's fields; None for every other type."""
    for cls in type.__dict__["__mro__"].__get__(kind):
        names = cls.__dict__.get("_fields")
        if type(names) is tuple:
            return names
    return None


def items_of(value: Any) -> list[Any]:
    """The first few items of a tuple; of anything else none."""
    if not issubclass(type(value), tuple):
        return []
    return list(tuple.__getitem__(value, slice(_MOST_ITEMS)))


def type_name(obj: Any) -> str:
    """The name of the object's type, as the type itself knows it."""
    name = type.__dict__["__name__"].__get__(type(obj))
    return name if type(name) is str else "unknown"
