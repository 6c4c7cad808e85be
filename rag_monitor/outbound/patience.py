"""Asking again whoever answers "later": after which answers, and how long to wait before.

Needs only the standard library: the client of the base install waits by it.
"""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

REFUSED: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS})
"""Answers given before anything was done, so that any request may be sent again."""
LATER: Final = REFUSED | {HTTPStatus.SERVICE_UNAVAILABLE}
"""Answers after which a request that changes nothing if it comes twice may be sent again."""
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 8.0


def retry_after(given: str | None) -> float | None:
    """Seconds of a Retry-After header, a number or a date; None for nonsense."""
    try:
        seconds = float(given or "")
    except ValueError:
        try:
            until = parsedate_to_datetime(given or "")
        except (ValueError, TypeError, OverflowError):
            return None
        zoned = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (zoned - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def pause_s(asked: float | None, tries: int) -> float:
    """Seconds to wait after so many tries: as asked or longer, lest all come back at once."""
    longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(tries - 1, 10))
    least = max(asked or 0.0, longest / 2)
    return least + random.random() * max(longest / 2, min(1.0, least / 4))  # noqa: S311 - jitter


class Waiting:
    """The tries of one request, and what was waited between them.

    Args:
        most_s: How long may be waited in all, in seconds.
    """

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self.tries = 1
        self.waited_s = 0.0

    def next_pause_s(self, asked: float | None) -> float | None:
        """Seconds to wait before the next try, counted as waited; None: that would be too long."""
        pause = pause_s(asked, self.tries)
        if self.waited_s + pause > self._most_s:
            return None
        self.waited_s += pause
        self.tries += 1
        return pause

    def __str__(self) -> str:
        """How often it was tried, for a message: `once`, `3 times in 7 s`."""
        return "once" if self.tries == 1 else f"{self.tries} times in {self.waited_s:.0f} s"
