"""API keys: random, shown once, stored as HMAC-SHA256 under a secret of this installation."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets as randomness
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, func, literal, or_, select, update

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.stored import ApiKey, KeyScope
from rag_monitor.errors import NotFound, StoreUnavailable
from rag_monitor.store.engine import Database
from rag_monitor.store.outage import Outage
from rag_monitor.store.tables import api_keys, secrets

_LOG: Final = logging.getLogger(__name__)
_PREFIX: Final = "rm_"
_SHOWN: Final = 10
"""Characters of a key that are kept in clear."""
_SYSTEM: Final = "-"
"""Project of rows that belong to the installation."""
_USE_GRAIN: Final = timedelta(minutes=1)
_LONGEST: Final = 200
_INHERITED: Final = ("project", "name", "scopes", "expires_at", "requests_per_minute")
"""What a key hands on to the one that replaces it."""


class Keys:
    """Who may do what."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._pepper: bytes | None = None
        self._unnoted = Outage(_LOG, "the last use of keys is not noted", database.shared_outage)

    def create(
        self,
        project: str,
        name: str,
        scopes: Collection[KeyScope],
        *,
        expires_at: datetime | None = None,
        requests_per_minute: int | None = None,
    ) -> tuple[str, ApiKey]:
        """A new key: its text, which is shown once and stored nowhere, and what is known of it."""
        text, row = self._new()
        row |= {
            "project": project,
            "name": name,
            "scopes": sorted(scope.value for scope in scopes),
            "expires_at": expires_at,
            "requests_per_minute": requests_per_minute,
        }
        return self._database.transact(lambda connection: (text, self._insert(connection, row)))

    def rotate(
        self, project: str, id: str, grace: timedelta, *, expires_at: datetime | None = None
    ) -> tuple[str, ApiKey]:
        """A new key in place of another, with its name, scopes and limits.

        Args:
            project: Whose key it is.
            id: The key to replace; it must still be valid.
            grace: How much longer it works, so that applications can change over; zero: it is
                revoked at once.
            expires_at: When the new key expires; None: when the old one would have.

        Raises:
            NotFound: This project has no valid key of that id.
        """
        now = self._clock.now()
        text, row = self._new()
        mine = (
            api_keys.c.project == project,
            api_keys.c.id == id,
            api_keys.c.revoked_at.is_(None),
            or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now),
        )

        def work(connection: Connection) -> tuple[str, ApiKey]:
            old = connection.execute(select(api_keys).where(*mine)).one_or_none()
            if old is None:
                raise NotFound(
                    "project {project!r} has no valid key {id!r}", project=project, id=id
                )
            until = now + grace
            changes: dict[str, Any] = {"revoked_at": now}
            if grace > timedelta(0):
                ends = until if old.expires_at is None else min(until, old.expires_at)
                changes = {"expires_at": ends}
            replaced = connection.execute(update(api_keys).where(*mine).values(changes)).rowcount
            if not replaced:
                raise NotFound(
                    "project {project!r} has no valid key {id!r}", project=project, id=id
                )
            row.update({name: getattr(old, name) for name in _INHERITED})
            row["expires_at"] = expires_at or old.expires_at
            return text, self._insert(connection, row)

        return self._database.transact(work)

    def _new(self) -> tuple[str, dict[str, Any]]:
        text = _PREFIX + randomness.token_urlsafe(32)
        return text, {
            "id": randomness.token_hex(8),
            "prefix": text[:_SHOWN],
            "digest": self._digest(text),
            "created_at": self._clock.now(),
        }

    def _insert(self, connection: Connection, row: dict[str, Any]) -> ApiKey:
        statement = self._database.insert(api_keys).returning(api_keys)
        return _load(connection.execute(statement, [row]).one())

    def authenticate(self, text: str) -> ApiKey | None:
        """The key that `text` is, if it is one, not revoked and not expired."""
        key, now = self.find(text), self._clock.now()
        if key is None or not key.alive(now):
            return None
        self._touch(key.id, now)
        return key

    def find(self, text: str) -> ApiKey | None:
        """The key that `text` is, revoked and expired ones too; this is no use of it."""
        if not text or len(text) > _LONGEST:
            return None
        digest = self._digest(text)
        with self._database.read() as connection:
            row = connection.execute(
                select(api_keys).where(api_keys.c.digest == digest)
            ).one_or_none()
        if row is None or not hmac.compare_digest(bytes(row.digest), digest):
            return None
        return _load(row)

    def list(self, project: str | None = None) -> list[ApiKey]:
        """The keys of a project (None: of all), oldest first, revoked ones included."""
        statement = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)
        if project is not None:
            statement = statement.where(api_keys.c.project == project)
        with self._database.read() as connection:
            return [_load(row) for row in connection.execute(statement)]

    def revoke(self, project: str, id: str) -> None:
        """Make a key useless, at once and for good.

        Raises:
            NotFound: This project has none of that id.
        """
        now = literal(self._clock.now(), api_keys.c.revoked_at.type)
        statement = (
            update(api_keys)
            .where(api_keys.c.project == project, api_keys.c.id == id)
            .values(revoked_at=func.coalesce(api_keys.c.revoked_at, now))
        )
        changed = self._database.transact(lambda connection: connection.execute(statement).rowcount)
        if not changed:
            raise NotFound("project {project!r} has no key {id!r}", project=project, id=id)

    def secret(self, name: str, length: int = 32) -> bytes:
        """A random secret of this installation, made on first use; the same ever after."""

        def work(connection: Connection) -> bytes:
            row = {"project": _SYSTEM, "name": name, "value": randomness.token_bytes(length)}
            connection.execute(self._database.insert(secrets).on_conflict_do_nothing(), [row])
            return bytes(connection.execute(statement).scalar_one())

        statement = select(secrets.c.value).where(
            secrets.c.project == _SYSTEM, secrets.c.name == name
        )
        with self._database.read() as connection:
            stored = connection.execute(statement).scalar_one_or_none()
        return bytes(stored) if stored is not None else self._database.transact(work)

    def _digest(self, text: str) -> bytes:
        pepper = self._pepper
        if pepper is None:
            pepper = self.secret("api-keys")
            if not self._database.joined:  # else it may have been made just now, and be undone
                self._pepper = pepper
        return hmac.new(pepper, text.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()

    def _touch(self, id: str, now: datetime) -> None:
        """Note the use, at most once a minute: a request must not cost a commit."""
        used = api_keys.c.last_used_at
        stale = (api_keys.c.id == id, or_(used.is_(None), used < now - _USE_GRAIN))
        with self._database.read() as connection:
            if connection.execute(select(1).where(*stale)).first() is None:
                return
        statement = update(api_keys).where(*stale).values(last_used_at=now)
        try:
            self._database.transact(lambda connection: connection.execute(statement))
        except StoreUnavailable as error:  # a full disk can be read, and must be, to be emptied
            self._unnoted.hit(error)
        else:
            self._unnoted.passed()


def _load(row: Any) -> ApiKey:
    return ApiKey(
        id=row.id,
        project=row.project,
        name=row.name,
        scopes=frozenset(KeyScope(scope) for scope in row.scopes),
        prefix=row.prefix,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        requests_per_minute=row.requests_per_minute,
    )
