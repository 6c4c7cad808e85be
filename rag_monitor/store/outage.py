"""An outage of the database in the log: when it begins, now and then, and when it is over."""

from __future__ import annotations

import logging
import time
from typing import Final

_TELL_EVERY_S: Final = 300.0


class Outage:
    """Tells of one thing that fails again and again, lest it fill the log of that hour.

    Args:
        log: Where to.
        what: What cannot be done meanwhile, at the head of each sentence.
    """

    def __init__(self, log: logging.Logger, what: str) -> None:
        self._log = log
        self._what = what
        self._began: float | None = None
        self._told = 0.0

    def hit(self, error: Exception) -> None:
        """It failed."""
        now = time.monotonic()
        if self._began is None:
            self._began = self._told = now
            self._log.warning("%s: %s", self._what, error)
        elif now - self._told >= _TELL_EVERY_S:
            self._told = now
            self._log.warning("%s for %.0f s: %s", self._what, now - self._began, error)

    def passed(self) -> None:
        """It worked."""
        began, self._began = self._began, None
        if began is not None:
            self._log.info("%s: over after %.0f s", self._what, time.monotonic() - began)
