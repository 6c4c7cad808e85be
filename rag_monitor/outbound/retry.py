"""Trying again: after which answers, and how long to wait before (exponential back-off).

Needs only the standard library: the SDK and the client of the base install wait by it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from rag_monitor.i18n import Message

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


def backoff_s(
    tries: int, first_s: float, longest_s: float, draw: Callable[[], float] = random.random
) -> float:
    """Seconds to wait after so many failed tries, lest all come back at once.

    Args:
        tries: From 1.
        first_s: The longest wait after the first one; doubles with each.
        longest_s: Where it stops doubling.
        draw: A uniform number in 0 to 1; between half and all of the longest wait is waited.
    """
    longest = min(longest_s, first_s * 2.0 ** min(max(tries, 1) - 1, 30))
    return longest * (0.5 + 0.5 * draw())


def pause_s(retry_after_s: float | None, tries: int) -> float:
    """Seconds a caller of HTTP waits: `backoff_s`, or what was asked for and a little more."""
    pause = backoff_s(tries, _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
    if retry_after_s is None or retry_after_s <= pause:
        return pause
    return retry_after_s + random.random() * max(pause / 2, min(1.0, retry_after_s / 4))  # noqa: S311 - jitter


class Waiting:
    """The tries of one request, and what was waited between them.

        >>> waiting = Waiting(most_s=5.0)
        >>> 0.25 <= waiting.next_pause_s(None) <= 0.5
        True
        >>> waiting.next_pause_s(60.0) is None  # longer than may be waited
        True
        >>> waiting.tries
        2

    Args:
        most_s: How long may be waited in all, in seconds.
    """

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self.tries = 1
        self.waited_s = 0.0

    def next_pause_s(self, retry_after_s: float | None) -> float | None:
        """Seconds to wait before the next try, counted as waited; None: that would be too long."""
        pause = pause_s(retry_after_s, self.tries)
        if self.waited_s + pause > self._most_s:
            return None
        self.waited_s += pause
        self.tries += 1
        return pause

    @property
    def times(self) -> Message:
        """How often it was tried, for a message: `once`, `3 times in 7 s`."""
        if self.tries == 1:
            return Message("once")
        return Message("{count} times in {seconds:.0f} s", count=self.tries, seconds=self.waited_s)
