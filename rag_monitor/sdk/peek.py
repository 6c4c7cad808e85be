"""Reading foreign objects without running their code.

Only state is read: an instance's `__dict__`, its slots, and the items of exact dicts. Properties,
`__getattr__`, `__iter__`, `__str__` and `__eq__` of the object are never called, so a lazy ORM
row fires no query and a hostile object cannot raise.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MemberDescriptorType
from typing import Any, Final, cast
from weakref import ref

_MOST_ITEMS: Final = 8
_MOST_FIELDS: Final = 500
_MOST_CLASSES: Final = 1_000
_HEAP_TYPE: Final = 1 << 9
"""Set for classes that Python code makes; the members of others are no business of ours."""
_Slots = tuple[tuple[str, MemberDescriptorType], ...]
_SLOTS: Final[dict[int, _Slots]] = {}
"""By the class's identity, for its own hash and equality are not ours to call."""
_CLASSES: Final[dict[int, ref[type]]] = {}
"""Forget a class when it goes, for its identity may be another's then."""
MOST_BYTES: Final = 2**20
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


def attributes(obj: Any) -> Mapping[str, Any]:
    """The items of a dict, or the attributes that an object keeps in its dict and in slots."""
    kind = type(obj)
    if kind is dict:
        return obj  # type: ignore[no-any-return]
    if issubclass(kind, dict):
        return dict(islice(dict.items(obj), _MOST_FIELDS))
    try:
        state = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        state = None
    slots = _SLOTS.get(id(kind))
    if slots is None:
        slots = _slots_of(kind)
    if slots:
        return _with_slots(obj, state, slots)
    return state if type(state) is dict else {}


def _with_slots(obj: Any, state: Any, slots: _Slots) -> dict[str, Any]:
    fields = dict(state) if type(state) is dict else {}
    for name, member in slots:
        try:
            fields[name] = member.__get__(obj)
        except AttributeError:  # never set
            continue
    return fields


def getter(obj: Any) -> Callable[[str], Any]:
    """What gives an item or an attribute by its name, None where there is none."""
    kind = type(obj)
    if kind is not dict and issubclass(kind, dict):
        return partial(dict.get, obj)
    return attributes(obj).get


def field(obj: Any, name: str) -> Any:
    """The item or attribute of that name, or None."""
    if type(obj) is dict:
        return obj.get(name)
    try:
        return object.__getattribute__(obj, "__dict__")[name]
    except (AttributeError, KeyError, TypeError):
        return getter(obj)(name)


def first(obj: Any, names: Sequence[str]) -> Any:
    """The first of `names` that is there and not None: a key of a dict, else an attribute."""
    get = obj.get if type(obj) is dict else getter(obj)
    for name in names:
        value = get(name)
        if value is not None:
            return value
    return None


def every(obj: Any, names: Sequence[str]) -> Iterator[Any]:
    """Each of `names` that is there and not None, as `first` finds it."""
    get = getter(obj)
    return (value for name in names if (value := get(name)) is not None)


def _slots_of(kind: type) -> _Slots:
    """The slots of a class, by name; remembered."""
    members: dict[str, MemberDescriptorType] = {}
    for cls in reversed(type.__dict__["__mro__"].__get__(kind)):
        own = list(cls.__dict__.items())
        members.update(
            (name, member)
            for name, member in own
            if type(member) is MemberDescriptorType and not name.startswith("__")
        )
    heap = type.__dict__["__flags__"].__get__(kind) & _HEAP_TYPE
    slots = tuple(members.items()) if heap else ()
    if len(_SLOTS) < _MOST_CLASSES:
        key = id(kind)
        _CLASSES[key] = ref(kind, partial(_forget, key))
        _SLOTS[key] = slots
    return slots


def _forget(key: int, _: object) -> None:
    _SLOTS.pop(key, None)
    _CLASSES.pop(key, None)


def holds_fields(value: Any) -> bool:
    """Whether it is a dict or an object of some library's: neither text nor number nor list."""
    kind = type(value)
    return issubclass(kind, dict) or (
        type.__dict__["__module__"].__get__(kind) != "builtins"
        and not issubclass(kind, list | tuple | str | float | int)
    )


def text_of(value: Any) -> str | None:
    """`value` as an exact str if it is text (str or UTF-8 bytes), else None.

    The first bytes of a character whose others were cut off are left out.
    """
    kind = type(value)
    if kind is str:
        return cast("str", value)
    if issubclass(kind, str):
        return str.__str__(value)
    if kind is bytes or kind is bytearray or kind is memoryview:
        try:
            return codecs.utf_8_decode(bytes(value[:MOST_BYTES]), "strict", False)[0]
        except UnicodeDecodeError:
            return None
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
