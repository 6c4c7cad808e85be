"""Who is inside a `with` whose object several callers share.

`TRACE = rm.trace("chat")` at the head of a module, entered by every request: the object is one, the
requests are many, in threads and tasks. What a frame enters it leaves, and while it is inside no
other frame has its identity.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

Entered = TypeVar("Entered")


class Blocks(Generic[Entered]):
    """What was entered through one object and not left, by the frame of its `with`.

    A frame runs on one thread at a time, so no two threads ever write the same entry.
    """

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[int, tuple[Entered, Any]] = {}

    def __bool__(self) -> bool:
        """Whether somebody is inside."""
        return bool(self._open)

    def enter(self, frame: Any, entered: Entered) -> None:
        """Remember what the block in `frame` has entered, before what it had entered already."""
        key = id(frame)
        self._open[key] = (entered, self._open.get(key))

    def leave(self, frame: Any) -> Entered | None:
        """What the block in `frame` entered last; None when it entered nothing."""
        key = id(frame)
        found = self._open.pop(key, None)
        if found is None:
            return None
        if found[1] is not None:
            self._open[key] = found[1]
        return found[0]

    def leave_last(self) -> Entered | None:
        """As `leave` for an `ExitStack`, which enters and leaves from frames of its own."""
        try:
            key, (entered, before) = self._open.popitem()
        except KeyError:
            return None
        if before is not None:
            self._open[key] = before
        return entered
