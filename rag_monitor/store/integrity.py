"""Whether a SQLite file is whole: looked through in the background, seldom and after a crash."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock
from rag_monitor.errors import StoreDamaged, StoreError
from rag_monitor.store.cursors import Cursors
from rag_monitor.store.engine import Database

EVERY: Final = timedelta(days=7)
"""A file that is never stopped uncleanly is looked through so often."""
_ASK_S: Final = 3600.0
"""How often it is asked whether the week is over."""
_CURSOR: Final = "looked_through"
_FINDINGS: Final = 5
"""More of them say no more."""
_STEPS: Final = 20_000
"""Instructions of SQLite between two looks at whether to go on."""

_LOG: Final = logging.getLogger(__name__)


def was_left_open(database: Path) -> bool:
    """Whether whoever had the file last did not close it: its write-ahead log is still there.

    Also an empty one, which a checkpoint leaves. To be asked by the owner of the file before it
    opens it.
    """
    return database.with_name(database.name + "-wal").exists()


def quick_check(database: Path, go_on: Callable[[], bool] = lambda: True) -> list[str] | None:
    """What SQLite's quick check finds wrong with the file; None: it was not to go on.

    Reads every page, beside whoever writes. Checksums SQLite has none: a page that was altered and
    is still a page is not found.
    """
    try:
        with contextlib.closing(
            sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            connection.set_progress_handler(lambda: not go_on(), _STEPS)
            rows = connection.execute(f"PRAGMA quick_check({_FINDINGS})").fetchall()
    except sqlite3.DatabaseError as error:
        if not go_on():
            return None
        if _is_away(error):
            raise
        return [str(error)]
    findings = [line for (text,) in rows for line in str(text).splitlines() if line.strip()]
    return [] if findings == ["ok"] else findings[:_FINDINGS]


def _is_away(error: sqlite3.DatabaseError) -> bool:
    """Whether the file could not be looked at, which says nothing of what is in it."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Integrity:
    """Knows whether the file was found damaged; looks through it on a thread of its own.

    Args:
        database: Opened by its owner. Of PostgreSQL nothing is looked at: it checks its own pages.
        clock: Says when a week is over.
        after_crash: The file was not closed by whoever had it last.
    """

    def __init__(self, database: Database, clock: Clock, *, after_crash: bool) -> None:
        self._database = database
        self._clock = clock
        self._cursors = Cursors(database)
        self._after_crash = after_crash
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._findings: tuple[str, ...] = ()

    @property
    def damage(self) -> str | None:
        """What is wrong with the file, in the words of SQLite; None: nothing that is known."""
        if self._findings:
            return self._findings[0]
        return self._database.malformed

    def start(self) -> None:
        """Begin to look, where there is a file that is ours."""
        telemetry.STORE_DAMAGED.set(0)
        if self._database.file is None:
            return
        self._thread = threading.Thread(target=self._run, name="store-integrity", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """Look no more; what is under way is given up."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def check(self) -> None:
        """Look through the file now, unless told to stop."""
        file, began = self._database.file, time.monotonic()
        if file is None:
            return
        findings = quick_check(file, lambda: not self._stopping.is_set())
        if findings is None:
            return
        self._findings = tuple(findings)
        if not findings and self._database.malformed is None:
            telemetry.STORE_DAMAGED.set(0)
        if findings:
            telemetry.STORE_DAMAGED.set(1)
            _LOG.error(
                "%s is damaged (%s): see docs/reliability.md on `rag-monitor recover`",
                self._database.name,
                "; ".join(findings),
            )
            return  # the cursor stays: looked at again at the next start
        self._cursors.advance(_CURSOR, self._clock.now())
        took = time.monotonic() - began
        _LOG.info("%s was looked through in %.1f s: whole", self._database.name, took)

    def _run(self) -> None:
        after_crash = self._after_crash
        while not self._stopping.is_set():
            try:
                if after_crash or self._is_due():
                    self.check()
                    after_crash = False
            except StoreDamaged:
                pass  # reading or moving the cursor met the damage: `Database` logged it
            except (StoreError, sqlite3.Error) as error:
                _LOG.warning("%s was not looked through: %s", self._database.name, error)
            self._stopping.wait(_ASK_S)

    def _is_due(self) -> bool:
        now = self._clock.now()
        return self._cursors.cursor(_CURSOR, now) <= now - EVERY
