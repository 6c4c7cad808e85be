"""Time as a port, so that tests and simulations own it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The aware UTC wall time."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The aware UTC wall time."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()


class SharedClock:
    """The wall clock of another machine, carried forward by this one's monotonic clock.

    Processes that share a database set it by the database's time again and again: they agree on
    what is due and what has run out, whatever somebody does to their own wall clocks. Until it is
    set for the first time it shows the machine's.
    """

    def __init__(self) -> None:
        self._offset: float | None = None

    def set(self, moment: datetime, at: float) -> None:
        """Say that it was `moment` when `monotonic` showed `at`."""
        self._offset = moment.timestamp() - at

    def now(self) -> datetime:
        """The aware UTC wall time."""
        offset = self._offset
        if offset is None:
            return datetime.now(UTC)
        return datetime.fromtimestamp(time.monotonic() + offset, UTC)

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()
