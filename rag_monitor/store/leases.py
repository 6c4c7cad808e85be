"""Leases: one holder of a name at a time, by the database's clock, with a fencing token."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, select, text, update

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.stored import Lease
from rag_monitor.errors import LeaseLost
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import leases

_SYSTEM: Final = "-"
_LONG_AGO: Final = timedelta(days=1)
_AT_MOST: Final = 10
"""A lease that ends later than so many of ours is no lease: since it was given, the clock was set
back. A holder that lives renews it by the new time; of one that died it would go on for as long as
the clock was wrong, and nobody would lead."""


class Leases:
    """Who leads. On SQLite, where one process owns the file, its own clock is the database's.

    Asked over connections kept for it: a leader whose pages are busy must not lose its lease.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def now(self) -> datetime:
        """The database's time: the only one that all processes share."""
        with self._database.reserved(), self._database.read() as connection:
            return self._now(connection)

    def acquire(self, name: str, owner: str, ttl_s: float) -> Lease | None:
        """Take the lease if it is free or ours; None while somebody else holds it.

        The token grows whenever the holder changes or the lease had run out. One that ends later
        than ten times `ttl_s` from now was given by a clock that was wrong, and is free.
        """

        def work(connection: Connection) -> Lease | None:
            now = self._now(connection)
            free = {
                "project": _SYSTEM,
                "name": name,
                "token": 0,
                "expires_at": now - _LONG_AGO,
            }
            connection.execute(self._database.insert(leases).on_conflict_do_nothing(), [free])
            row = connection.execute(
                select(leases)
                .where(leases.c.project == _SYSTEM, leases.c.name == name)
                .with_for_update()
            ).one()
            latest = now + _AT_MOST * timedelta(seconds=ttl_s)
            held = row.owner is not None and now < row.expires_at <= latest
            if held and row.owner != owner:
                return None
            token = row.token if held else row.token + 1
            expires_at = now + timedelta(seconds=ttl_s)
            connection.execute(
                update(leases)
                .where(leases.c.project == _SYSTEM, leases.c.name == name)
                .values(owner=owner, token=token, expires_at=expires_at)
            )
            return Lease(name=name, owner=owner, token=token, expires_at=expires_at)

        with self._database.reserved():
            return self._database.transact(work)

    def renew(self, lease: Lease, ttl_s: float) -> Lease:
        """Hold it longer.

        Raises:
            LeaseLost: It ran out, or somebody else has it.
        """

        def work(connection: Connection) -> Lease:
            now = self._now(connection)
            expires_at = now + timedelta(seconds=ttl_s)
            changed = connection.execute(
                update(leases)
                .where(*_held_by(lease), leases.c.expires_at > now)
                .values(expires_at=expires_at)
            ).rowcount
            if not changed:
                raise LeaseLost
            return Lease(
                name=lease.name, owner=lease.owner, token=lease.token, expires_at=expires_at
            )

        with self._database.reserved():
            return self._database.transact(work)

    def release(self, lease: Lease) -> None:
        """Give it up; nothing happens if it is not ours any more."""
        statement = update(leases).where(*_held_by(lease)).values(owner=None)
        with self._database.reserved():
            self._database.transact(lambda connection: connection.execute(statement))

    def _now(self, connection: Connection) -> datetime:
        return database_now(self._database, connection, self._clock)


def database_now(database: Database, connection: Connection, clock: Clock) -> datetime:
    """The database's time; on SQLite its only process's."""
    if not database.is_postgresql:
        return clock.now()
    moment: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return moment


def require_held(connection: Connection, lease: Lease) -> None:
    """Make a transaction depend on a lease: nobody can take it over before the commit.

    That it has run out does not matter as long as nobody else took it.

    Raises:
        LeaseLost: Somebody else has it.
    """
    held = select(leases.c.token).where(*_held_by(lease)).with_for_update()
    if connection.execute(held).first() is None:
        raise LeaseLost("this process leads no longer; what was found is dropped")


def _held_by(lease: Lease) -> tuple[Any, ...]:
    return (
        leases.c.project == _SYSTEM,
        leases.c.name == lease.name,
        leases.c.owner == lease.owner,
        leases.c.token == lease.token,
    )
