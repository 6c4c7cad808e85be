"""Whose turn it is to change a SQLite file: one transaction at a time.

A plain lock goes to whoever happens to run when it is released. Taking traces in then waits behind
any number of jobs that save scores, roll up and count, and so do the senders.
"""

from __future__ import annotations

import threading
from collections import deque


class WriteTurns:
    """A lock that is handed on in the order of arrival.

    Whoever is urgent waits for the transaction that runs and for no other. Of the rest one has its
    turn between two urgent ones, so that nobody waits for ever.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._urgent: deque[threading.Lock] = deque()
        self._others: deque[threading.Lock] = deque()
        self._taken = False
        self._urgent_has_it = False

    def acquire(self, *, urgent: bool = False, timeout_s: float = -1.0) -> bool:
        """Wait for a turn; False when `timeout_s` ended first (negative: it never ends)."""
        queue = self._urgent if urgent else self._others
        with self._mutex:
            if not self._taken:
                self._taken, self._urgent_has_it = True, urgent
                return True
            ticket = threading.Lock()
            ticket.acquire()
            queue.append(ticket)
        if ticket.acquire(timeout=timeout_s):
            return True
        with self._mutex:
            if ticket in queue:
                queue.remove(ticket)
                return False
        return True  # it was handed over in the meantime

    def release(self) -> None:
        """Hand the turn on."""
        with self._mutex:
            first, second = self._urgent, self._others
            if self._urgent_has_it:
                first, second = second, first
            queue = first or second
            if not queue:
                self._taken = False
                return
            self._urgent_has_it = queue is self._urgent
            queue.popleft().release()
