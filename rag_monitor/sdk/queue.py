"""Between the call and the sender: a queue bounded by count and characters, and what wakes it."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import Generic, Protocol, TypeVar

from rag_monitor.sdk.counters import Counters


class WakeEvent:
    """Wakes the sender's thread: as `threading.Event`, but `set` may interrupt itself.

    A signal handler or the garbage collector may call `set` in the middle of a `set`; a
    `threading.Event` would then wait for its own lock, for ever.

        >>> event = WakeEvent()
        >>> event.set(); event.is_set
        True
        >>> event.wait(1.0)  # returns at once, and clears it
        >>> event.is_set
        False
    """

    def __init__(self) -> None:
        self._unset = threading.Lock()
        self._unset.acquire()

    @property
    def is_set(self) -> bool:
        """Whether the next wait ends at once."""
        return not self._unset.locked()

    def set(self) -> None:
        """End the present wait, or else the next one."""
        if not self.is_set:
            with contextlib.suppress(RuntimeError):  # somebody else was faster
                self._unset.release()

    def wait(self, timeout_s: float) -> None:
        """Return when it is set or the time is over; clears it."""
        self._unset.acquire(timeout=min(timeout_s, threading.TIMEOUT_MAX))


class Queued(Protocol):
    """Something that waits for the sender."""

    chars: int
    """Roughly how much text it holds."""


T = TypeVar("T", bound=Queued)


class BoundedQueue(Generic[T]):
    """First in, first out; when full the oldest goes, counted.

    >>> from types import SimpleNamespace
    >>> counters = Counters()
    >>> queue = BoundedQueue(max_items=2, max_chars=100, counters=counters)
    >>> for number in range(3):
    ...     waiting = queue.put(SimpleNamespace(chars=10, number=number))
    >>> queue.take().number, dict(counters.dropped)
    (1, {'queue_full': 1})
    """

    def __init__(self, max_items: int, max_chars: int, counters: Counters) -> None:
        self._max_items = max_items
        self._max_chars = max_chars
        self._counters = counters
        self.renew_after_fork()

    def renew_after_fork(self) -> None:
        """Empty, with the counters' fresh lock: what waits in the parent is its own to send."""
        self._lock = self._counters.lock
        self._items: deque[tuple[T, int]] = deque()
        self.chars = 0
        """Characters waiting."""

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> int:
        """Count and add `item` without waiting; the oldest make room. Returns how many wait now."""
        with self._lock:
            self._counters.produced += 1
            chars = item.chars  # kept beside it: what is subtracted is what was added
            self._items.append((item, chars))
            self.chars += chars
            if len(self._items) > self._max_items or self.chars > self._max_chars:
                self._make_room()
            return len(self._items)

    def _make_room(self) -> None:
        dropped = 0
        while len(self._items) > self._max_items or (
            self.chars > self._max_chars and len(self._items) > 1
        ):
            self.chars -= self._items.popleft()[1]
            dropped += 1
        self._counters.drop("queue_full", dropped)

    def take(self) -> T | None:
        """The oldest, or None."""
        with self._lock:
            if not self._items:
                return None
            item, chars = self._items.popleft()
            self.chars -= chars
            return item

    def clear(self) -> int:
        """Forget everything; returns how many there were."""
        with self._lock:
            count = len(self._items)
            self._items.clear()
            self.chars = 0
            return count
