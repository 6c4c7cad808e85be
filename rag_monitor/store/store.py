"""The store: opens a database and hands out its repositories."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, Self, TypeVar

from rag_monitor.domain.clock import Clock, SharedClock, SystemClock
from rag_monitor.errors import StoreError
from rag_monitor.store import migration, partitions
from rag_monitor.store.alerts import Alerts, Silences
from rag_monitor.store.annotations import FeedbackAnnotations, ReportedScores
from rag_monitor.store.audit import AuditLog
from rag_monitor.store.budgets import Budgets
from rag_monitor.store.clock_repair import ClockRepair
from rag_monitor.store.documents import Documents
from rag_monitor.store.earlier_passages import EarlierPassages
from rag_monitor.store.earlier_turns import EarlierTurns
from rag_monitor.store.engine import Database, exposure, require_folder
from rag_monitor.store.incident_traces import IncidentTraces
from rag_monitor.store.incidents import Incidents
from rag_monitor.store.integrity import Integrity, was_left_open
from rag_monitor.store.inventory import Inventory
from rag_monitor.store.keys import Keys
from rag_monitor.store.label_queue import LabelQueue
from rag_monitor.store.leases import Leases, database_now
from rag_monitor.store.lockfile import FileLock
from rag_monitor.store.names import Names, Naming
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.outage import Outage, SharedOutage
from rag_monitor.store.outbox import Outbox
from rag_monitor.store.raw_spans import AssemblyBacklog
from rag_monitor.store.replies import Replies
from rag_monitor.store.retention import Ballast, Retention
from rag_monitor.store.rollups import Rollups
from rag_monitor.store.rule_states import RuleStates
from rag_monitor.store.rules import Rules
from rag_monitor.store.score_rows import ScoreExportFeed
from rag_monitor.store.session_outcomes import SessionOutcomes
from rag_monitor.store.session_verdicts import SessionVerdicts
from rag_monitor.store.sessions import Sessions
from rag_monitor.store.spans import Spans
from rag_monitor.store.spending import Spending
from rag_monitor.store.tasks import Tasks
from rag_monitor.store.topic_feed import TopicFeed
from rag_monitor.store.topics import Topics
from rag_monitor.store.traces import Traces
from rag_monitor.store.write_probe import WriteProbe
from rag_monitor.store.writer import Writer

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)


_CLOCK_S: Final = 10.0
"""How often a shared clock is set."""
_ROUND_TRIP_S: Final = 0.5
"""An answer that took longer is asked for again."""


class Store:
    """All data of a monitor. Open it with `Store.open`, close it with `close` or `with`.

    Every method blocks: event loops call them on threads. Only `writer.write` is async.
    """

    def __init__(
        self,
        options: StoreOptions,
        clock: Clock,
        database: Database,
        lock: FileLock | None,
        naming: Naming,
        *,
        after_crash: bool = False,
    ) -> None:
        self._options = options
        self._database = database
        self._lock = lock
        file = database.file
        ballast = None
        if file is not None and lock is not None:
            ballast = Ballast(file, options.ballast_bytes)
            ballast.fill()
        self.takes_one_writer: Final = not database.is_postgresql
        self.spans: Final = Spans(database, options)
        backlog = AssemblyBacklog(
            lambda: self.spans.assembling(clock.now()), options.assembly_backlog
        )
        self.writer: Final = Writer(database, options, backlog)
        self.names: Final = Names(database, clock, naming)
        self.traces: Final = Traces(database, clock, self.names)
        self.sessions: Final = Sessions(database)
        self.session_outcomes: Final = SessionOutcomes(database, clock)
        self.session_verdicts: Final = SessionVerdicts(database, clock)
        self.tasks: Final = Tasks(database, clock)
        self.earlier_passages: Final = EarlierPassages(database)
        self.earlier_turns: Final = EarlierTurns(database)
        self.documents: Final = Documents(database, clock)
        self.inventory: Final = Inventory(database, clock)
        self.topics: Final = Topics(database)
        self.topic_feed: Final = TopicFeed(database, clock)
        self.rollups: Final = Rollups(database, clock)
        self.rules: Final = Rules(database, clock)
        self.rule_states: Final = RuleStates(database)
        self.alerts: Final = Alerts(database, clock)
        self.incidents: Final = Incidents(database)
        self.incident_traces: Final = IncidentTraces(database)
        self.silences: Final = Silences(database)
        self.outbox: Final = Outbox(database, clock)
        self.feedback: Final = FeedbackAnnotations(database, clock)
        self.reported: Final = ReportedScores(database)
        self.label_queue: Final = LabelQueue(database, clock)
        self.keys: Final = Keys(database, clock)
        self.audit: Final = AuditLog(database)
        self.leases: Final = Leases(database, clock)
        self.budgets: Final = Budgets(database, clock, options.budgets)
        self.spending: Final = Spending(database)
        self.replies: Final = Replies(database, clock)
        self.score_export_feed: Final = ScoreExportFeed(database)
        self.retention: Final = Retention(database, ballast, options.partitions_ahead)
        self.clock_repair: Final = ClockRepair(database, options, clock)
        self._probe = WriteProbe(database, clock)
        self._integrity = Integrity(database, clock, after_crash=after_crash)
        self._closing = threading.Event()
        self._clock = clock
        self._upkeep: threading.Thread | None = None

    @classmethod
    def open(
        cls, options: StoreOptions, clock: Clock | None = None, naming: Naming | None = None
    ) -> Self:
        """Open the database, checking (or bringing up to date) its schema.

        Args:
            options: Which database, and how it is used.
            clock: Tells the time; a shared one is set by the database's.
            naming: How many names there may be, and how apps are renamed.

        Raises:
            ConfigurationError: The URL cannot be used, the SQLite file's folder does not exist, or
                another process owns the file.
            SchemaMismatch: The schema is older and `auto_migrate` is off, or it is newer.
            StoreUnavailable: It cannot be reached.
        """
        clock = clock or SystemClock()
        database = Database(options)
        lock: FileLock | None = None
        after_crash = False
        try:
            if database.file is not None:
                require_folder(database.url)
                lock = FileLock(database.file) if options.exclusive else None
                after_crash = was_left_open(database.file)
            if isinstance(clock, SharedClock):
                _set_clock(database, clock)
            _prepare_schema(database, options, clock)
            if lock is not None and (exposed := exposure(database.url)):
                _LOG.warning(exposed)
            store = cls(options, clock, database, lock, naming or Naming(), after_crash=after_crash)
        except BaseException:
            database.close()
            if lock is not None:
                lock.release()
            raise
        store._start_upkeep()
        return store

    @property
    def name(self) -> str:
        """Which database this is, for logs; holds no password."""
        return self._database.name

    @property
    def shared_outage(self) -> SharedOutage:
        """Shared by all who tell of an outage of the database, so that one of them does."""
        return self._database.shared_outage

    def together(self, work: Callable[[], T]) -> T:
        """Run `work`; what it changes through this store, on its thread, is one transaction.

        It may run several times, and must catch nothing that the store raises.

        Raises:
            StoreUnavailable: It did not go through in time; nothing was changed.
        """
        return self._database.together(work)

    def reading(self) -> AbstractContextManager[None]:
        """Whatever this thread reads within goes over one connection, and so does a page quickly.

        What it writes within, it need not see before the end.
        """
        return self._database.reading()

    def reserved(self) -> AbstractContextManager[None]:
        """Whatever a thread asks within goes over connections that pages cannot use up."""
        return self._database.reserved()

    def ping(self) -> None:
        """Raise `StoreUnavailable` unless the database answers."""
        self.leases.now()

    def try_writing(self) -> None:
        """Write one small row, to see whether the database takes anything in.

        Raises:
            StoreFull: Its disk is full.
            StoreError: It does not, for another reason.
        """
        self._probe.now()

    @property
    def damage(self) -> str | None:
        """What is known to be wrong with the SQLite file; None: nothing."""
        return self._integrity.damage

    def look_at_writing(self) -> None:
        """The same, but for the result of a short while ago where there was one."""
        self._probe.look()

    def close(self, timeout_s: float = 10.0) -> None:
        """Write what waits, then close every connection. Calling it again does nothing."""
        if self._closing.is_set():
            return
        self._closing.set()
        if not self.writer.stop(timeout_s):
            _LOG.error("the writer did not finish within %s s", timeout_s)
        self._integrity.stop(timeout_s)
        if self._upkeep is not None:
            self._upkeep.join(timeout_s)
        if self._lock is not None:  # beside a process that owns the file, that one does it
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

    def _start_upkeep(self) -> None:
        clock = self._clock
        if self._database.is_postgresql:
            if not isinstance(clock, SharedClock):
                return
            every_s, work = _CLOCK_S, lambda: _set_clock(self._database, clock)
        elif self._lock is not None:
            self._integrity.start()
            every_s, work = self._options.checkpoint_s, self._database.checkpoint
        else:
            return
        self._upkeep = threading.Thread(
            target=self._repeat, args=(every_s, work), name="store-upkeep", daemon=True
        )
        self._upkeep.start()

    def _repeat(self, every_s: float, work: Callable[[], None]) -> None:
        outage = Outage(_LOG, "no upkeep of the store", self.shared_outage)
        while not self._closing.wait(every_s):
            try:
                work()
            except StoreError as error:
                outage.hit(error)
            else:
                outage.passed()


def _set_clock(database: Database, clock: SharedClock) -> None:
    """Set the clock by the database's; SQLite has none but this machine's."""
    if not database.is_postgresql:
        return
    answers = []
    for _ in range(3):
        with database.read() as connection:
            before = clock.monotonic()
            moment = database_now(database, connection, clock)
            after = clock.monotonic()
        answers.append((after - before, moment, (before + after) / 2))
        if after - before <= _ROUND_TRIP_S:
            break
    _, moment, at = min(answers)  # the quickest says best what time it is
    clock.set(moment, at)


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
