"""Whether the database takes changes: a small one now and then tells, though nobody sends."""

from __future__ import annotations

import threading
import time
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, text

from rag_monitor.domain.clock import Clock
from rag_monitor.errors import StoreError, StoreUnavailable
from rag_monitor.store.cursors import advance_cursor
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import evaluation_tasks, scores, spans, trace_keys, traces

EVERY_S: Final = 10.0
"""What works is tried again after so long, or once something was refused; when somebody asks."""
_TURN_S: Final = 0.5
"""How long the probe waits for changes of this process to SQLite."""
_LOCK_MS: Final = 1_000
"""How long PostgreSQL waits for others' locks."""
_CURSOR: Final = "probe"
_WRITTEN: Final = ", ".join(t.name for t in (spans, trace_keys, traces, evaluation_tasks, scores))


class WriteProbe:
    """Moves a cursor of its own, once in `EVERY_S` at most unless something was refused."""

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
        return doubtful or time.monotonic() - self._tried_at >= EVERY_S

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
