"""Alerts and silences. An alert's change and its message are saved in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, select

from rag_monitor.domain.alert import Alert, AlertState, Notification, Silence
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.incident import Incident
from rag_monitor.domain.stored import Lease
from rag_monitor.errors import NotFound
from rag_monitor.store.alert_rows import dump_alert, load_alert
from rag_monitor.store.engine import Database
from rag_monitor.store.incidents import put_incident
from rag_monitor.store.leases import require_held
from rag_monitor.store.outbox import enqueue
from rag_monitor.store.tables import alerts, silences

_SILENCE = ("project", "id", "rule", "app", "starts_at", "ends_at", "comment", "created_by")


class Alerts:
    """The state of every rule on every app."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def load(self, project: str | None = None, state: AlertState | None = None) -> list[Alert]:
        """Alerts, the newest first; None: of all projects, in any state."""
        statement = select(alerts.c.body).order_by(alerts.c.started_at.desc(), alerts.c.id)
        if project is not None:
            statement = statement.where(alerts.c.project == project)
        if state is not None:
            statement = statement.where(alerts.c.state == state.value)
        with self._database.read() as connection:
            return [load_alert(body) for body in connection.execute(statement).scalars()]

    def get(self, project: str, id: str) -> Alert:
        """One alert.

        Raises:
            NotFound: This project has none of that id.
        """
        with self._database.read() as connection:
            return _get(connection, project, id)

    def save(
        self,
        changed: Sequence[Alert],
        notifications: Sequence[Notification] = (),
        *,
        incidents: Sequence[Incident] = (),
        lease: Lease | None = None,
    ) -> None:
        """Save alerts, their incidents and what is to be sent about them, all or nothing.

        A notification whose (project, channel, dedup_key) is known is not queued again. An
        acknowledgement that arrived meanwhile is kept.

        Args:
            changed: Alerts as they are now.
            notifications: What is to be sent.
            incidents: Incidents that changed with them.
            lease: Save only while this lease is held.

        Raises:
            LeaseLost: Somebody else has the lease; nothing is saved.
        """

        def work(connection: Connection) -> None:
            if lease is not None:
                require_held(connection, lease)
            for alert in sorted(changed, key=lambda item: (item.project, item.id)):
                self._put(connection, _with_acknowledgement(connection, alert))
            for incident in sorted(incidents, key=lambda item: (item.project, item.id)):
                put_incident(self._database, connection, incident)
            enqueue(self._database, connection, notifications)

        if changed or notifications or incidents:
            self._database.transact(work)

    def acknowledge(self, project: str, id: str, by: str) -> Alert:
        """Note that somebody takes care.

        Raises:
            NotFound: This project has none of that id.
        """
        now = self._clock.now()

        def work(connection: Connection) -> Alert:
            alert = _get(connection, project, id, lock=True)
            alert = replace(alert, acknowledged_by=by, acknowledged_at=now)
            self._put(connection, alert)
            return alert

        return self._database.transact(work)

    def _put(self, connection: Connection, alert: Alert) -> None:
        row = {
            "project": alert.project,
            "id": alert.id,
            "rule": alert.rule,
            "app": alert.app,
            "state": alert.state.value,
            "started_at": alert.started_at,
            "body": dump_alert(alert),
        }
        statement = self._database.insert(alerts)
        statement = statement.on_conflict_do_update(
            index_elements=["project", "id"],
            set_={name: statement.excluded[name] for name in ("state", "started_at", "body")},
        )
        connection.execute(statement, [row])


class Silences:
    """Times in which matching alerts are not announced."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, project: str | None = None) -> list[Silence]:
        """Silences of a project (None: of all), also past ones, the one that ends last first."""
        statement = select(silences).order_by(silences.c.ends_at.desc(), silences.c.id)
        if project is not None:
            statement = statement.where(silences.c.project == project)
        with self._database.read() as connection:
            return [
                Silence(**{name: row._mapping[name] for name in _SILENCE})
                for row in connection.execute(statement)
            ]

    def add(self, silence: Silence) -> None:
        """Keep a silence; one of the same id is replaced."""
        row = {name: getattr(silence, name) for name in _SILENCE}
        statement = self._database.insert(silences)
        statement = statement.on_conflict_do_update(
            index_elements=["project", "id"],
            set_={name: statement.excluded[name] for name in _SILENCE[2:]},
        )
        self._database.transact(lambda connection: connection.execute(statement, [row]))

    def delete(self, project: str, id: str) -> None:
        """End a silence.

        Raises:
            NotFound: This project has none of that id.
        """
        statement = delete(silences).where(silences.c.project == project, silences.c.id == id)
        removed = self._database.transact(lambda connection: connection.execute(statement).rowcount)
        if not removed:
            raise NotFound("project {project!r} has no silence {id!r}", project=project, id=id)


def _get(connection: Connection, project: str, id: str, *, lock: bool = False) -> Alert:
    statement: Any = select(alerts.c.body).where(alerts.c.project == project, alerts.c.id == id)
    if lock:
        statement = statement.with_for_update()
    body = connection.execute(statement).scalar_one_or_none()
    if body is None:
        raise NotFound("project {project!r} has no alert {id!r}", project=project, id=id)
    return load_alert(body)


def _with_acknowledgement(connection: Connection, alert: Alert) -> Alert:
    if alert.acknowledged_by is not None:
        return alert
    try:
        stored = _get(connection, alert.project, alert.id, lock=True)
    except NotFound:
        return alert
    return replace(
        alert,
        acknowledged_by=stored.acknowledged_by,
        acknowledged_at=stored.acknowledged_at,
    )
