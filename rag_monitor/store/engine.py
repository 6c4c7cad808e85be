"""Connections and transactions: the same for both databases, with what each needs to be safe.

SQLite: write-ahead log, `synchronous=FULL`, one writer connection behind a lock, `BEGIN IMMEDIATE`,
readers on connections of their own that see a snapshot. PostgreSQL: one pool, timeouts, retries.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from rag_monitor import telemetry
from rag_monitor.errors import ConfigurationError, StoreDamaged, StoreError, StoreUnavailable
from rag_monitor.installation import install_command
from rag_monitor.store.failures import is_lost_connection, is_retryable, reason, translate
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.outage import SharedOutage
from rag_monitor.store.write_turns import WriteTurns

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)

BUSY_TIMEOUT_MS: Final = 5_000
"""How long SQLite waits for another process's lock."""
_JOURNAL_LIMIT: Final = 64 * 2**20
_PAGE_BYTES: Final = 4096
_RETRY_PAUSES_S: Final = (0.01, 0.05, 0.2, 0.5, 1.0)


def parse_url(text: str) -> URL:
    """The URL with the driver we use.

    Raises:
        ConfigurationError: It is not a URL, names a database we do not speak, or one whose driver
            is not installed.
    """
    try:
        url = make_url(text)
    except ArgumentError:
        raise ConfigurationError(
            "the database URL cannot be read; write sqlite:///rag_monitor.db or "
            "postgresql://user:password@host:5432/name"
        ) from None
    if url.drivername in {"postgresql", "postgres", "postgresql+psycopg"}:
        _require_psycopg()
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in {"sqlite", "sqlite+pysqlite"}:
        raise ConfigurationError(
            "unknown database {driver!r}; use sqlite:///FILE or postgresql://…",
            driver=url.drivername,
        )
    if not url.database or url.database == ":memory:":
        raise ConfigurationError("SQLite needs a file: write sqlite:///rag_monitor.db")
    return url


def _require_psycopg() -> None:
    """Here, where every way to a database passes, rather than at the first connection."""
    try:
        import psycopg  # noqa: F401 - an optional extra
    except ImportError as error:  # also of a psycopg that finds no libpq
        raise ConfigurationError(
            "PostgreSQL needs psycopg ({reason}): {command}",
            reason=error,
            command=install_command("postgresql"),
        ) from None


def describe(url: URL) -> str:
    """Host and name, never the password."""
    if url.get_backend_name() == "sqlite":
        return f"SQLite {url.database}"
    return f"PostgreSQL {url.host or 'local socket'}:{url.port or 5432}/{url.database}"


def require_folder(url: URL) -> None:
    """Refuse a SQLite file in a folder that is not there.

    That is a mistyped path or a disk that is not mounted: no place to begin an empty database.

    Raises:
        ConfigurationError: There is no such folder.
    """
    folder = Path(url.database or "").parent
    if url.get_backend_name() == "sqlite" and not folder.is_dir():
        raise ConfigurationError(
            "{database}: there is no folder {folder}; make it, mount its disk, or correct "
            "RAG_MONITOR_DATABASE_URL",
            database=describe(url),
            folder=folder,
        )


def is_to_be_made(url: URL) -> bool:
    """Whether connecting would make an empty SQLite file where there is none."""
    name = url.database or ""
    # `file:` names are SQLite's own to read: they may say that nothing is to be made.
    if url.get_backend_name() != "sqlite" or name.startswith("file:"):
        return False
    return not Path(name).exists()


def keep_private(engine: Engine) -> None:
    """Let the SQLite file that a connection would make be readable by its user alone.

    It holds what people asked. SQLite gives the files beside it (`-wal`, `-shm`) the same mode; a
    file that is there keeps the one it has.
    """

    @event.listens_for(engine, "do_connect")
    def make(*_: Any) -> None:
        if is_to_be_made(engine.url):
            with contextlib.suppress(OSError):  # connecting says what is wrong
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                os.close(os.open(engine.url.database or "", flags, 0o600))


def exposure(url: URL) -> str | None:
    """What to do about a SQLite file that every user of this machine may read; None: none may."""
    if url.get_backend_name() != "sqlite":
        return None
    try:
        open_to_all = Path(url.database or "").stat().st_mode & stat.S_IROTH
    except OSError:
        return None
    if not open_to_all:
        return None
    return (
        f"every user of this machine can read {url.database}, where people's questions are: "
        f"chmod o-r {url.database}*"
    )


class Database:
    """One database with a door for reading and one for writing. Safe to share between threads."""

    def __init__(self, options: StoreOptions) -> None:
        self.url: Final = parse_url(options.url)
        self.name: Final = describe(self.url)
        """For messages; holds no password."""
        self.is_postgresql: Final = self.url.get_backend_name() == "postgresql"
        self.dialect: Final = self.url.get_backend_name()
        self._retry_s = options.retry_s
        self._turns = WriteTurns()
        self._joined = threading.local()
        self.doubted = False
        """Whether a change was refused, by what may refuse every other, since this was set back."""
        self.shared_outage: Final = SharedOutage()
        """Of all who cannot do without it: an outage is told once."""
        self.malformed: str | None = None
        """What SQLite said when it met a damaged page."""
        self._reader: Engine
        self._writer: Engine
        self._set_aside: Engine
        """For what must never wait for the others: see `reserved`."""
        aside = _aside(options)
        if self.is_postgresql:
            pool_size = max(1, options.pool_size - aside)
            self._reader = self._writer = _postgresql_engine(self.url, options, pool_size)
            self._set_aside = _postgresql_engine(self.url, options, aside)
        else:
            self._reader = _sqlite_engine(self.url, options, options.pool_size)
            self._writer = _sqlite_engine(self.url, options, 1, writer=True)
            self._set_aside = _sqlite_engine(self.url, options, aside)

    @property
    def file(self) -> Path | None:
        """The SQLite file."""
        return None if self.is_postgresql else Path(self.url.database or "")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database (SQLite) or each statement's own."""
        here = self._here() or getattr(self._joined, "reading", None)
        if here is not None:
            yield here
            return
        try:
            with self._for_reading().connect() as connection, connection.begin():
                yield connection
        except SQLAlchemyError as error:
            raise self._translated(error) from error

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction: committed at the end, rolled back if anything is raised."""
        if (here := self._here()) is not None:
            yield here
            return
        try:
            with self._exclusive(), self._for_writing().begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._refused(error) from error

    def transact(self, work: Callable[[Connection], T], *, retry_s: float | None = None) -> T:
        """Run `work` in a transaction, again if the connection is lost or a deadlock is broken.

        `work` may run several times and must change nothing but the database.

        Raises:
            StoreUnavailable: It did not go through within `retry_s` (default: the option).
        """
        if (here := self._here()) is not None:
            return work(here)
        deadline = time.monotonic() + (self._retry_s if retry_s is None else retry_s)
        attempt = 0
        while True:
            try:
                with self._exclusive(), self._for_writing().begin() as connection:
                    return work(connection)
            except SQLAlchemyError as error:
                pause = _RETRY_PAUSES_S[min(attempt, len(_RETRY_PAUSES_S) - 1)]
                if not is_retryable(error) or time.monotonic() + pause > deadline:
                    raise self._refused(error) from error
            time.sleep(pause)
            attempt += 1

    def attempt(self, work: Callable[[Connection], object], *, turn_s: float) -> bool:
        """Run `work` in a transaction, once, or again where a connection had been lost.

        Returns:
            Whether it ran: not while other changes of this process to SQLite take all of `turn_s`.

        Raises:
            StoreError: It did not go through.
        """
        if not self._turns.acquire(urgent=self._is_reserved, timeout_s=turn_s):
            return False
        try:
            for again in (True, False):
                try:
                    with self._for_writing().begin() as connection:
                        work(connection)
                    break
                except SQLAlchemyError as error:
                    if not (again and is_lost_connection(error)):
                        raise self._refused(error) from error
        finally:
            self._turns.release()
        return True

    def _translated(self, error: SQLAlchemyError) -> StoreError:
        failure = translate(error, self.name)
        if isinstance(failure, StoreDamaged):
            telemetry.STORE_DAMAGED.set(1)
            if self.malformed is None:
                _LOG.error("%s", failure)
            self.malformed = str(failure)
        return failure

    def _refused(self, error: SQLAlchemyError) -> StoreError:
        """The store's error for a change that did not go through; it is counted."""
        failure = self._translated(error)
        if isinstance(failure, StoreUnavailable):
            self.doubted = True
        telemetry.STORE_REFUSED.labels(reason=reason(error)).inc()
        return failure

    def together(self, work: Callable[[], T]) -> T:
        """Run `work` so that whatever this thread reads and changes in it is one transaction.

        As in `transact` it may run several times. Nothing that is raised may be caught inside: only
        out here everything is undone.

        Raises:
            StoreUnavailable: It did not go through in time; nothing was changed.
        """

        def join(connection: Connection) -> T:
            self._joined.connection = connection
            try:
                return work()
            finally:
                self._joined.connection = None

        return work() if self.joined else self.transact(join)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Whatever this thread reads within goes over one connection.

        A page asks many small questions; taking a connection for each, and giving it back, costs
        PostgreSQL as many messages again. All of it sees one moment of the database, so that its
        numbers add up; what this thread writes within, it need not see.
        """
        with self._at_one_moment() as connection:
            outer = getattr(self._joined, "reading", None)
            self._joined.reading = connection
            try:
                yield
            finally:
                self._joined.reading = outer

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Whatever this thread asks within goes over connections that are kept for such.

        Pages and judging may use up all others: what takes traces in, who leads and whether the
        database answers must not depend on that. SQLite has one connection that writes, for all;
        there they have their turn before the others.
        """
        outer = self._is_reserved
        self._joined.reserved = True
        try:
            yield
        finally:
            self._joined.reserved = outer

    @property
    def _is_reserved(self) -> bool:
        return getattr(self._joined, "reserved", False)

    def _for_reading(self) -> Engine:
        return self._set_aside if self._is_reserved else self._reader

    def _for_writing(self) -> Engine:
        return self._for_reading() if self.is_postgresql else self._writer

    @contextmanager
    def _at_one_moment(self) -> Iterator[Connection]:
        inside = self._here() or getattr(self._joined, "reading", None)
        if inside is not None or not self.is_postgresql:
            with self.read() as connection:
                yield connection
            return
        try:
            with self._for_reading().connect() as plain:
                connection = plain.execution_options(isolation_level="REPEATABLE READ")
                with connection.begin():
                    yield connection
        except SQLAlchemyError as error:
            raise translate(error, self.name) from error

    @property
    def joined(self) -> bool:
        """Whether this thread is inside `together`, so that what it reads may still be undone."""
        return self._here() is not None

    def _here(self) -> Connection | None:
        return getattr(self._joined, "connection", None)

    def insert(self, table: Table) -> Any:
        """An INSERT that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
        return postgresql.insert(table) if self.is_postgresql else sqlite.insert(table)

    def checkpoint(self) -> None:
        """SQLite: fold the write-ahead log into the file and cut it; waits for no reader.

        Most is folded beside readers and writers. The log is cut only where no reader still needs
        it: waiting for one would keep every writer waiting too.
        """
        if self.is_postgresql:
            return
        try:
            with self._set_aside.connect() as connection:
                connection.connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
            with self._exclusive(), self._writer.connect() as connection:
                cursor = connection.connection.cursor()
                cursor.execute("PRAGMA busy_timeout=0")
                try:
                    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        except SQLAlchemyError as error:
            raise translate(error, self.name) from error
        except sqlite3.Error as error:  # not wrapped: the pragma must run outside a transaction
            raise StoreUnavailable("{name}: {reason}", name=self.name, reason=error) from error

    def close(self) -> None:
        """Close every connection."""
        for engine in (self._reader, self._writer, self._set_aside):
            engine.dispose()

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        if self.is_postgresql:
            yield
            return
        self._turns.acquire(urgent=self._is_reserved)
        try:
            yield
        finally:
            self._turns.release()


def _aside(options: StoreOptions) -> int:
    """How many connections are kept for what must not wait; on PostgreSQL out of all."""
    return max(1, min(3, options.pool_size // 4))


def _postgresql_engine(url: URL, options: StoreOptions, pool_size: int) -> Engine:
    arguments: dict[str, Any] = {
        "connect_timeout": options.connect_timeout_s,
        "prepare_threshold": None,  # prepared statements do not survive PgBouncer's pooling
        "application_name": "rag-monitor",
        "tcp_user_timeout": 10_000,
    }
    if options.statement_timeout_s and "options" not in url.query:
        milliseconds = int(options.statement_timeout_s * 1000)
        # Short queries over many partitions: compiling their plans takes longer than running them.
        arguments["options"] = (
            f"-c statement_timeout={milliseconds} -c lock_timeout={max(milliseconds // 3, 1)} "
            "-c jit=off"
        )
    return create_engine(
        url,
        connect_args=arguments,
        # Of an INSERT, too: whether a row was added is told by nothing else.
        execution_options={"preserve_rowcount": True},
        hide_parameters=True,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=options.pool_timeout_s,
        pool_pre_ping=True,
    )


def _checkpoint_pages(ballast_bytes: int) -> int:
    """How long the write-ahead log gets before it is folded into the file, in pages.

    SQLite's own 1,000 pages fold it at nearly every group commit, and pages of the indexes, which
    random trace ids touch all over, are then written again each time. But on a full disk the log
    must fit into the file once the ballast is given up.
    """
    return max(1_000, ballast_bytes * 3 // 4 // _PAGE_BYTES)


def _sqlite_engine(
    url: URL, options: StoreOptions, pool_size: int, *, writer: bool = False
) -> Engine:
    engine = create_engine(
        url,
        hide_parameters=True,  # what traces hold belongs into no log
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=options.pool_timeout_s,
    )
    keep_private(engine)
    pragmas = [
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "journal_mode=WAL",
        "synchronous=FULL",
        f"journal_size_limit={_JOURNAL_LIMIT}",
        f"wal_autocheckpoint={_checkpoint_pages(options.ballast_bytes)}",
        "temp_store=MEMORY",
        f"cache_size=-{32_768 if writer else 8_192}",
    ]
    if not writer:
        pragmas.append("query_only=ON")

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: ConnectionPoolEntry) -> None:
        del record
        # The driver's own transactions begin too late (at the first change) and as DEFERRED.
        connection.isolation_level = None
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writer else "BEGIN")

    return engine
