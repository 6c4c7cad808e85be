"""Whether the database answers and takes changes, and an outage in the log.

The log has its begin, a reminder now and then, and its end. A small change now and then tells
whether the database takes changes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, text

from rag_monitor.domain.clock import Clock
from rag_monitor.errors import StoreError, StoreUnavailable
from rag_monitor.store.cursors import advance_cursor
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import evaluation_tasks, scores, spans, trace_keys, traces

_LOG_EVERY_S: Final = 300.0


class Incident:
    """One cause, many who fail for it: the first says so, and the last that it is over.

    Whoever has not failed for five minutes counts no more: it may have nothing to do. What fails
    after such a time is told anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failed_at: dict[Outage, float] = {}
        self._teller: Outage | None = None
        self._began = self._logged_at = 0.0

    def hit(self, outage: Outage, error: Exception) -> None:
        """It failed for one of them."""
        with self._lock:
            now = time.monotonic()
            self._forget(now)
            anew = not self._failed_at
            self._failed_at[outage] = now
            if anew:
                self._teller, self._began, self._logged_at = outage, now, now
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
            if self._failed_at or self._teller is None:
                return
            teller, self._teller = self._teller, None
            teller.log.info("%s: over after %.0f s", teller.what, now - self._began)

    def _forget(self, now: float) -> None:
        for outage, at in list(self._failed_at.items()):
            if now - at > _LOG_EVERY_S:
                del self._failed_at[outage]


class Outage:
    """Logs one thing that fails again and again, without filling the log.

    Args:
        log: Where to.
        what: What cannot be done meanwhile, at the head of each sentence.
        incident: Shared with others that fail for the same cause; one line tells of all.
    """

    def __init__(self, log: logging.Logger, what: str, incident: Incident | None = None) -> None:
        self.log: Final = log
        self.what: Final = what
        self._incident = incident or Incident()

    def hit(self, error: Exception) -> None:
        """It failed."""
        self._incident.hit(self, error)

    def passed(self) -> None:
        """It worked."""
        self._incident.passed(self)


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
        incident: Shared with others who need the database.
    """

    def __init__(
        self,
        ask: Callable[[], object],
        *,
        every_s: float = EVERY_S,
        patience_s: float = PATIENCE_S,
        incident: Incident | None = None,
    ) -> None:
        self._ask = ask
        self._every_s = every_s
        self._patience_s = patience_s
        self._outage = Outage(_LOG, "the database does not answer", incident)
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


PROBE_EVERY_S: Final = 10.0
"""What works is tried again after so long, or once something was refused; when somebody asks."""
_TURN_S: Final = 0.5
"""How long the probe waits for changes of this process to SQLite."""
_LOCK_MS: Final = 1_000
"""How long PostgreSQL waits for others' locks."""
_CURSOR: Final = "probe"
_WRITTEN: Final = ", ".join(t.name for t in (spans, trace_keys, traces, evaluation_tasks, scores))


class WriteProbe:
    """Moves a cursor of its own, once in `PROBE_EVERY_S` at most unless something was refused."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._tried_at: float | None = None
        self._failed: StoreError | None = None

    def look(self) -> None:
        """Try, unless that was done lately.

        Raises:
            StoreFull: The disk of the database is full.
            StoreError: It takes no changes for another reason.
        """
        with self._lock:
            if self._due():
                self._try()
            if self._failed is not None:
                raise self._failed

    def now(self) -> None:
        """Try at once; raises as `look` does."""
        with self._lock:
            self._try()
            if self._failed is not None:
                raise self._failed

    def _due(self) -> bool:
        if self._tried_at is None:
            return True
        doubtful = self._failed is not None or self._database.doubted
        return doubtful or time.monotonic() - self._tried_at >= PROBE_EVERY_S

    def _try(self) -> None:
        doubted, self._database.doubted = self._database.doubted, False
        try:
            had_turn = self._database.attempt(self._change, turn_s=_TURN_S)
        except StoreError as error:
            self._failed = error
        else:
            if had_turn:
                self._failed = None
            elif doubted:  # whoever has the turn may be waiting for what refused the last one
                self._database.doubted = True
                self._failed = StoreUnavailable(
                    "the database does not take this right now ({name}: a change was refused, "
                    "and another takes long); try again",
                    name=self._database.name,
                )
        self._tried_at = time.monotonic()

    def _change(self, connection: Connection) -> None:
        if self._database.is_postgresql:
            connection.execute(text(f"SELECT set_config('lock_timeout', '{_LOCK_MS}', true)"))
            # As every change does; whoever keeps one of these tables to himself keeps us out.
            connection.execute(text(f"LOCK TABLE ONLY {_WRITTEN} IN ROW EXCLUSIVE MODE"))
        at: datetime = self._clock.now()
        connection.execute(advance_cursor(self._database, _CURSOR, at))
