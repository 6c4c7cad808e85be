"""An attribute that is worked out when first asked for, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, overload

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class cached_property_unlocked(Generic[Owner, Value]):  # noqa: N801 - read as a decorator, like `property`
    """As `functools.cached_property`, without its lock, which costs more than most of the values.

    Two threads that ask at once may both work it out; it must depend on nothing that changes.
    """

    def __init__(self, work_out: Callable[[Owner], Value]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Owner]) -> cached_property_unlocked[Owner, Value]: ...

    @overload
    def __get__(self, owner: Owner, kind: type[Owner]) -> Value: ...

    def __get__(
        self, owner: Owner | None, kind: type[Owner]
    ) -> Value | cached_property_unlocked[Owner, Value]:
        """The value, which hides this descriptor from now on."""
        if owner is None:
            return self
        value = self._work_out(owner)
        owner.__dict__[self._name] = value
        return value
