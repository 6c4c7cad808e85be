"""The schema and its revisions, by way of Alembic."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from rag_monitor.errors import SchemaMismatch
from rag_monitor.i18n import msgid
from rag_monitor.store.engine import (
    describe,
    exposure,
    is_to_be_made,
    keep_private,
    parse_url,
    require_folder,
)
from rag_monitor.store.failures import translate

T = TypeVar("T")

VERSION_TABLE: Final = "alembic_version"
"""Holds the revision of the database."""

_ADVISORY_LOCK: Final = 7_420_655_116
"""Keeps two servers from migrating one PostgreSQL database at once."""
_ALEMBIC_LOCK: Final = threading.Lock()
"""Alembic keeps the running migration in module globals."""


def folder() -> Path:
    """Where the revisions are: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent
    project = checkout / "pyproject.toml"
    if project.is_file() and 'name = "rag-monitor"' in project.read_text("utf-8"):
        return checkout / "migrations"
    return package / "store" / "migrations"


def head() -> str:
    """The revision this release expects."""
    return _scripts().get_current_head() or ""


def revisions() -> list[str]:
    """Every revision this release knows, the oldest first."""
    return [revision.revision for revision in _scripts().walk_revisions()][::-1]


def not_yet_made(url: str) -> str | None:
    """The name of a SQLite file that the first connection would make; None: there is a database.

    For who only looks: looking through `current` makes the file.

    Raises:
        ConfigurationError: The URL cannot be read, or names a folder that is not there.
    """
    parsed = parse_url(url)
    require_folder(parsed)
    return parsed.database if is_to_be_made(parsed) else None


def exposed(url: str) -> str | None:
    """What to do about a SQLite file that every user of this machine may read; None: none may."""
    return exposure(parse_url(url))


def current(url: str) -> str | None:
    """The revision of the database, or None when it has no tables of ours yet.

    Raises:
        StoreUnavailable: It cannot be reached.
    """
    return _on_connection(url, current_of)


def supported_revision(url: str) -> str | None:
    """As `current`, refusing what this release does not know.

    Raises:
        SchemaMismatch: The database was written by a newer release.
        StoreUnavailable: It cannot be reached.
    """

    def work(connection: Connection) -> str | None:
        refuse_newer(connection)
        return current_of(connection)

    return _on_connection(url, work)


def current_of(connection: Connection) -> str | None:
    """The revision that an open connection sees."""
    return MigrationContext.configure(connection).get_current_revision()


def upgrade(url: str, revision: str = "head") -> str:
    """Bring the schema up to `revision`; returns the revision it is at. Safe to call again.

    Raises:
        SchemaMismatch: The database was written by a newer release.
        StoreUnavailable: It cannot be reached.
    """

    def work(connection: Connection) -> str:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))
        refuse_newer(connection)
        _run(command.upgrade, connection, revision)
        return current_of(connection) or ""

    return _on_connection(url, work)


def downgrade(url: str, revision: str) -> None:
    """Go back to `revision` (`base`: no tables at all).

    Deletes what the older schema has no place for.
    """

    def work(connection: Connection) -> None:
        refuse_newer(connection)
        _run(command.downgrade, connection, revision)

    _on_connection(url, work)


def refuse_newer(connection: Connection) -> None:
    """Raise `SchemaMismatch` when the database is at a revision this release does not know."""
    revision = current_of(connection)
    if revision is not None:
        refuse_unknown(revision)


def refuse_unknown(revision: str) -> None:
    """Raise `SchemaMismatch` when this release does not know a revision."""
    try:
        _scripts().get_revision(revision)
    except CommandError:
        raise SchemaMismatch(
            "the database is at schema revision {revision}, which this release does not know: it "
            "was written by a newer rag-monitor. Upgrade rag-monitor, restore a backup, or let "
            "the newer one go back to what this release needs: `rag-monitor migrate --to {head}`",
            revision=revision,
            head=head(),
        ) from None


def check(connection: Connection) -> None:
    """Raise `SchemaMismatch` unless the database is exactly at `head()`."""
    refuse_newer(connection)
    revision = current_of(connection)
    if revision != head():
        text = (
            msgid(
                "the database has no tables yet, this release needs {head}; run "
                "`rag-monitor migrate`"
            )
            if revision is None
            else msgid(
                "the database is at revision {revision}, this release needs {head}; run "
                "`rag-monitor migrate`"
            )
        )
        raise SchemaMismatch(text, revision=revision, head=head())


@cache
def _scripts() -> ScriptDirectory:
    """The revisions of this release. Reading them compiles each, so a process does it once."""
    return ScriptDirectory.from_config(_config())


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def _run(step: Any, connection: Connection, revision: str) -> None:
    with _ALEMBIC_LOCK:
        step(_config(connection), revision)


def _on_connection(url: str, work: Callable[[Connection], T]) -> T:
    parsed = parse_url(url)
    require_folder(parsed)
    engine = _engine(url)
    try:
        with engine.begin() as connection:
            return work(connection)
    except SQLAlchemyError as error:
        raise translate(error, describe(parsed)) from error
    finally:
        engine.dispose()


def _engine(url: str) -> Engine:
    parsed = parse_url(url)
    if parsed.get_backend_name() == "postgresql":
        return create_engine(parsed, poolclass=NullPool, connect_args={"connect_timeout": 5})
    engine = create_engine(parsed, poolclass=NullPool)
    keep_private(engine)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        del record
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL").close()
        connection.execute("PRAGMA synchronous=FULL").close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
