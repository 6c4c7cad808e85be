"""Messages until they are delivered, at least once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, func, select, update

from rag_monitor.domain.alert import Notification
from rag_monitor.domain.clock import Clock
from rag_monitor.store.alert_rows import dump_notification, load_notification
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import outbox

_WAITING: Final = "waiting"
_SENT: Final = "sent"
_DEAD: Final = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undelivered:
    """Messages of one channel that nobody has read."""

    channel: str
    given_up: bool
    """No channel will get them; otherwise they still wait."""
    count: int
    created_at: datetime
    """Of the latest."""
    error: str
    """Why the latest was not taken; empty: it was not tried yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """A message about an alert, on one channel."""

    channel: str
    event: str
    """`firing`, `repeat` or `resolved`."""
    created_at: datetime
    sent_at: datetime | None
    """None: the channel has not taken it."""
    given_up: bool


class Outbox:
    """The queue between alerting and the channels."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def due(self, now: datetime, limit: int = 100, lease_s: float = 60.0) -> list[Notification]:
        """Messages to send now, oldest first; hidden from other senders for `lease_s` seconds.

        A message waits for those about the same alert that were queued before it, also while they
        rest: a receiver that heard `resolved` first would take `firing` for a new alert.
        `attempts` counts this one. A sender that dies leaves its messages to the next one.
        """
        ready = (outbox.c.state == _WAITING, outbox.c.not_before <= now)
        with self._database.read() as connection:
            chosen = _in_turn(connection, now, limit)
        if not chosen:
            return []

        def work(connection: Connection) -> list[Notification]:
            rows = connection.execute(
                select(outbox.c.id)
                .where(outbox.c.id.in_(chosen), *ready)
                .order_by(outbox.c.not_before, outbox.c.id)
                .with_for_update(skip_locked=True)
            ).scalars()
            claimed = connection.execute(
                update(outbox)
                .where(outbox.c.id.in_(list(rows)))
                .values(not_before=now + timedelta(seconds=lease_s), attempts=outbox.c.attempts + 1)
                .returning(outbox)
            ).all()
            return [load_notification(row) for row in sorted(claimed, key=lambda row: row.id)]

        return self._database.transact(work)

    def sent(self, notification: Notification) -> None:
        """The channel took it."""
        self._change(notification, state=_SENT, sent_at=self._clock.now(), error=None)

    def failed(self, notification: Notification, error: str, not_before: datetime) -> None:
        """The channel did not take it; try again at `not_before`."""
        self._change(notification, error=error, not_before=not_before)

    def dead(self, notification: Notification, error: str) -> None:
        """Given up: never due again, kept with the reason for people to see."""
        self._change(notification, state=_DEAD, error=error)

    def waiting(self) -> int:
        """Messages not delivered yet."""
        statement = select(func.count()).select_from(outbox).where(outbox.c.state == _WAITING)
        with self._database.read() as connection:
            return connection.execute(statement).scalar_one()

    def given_up(self) -> int:
        """Messages that no channel will get, kept until retention deletes them."""
        statement = select(func.count()).select_from(outbox).where(outbox.c.state == _DEAD)
        with self._database.read() as connection:
            return connection.execute(statement).scalar_one()

    def about(self, project: str, alert_id: str, limit: int = 50) -> list[Announcement]:
        """The newest messages about an alert that are still kept, oldest first."""
        statement = (
            select(outbox)
            .where(
                outbox.c.project == project,
                outbox.c.dedup_key.startswith(f"{alert_id}:", autoescape=True),
            )
            .order_by(outbox.c.id.desc())
            .limit(limit)
        )
        with self._database.read() as connection:
            newest = [
                Announcement(
                    channel=row.channel,
                    event=row.event,
                    created_at=row.created_at,
                    sent_at=row.sent_at,
                    given_up=row.state == _DEAD,
                )
                for row in connection.execute(statement)
            ]
        return newest[::-1]

    def undelivered(self) -> list[Undelivered]:
        """What waits or was given up, by channel, with the reason of the latest."""
        latest = func.max(outbox.c.id).label("latest")
        groups = (
            select(
                outbox.c.channel,
                outbox.c.state,
                func.count().label("messages"),
                func.max(outbox.c.created_at).label("created_at"),
                latest,
            )
            .where(outbox.c.state.in_((_WAITING, _DEAD)))
            .group_by(outbox.c.channel, outbox.c.state)
            .subquery()
        )
        statement = (
            select(groups, outbox.c.error)
            .join(outbox, outbox.c.id == groups.c.latest)
            .order_by(groups.c.channel, groups.c.state)
        )
        with self._database.read() as connection:
            return [
                Undelivered(
                    channel=row.channel,
                    given_up=row.state == _DEAD,
                    count=row.messages,
                    created_at=row.created_at,
                    error=row.error or "",
                )
                for row in connection.execute(statement)
            ]

    def _change(self, notification: Notification, **values: Any) -> None:
        statement = (
            update(outbox)
            .where(
                outbox.c.project == notification.project,
                outbox.c.channel == notification.channel,
                outbox.c.dedup_key == notification.dedup_key,
                outbox.c.state == _WAITING,
            )
            .values(**values)
        )
        self._database.transact(lambda connection: connection.execute(statement))


def _in_turn(connection: Connection, now: datetime, limit: int) -> list[int]:
    """Ids of messages that are due and wait for no earlier one about their alert."""
    columns = (outbox.c.id, outbox.c.project, outbox.c.channel, outbox.c.dedup_key)
    waiting = outbox.c.state == _WAITING
    resting: dict[tuple[str, str, str], int] = {}
    for row in connection.execute(select(*columns).where(waiting, outbox.c.not_before > now)):
        alert = _about(row.project, row.channel, row.dedup_key)
        resting[alert] = min(row.id, resting.get(alert, row.id))
    ready = (
        select(*columns)
        .where(waiting, outbox.c.not_before <= now)
        .order_by(outbox.c.not_before, outbox.c.id)
    )
    in_turn = (
        row.id
        for row in connection.execute(ready)
        if row.id <= resting.get(_about(row.project, row.channel, row.dedup_key), row.id)
    )
    return list(islice(in_turn, limit))


def _about(project: str, channel: str, dedup_key: str) -> tuple[str, str, str]:
    """The alert that a message is about, on its channel."""
    return project, channel, dedup_key.partition(":")[0]


def enqueue(
    database: Database, connection: Connection, notifications: Sequence[Notification]
) -> None:
    """Queue messages inside the caller's transaction; known ones are left as they are."""
    rows = [
        {
            "project": item.project,
            "channel": item.channel,
            "dedup_key": item.dedup_key,
            "event": item.event,
            "body": dump_notification(item),
            "created_at": item.created_at,
            "state": _WAITING,
            "not_before": item.created_at,
            "attempts": item.attempts,
        }
        for item in notifications
    ]
    if rows:
        connection.execute(database.insert(outbox).on_conflict_do_nothing(), rows)
