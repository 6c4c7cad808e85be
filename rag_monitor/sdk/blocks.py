"""Who is inside a `with` whose object several callers share.

`TRACE = rm.trace("chat")` at the head of a module, entered by every request: the object is one, the
requests are many, in threads and tasks. What a frame enters it leaves, and while it is inside no
other frame has its identity.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

Entered = TypeVar("Entered")


class Blocks(Generic[Entered]):
    """What was entered through one object and not left, each with the frame of its `with`."""

    def __init__(self) -> None:
        self._open: list[tuple[int, Entered]] = []

    def enter(self, frame: Any, entered: Entered) -> None:
        """Remember what the block in `frame` has entered."""
        self._open.append((id(frame), entered))

    def leave(self, frame: Any) -> Entered | None:
        """What the block in `frame` entered last; None when it entered nothing."""
        key = id(frame)
        for block in self._open[::-1]:  # a copy: another thread may enter or leave meanwhile
            if block[0] == key:
                self._open.remove(block)
                return block[1]
        return None

    def leave_last(self) -> Entered | None:
        """As `leave` for an `ExitStack`, which enters and leaves from frames of its own."""
        try:
            return self._open.pop()[1]
        except IndexError:
            return None
