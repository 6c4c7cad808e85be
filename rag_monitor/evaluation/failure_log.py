"""Log lines on traces that a judge gave no judgement for: a few, however many traces there are."""

from __future__ import annotations

import logging
from typing import Final

from rag_monitor.domain.clock import Clock
from rag_monitor.errors import JudgeError
from rag_monitor.metrics.rag import sentence_of

_log = logging.getLogger(__name__)

_EVERY_S: Final = 60.0


class FailureLog:
    """Says at most once a minute, per judge and reason, how many traces failed and why.

    Args:
        clock: Tells when a minute is over.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged_at: dict[tuple[str, str], float] = {}
        self._since: dict[tuple[str, str], int] = {}

    def note(self, judge: str, error: JudgeError) -> None:
        """Count one failed trace, and say so if it is time."""
        key = (judge, error.reason)
        count = self._since.get(key, 0) + 1
        now = self._clock.monotonic()
        if now - self._logged_at.get(key, -_EVERY_S) < _EVERY_S:
            self._since[key] = count
            return
        self._logged_at[key], self._since[key] = now, 0
        _log.warning(
            "judge %s: no judgement on %d %s (%s): %s",
            judge,
            count,
            "trace" if count == 1 else "traces",
            error.reason,
            sentence_of(error),
        )
