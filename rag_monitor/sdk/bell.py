"""What wakes the sender: rung from any thread, from a signal handler or by the collector."""

from __future__ import annotations

import contextlib
import threading


class Bell:
    """Wakes the thread. Atomic: a signal or the collector may ring it while it is being rung.

    A `threading.Event` would then wait for its own lock, for ever.
    """

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    @property
    def rung(self) -> bool:
        """Whether the next wait ends at once."""
        return not self._silent.locked()

    def ring(self) -> None:
        """End the wait of now, or else the next one."""
        if not self.rung:
            with contextlib.suppress(RuntimeError):  # somebody else was faster
                self._silent.release()

    def wait(self, timeout_s: float) -> None:
        """Return when it has been rung, and silence it."""
        self._silent.acquire(timeout=min(timeout_s, threading.TIMEOUT_MAX))
