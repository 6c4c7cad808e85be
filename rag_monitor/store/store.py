"""The store: opens a database and hands out its repositories."""

from __future__ import annotations

import logging
import threading
from typing import Final, Self

from rag_monitor.domain.clock import Clock, SystemClock
from rag_monitor.errors import StoreError, StoreUnavailable
from rag_monitor.store import migration, partitions
from rag_monitor.store.alerts import Alerts, Silences
from rag_monitor.store.ballast import Ballast
from rag_monitor.store.budgets import Budgets
from rag_monitor.store.engine import Database
from rag_monitor.store.feedback import FeedbackMarks
from rag_monitor.store.fresh_scores import FreshScores
from rag_monitor.store.keys import Keys
from rag_monitor.store.leases import Leases
from rag_monitor.store.lockfile import FileLock
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.outbox import Outbox
from rag_monitor.store.replies import Replies
from rag_monitor.store.retention import Retention
from rag_monitor.store.rollups import Rollups
from rag_monitor.store.rules import Rules
from rag_monitor.store.spans import Spans
from rag_monitor.store.tasks import Tasks
from rag_monitor.store.traces import Traces
from rag_monitor.store.writer import Writer

_LOG: Final = logging.getLogger(__name__)


class Store:
    """All data of a monitor. Open it with `Store.open`, close it with `close` or `with`.

    Every method blocks: event loops call them on threads. Only `writer.write` is async.
    """

    def __init__(
        self, options: StoreOptions, clock: Clock, database: Database, lock: FileLock | None
    ) -> None:
        self._options = options
        self._database = database
        self._lock = lock
        file = database.file
        ballast = None
        if file is not None and lock is not None:
            ballast = Ballast(file, options.ballast_bytes)
            ballast.fill()
        self.writer: Final = Writer(database, options)
        self.spans: Final = Spans(database, options)
        self.traces: Final = Traces(database, clock)
        self.tasks: Final = Tasks(database, clock)
        self.rollups: Final = Rollups(database)
        self.rules: Final = Rules(database, clock)
        self.alerts: Final = Alerts(database, clock)
        self.silences: Final = Silences(database)
        self.outbox: Final = Outbox(database, clock)
        self.feedback: Final = FeedbackMarks(database, clock)
        self.keys: Final = Keys(database, clock)
        self.leases: Final = Leases(database, clock)
        self.budgets: Final = Budgets(database, clock, options.budgets)
        self.replies: Final = Replies(database, clock)
        self.fresh_scores: Final = FreshScores(database)
        self.retention: Final = Retention(database, ballast, options.partitions_ahead)
        self._closing = threading.Event()
        self._checkpoints: threading.Thread | None = None

    @classmethod
    def open(cls, options: StoreOptions, clock: Clock | None = None) -> Self:
        """Open the database, checking (or bringing up to date) its schema.

        Raises:
            ConfigurationError: The URL cannot be used, or another process owns the SQLite file.
            SchemaMismatch: The schema is older and `auto_migrate` is off, or it is newer.
            StoreUnavailable: It cannot be reached.
        """
        clock = clock or SystemClock()
        database = Database(options)
        lock: FileLock | None = None
        try:
            if database.file is not None:
                _make_folder(database)
                lock = FileLock(database.file) if options.exclusive else None
            _prepare_schema(database, options, clock)
            store = cls(options, clock, database, lock)
        except BaseException:
            database.close()
            if lock is not None:
                lock.release()
            raise
        store._start_checkpoints()
        return store

    @property
    def name(self) -> str:
        """Which database this is, for logs; holds no password."""
        return self._database.name

    def ping(self) -> None:
        """Raise `StoreUnavailable` unless the database answers."""
        self.leases.now()

    def close(self, timeout_s: float = 10.0) -> None:
        """Write what waits, then close every connection. Calling it again does nothing."""
        if self._closing.is_set():
            return
        self._closing.set()
        if not self.writer.stop(timeout_s):
            _LOG.error("the writer did not finish within %s s", timeout_s)
        if self._checkpoints is not None:
            self._checkpoints.join(timeout_s)
        try:
            self._database.checkpoint()
        except StoreError as error:
            _LOG.warning("no last checkpoint: %s", error)
        self._database.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_checkpoints(self) -> None:
        if self._database.is_postgresql or self._lock is None:
            return
        self._checkpoints = threading.Thread(
            target=self._checkpoint_loop, name="store-checkpoint", daemon=True
        )
        self._checkpoints.start()

    def _checkpoint_loop(self) -> None:
        while not self._closing.wait(self._options.checkpoint_s):
            try:
                self._database.checkpoint()
            except StoreError as error:
                _LOG.warning("checkpoint: %s", error)


def _make_folder(database: Database) -> None:
    file = database.file
    if file is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"{database.name}: no folder for it ({error.strerror})") from error


def _prepare_schema(database: Database, options: StoreOptions, clock: Clock) -> None:
    automatic = options.auto_migrate
    if automatic is None:
        automatic = not database.is_postgresql
    url = database.url.render_as_string(hide_password=False)
    if automatic and migration.current(url) != migration.head():
        migration.upgrade(url)
    with database.read() as connection:
        migration.check(connection)
    if database.is_postgresql:
        today = clock.now().date()
        database.transact(
            lambda connection: partitions.ensure(connection, today, options.partitions_ahead + 1)
        )
