"""The boundary between our mistakes and the host application.

An internal error is caught once, counted, logged at most once a minute, and re-raised only in
strict mode (our tests). Nothing here evaluates the error or any object of the host's.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

LOG: Final = logging.getLogger("rag_monitor.sdk")
LOG_EVERY_S: Final = 60.0


class Guard:
    """Counts and reports internal errors. One per process.

    >>> guard = Guard()
    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     guard.report("sums", error)
    >>> guard.errors
    {'sums': 1}
    """

    def __init__(self) -> None:
        self.strict = False
        """Re-raise internal errors instead of absorbing them. For tests."""
        self.errors: dict[str, int] = {}
        """Internal errors by where they happened."""
        self._logged_at: dict[str, float] = {}
        self._lock = threading.RLock()

    def report(self, where: str, error: BaseException) -> None:
        """Count and log an internal error; call it inside the `except` block.

        Raises:
            BaseException: `error` itself, in strict mode only.
        """
        with self._lock:
            self.errors[where] = self.errors.get(where, 0) + 1
        if self.strict:
            raise error
        self.warn_once(
            where, "internal error in %s (%s); the application is not affected", where, error
        )

    def warn_once(self, topic: str, message: str, *args: object) -> None:
        """Log a warning, at most one a minute per topic; exceptions appear by type name only."""
        now = time.monotonic()
        with self._lock:
            last = self._logged_at.get(topic)
            if last is not None and now - last < LOG_EVERY_S:
                return
            self._logged_at[topic] = now
        safe = [type(a).__name__ if isinstance(a, BaseException) else a for a in args]
        try:
            LOG.warning(message, *safe)
        except Exception:  # noqa: BLE001 - a host's log handler may raise; it must not reach callers
            self.errors["logging"] = self.errors.get("logging", 0) + 1

    def renew_after_fork(self) -> None:
        """Replace the lock: the parent may have held it at the moment of the fork."""
        self._lock = threading.RLock()


GUARD: Final = Guard()
