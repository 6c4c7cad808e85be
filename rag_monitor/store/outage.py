"""Whether the database answers, and an outage in the log: its begin, a reminder, its end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

_LOG_EVERY_S: Final = 300.0
SETTLED_S: Final = 5.0
"""Success must last so long before an outage counts as over.

A job that only reads goes through while the database takes no changes, and a database that comes
back closes connections once more. Without this time each would be an outage of its own in the log.
"""


class SharedOutage:
    """One cause, many who fail for it: the first says so, and that it is over is said once.

    It is over when all who failed have gone through again and nothing failed for `SETTLED_S`.
    Whoever has not failed for five minutes counts no more: it may have nothing to do. What fails
    after such a time is told anew. An error of another type is another cause, and told as well.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failed_at: dict[Outage, float] = {}
        self._came_at: dict[type[Exception], float] = {}
        """When each type of error came last."""
        self._teller: Outage | None = None
        """Who said that it began; None: there is no outage."""
        self._began = self._logged_at = 0.0
        self._works_since: float | None = None
        """Since when it works for all of them; None: it does not."""

    def hit(self, outage: Outage, error: Exception) -> None:
        """It failed for one of them."""
        with self._lock:
            now = time.monotonic()
            self._forget(now)
            self._end_if_settled(now)
            self._works_since = None
            anew = self._teller is None
            self._failed_at[outage] = now
            of_new_type = type(error) not in self._came_at
            self._came_at[type(error)] = now
            if anew:
                self._teller, self._began, self._logged_at = outage, now, now
                outage.log.warning("%s: %s", outage.what, error)
            elif of_new_type:
                outage.log.warning("%s: %s", outage.what, error)
            elif now - self._logged_at >= _LOG_EVERY_S:
                self._logged_at = now
                outage.log.warning("%s for %.0f s: %s", outage.what, now - self._began, error)

    def passed(self, outage: Outage) -> None:
        """It worked for one of them."""
        with self._lock:
            now = time.monotonic()
            self._failed_at.pop(outage, None)
            self._forget(now)
            self._end_if_settled(now)

    def _end_if_settled(self, now: float) -> None:
        if self._teller is None or self._failed_at:
            return
        if self._works_since is None:
            self._works_since = now
        if now - self._works_since < SETTLED_S:
            return
        self._came_at.clear()
        teller, self._teller = self._teller, None
        teller.log.info("%s: over after %.0f s", teller.what, self._works_since - self._began)
        self._works_since = None

    def _forget(self, now: float) -> None:
        self._failed_at = _newer(self._failed_at, now)
        self._came_at = _newer(self._came_at, now)


T = TypeVar("T")


def _newer(moments: dict[T, float], now: float) -> dict[T, float]:
    return {one: at for one, at in moments.items() if now - at <= _LOG_EVERY_S}


class Outage:
    """Logs one thing that fails again and again, without filling the log.

    Args:
        log: Where to.
        what: What cannot be done meanwhile, at the head of each sentence.
        shared: Shared with others that fail for the same cause; one line tells of all.
    """

    def __init__(self, log: logging.Logger, what: str, shared: SharedOutage | None = None) -> None:
        self.log: Final = log
        self.what: Final = what
        self._shared = shared or SharedOutage()

    def hit(self, error: Exception) -> None:
        """It failed."""
        self._shared.hit(self, error)

    def passed(self) -> None:
        """It worked."""
        self._shared.passed(self)


EVERY_S: Final = 2.0
PATIENCE_S: Final = 5.0
"""A database that has said nothing for so long does not answer."""

_LOG: Final = logging.getLogger(__name__)


class Pulse:
    """Asks again and again.

    Args:
        ask: Asks the database for nothing; raises when it does not answer.
        every_s: Seconds between two questions.
        patience_s: How long an answer may take.
        shared: Shared with others who need the database.
    """

    def __init__(
        self,
        ask: Callable[[], object],
        *,
        every_s: float = EVERY_S,
        patience_s: float = PATIENCE_S,
        shared: SharedOutage | None = None,
    ) -> None:
        self._ask = ask
        self._every_s = every_s
        self._patience_s = patience_s
        self._outage = Outage(_LOG, "the database does not answer", shared)
        self._answered = False
        self._asked_at: float | None = None
        """Monotonic; None: no question is open."""
        self._running = False
        self._stopping = threading.Event()

    def start(self) -> None:
        """Begin to ask. Without it every look at `up` asks."""
        self._running = True
        threading.Thread(target=self._run, name="store-pulse", daemon=True).start()

    def stop(self) -> None:
        """Ask no more."""
        self._stopping.set()

    @property
    def up(self) -> bool:
        """Whether the last question was answered, and none is open for too long."""
        if not self._running:
            self._look()
        asked_at = self._asked_at
        late = asked_at is not None and time.monotonic() - asked_at > self._patience_s
        return self._answered and not late

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._look()
            self._stopping.wait(self._every_s)

    def _look(self) -> None:
        self._asked_at = time.monotonic()
        try:
            self._ask()
        except Exception as error:  # noqa: BLE001 - whatever it is, the thread asks on
            self._answered = False
            self._outage.hit(error)
        else:
            self._answered = True
            self._outage.passed()
        finally:
            self._asked_at = None
