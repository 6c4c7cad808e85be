"""The bound of what is acknowledged and not assembled yet: beyond it senders are told to wait.

Evidence is taken in faster than traces are made of it. Without a bound nobody would be told before
the disk is full, and pages would show less and less of what was acknowledged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from rag_monitor import telemetry
from rag_monitor.domain.stored import Assembling
from rag_monitor.errors import QueueFull, StoreError

_LOG: Final = logging.getLogger(__name__)
QUEUE: Final = "assembly"
LOOK_EVERY_S: Final = 1.0
"""How often the backlog is counted. Counting reads one entry of an index for each that waits."""


class AssemblyBacklog:
    """What waits to be assembled, as far as it was last looked at.

    Args:
        look: Counts it.
        bound: Traces that may wait; 0: any number.
    """

    def __init__(self, look: Callable[[], Assembling], bound: int) -> None:
        self._look = look
        self._bound = bound
        self._looked_at: float | None = None
        self._full = False

    @property
    def full(self) -> bool:
        """Whether nothing more is taken in until some of it is assembled."""
        return self._full

    def refresh(self) -> None:
        """Look again, if that was not done just now."""
        now = time.monotonic()
        if self._looked_at is not None and now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        try:
            found = self._look()
        except StoreError as error:  # what is written next says so aloud
            _LOG.debug("the backlog of assembly is not known: %s", error)
            self.forget()
            return
        telemetry.waiting(QUEUE, found.traces, found.oldest_s)
        full = 0 < self._bound <= found.traces
        if full != self._full:
            _LOG.warning(
                "%d traces wait to be assembled: %s",
                found.traces,
                "no more are taken in, senders are told to try again" if full else "taken in again",
            )
        self._full = full

    def forget(self) -> None:
        """Say nothing of it any more: the database cannot be asked."""
        telemetry.not_waiting(QUEUE)

    def admit(self, count: int) -> None:
        """Raise `QueueFull`, counting what is refused, while too much waits."""
        if self._full:
            telemetry.dropped("store", "assembly_behind", count)
            raise QueueFull(
                "{most} traces or more wait to be assembled; nothing was stored, send it again "
                "later",
                most=self._bound,
            )
