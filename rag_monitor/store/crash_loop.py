"""Tasks whose workers died: who is suspected, who is tried alone, who is parked.

A worker that dies takes down everything it had in hand, and processes die for many reasons. So the
first loss says nothing of a task. After it the task is tried in a small part of its batch, and
after a second loss alone, by a worker that has lived for a while: what three of these die with has
killed them. It is parked, and tried alone again now and then, for it may have been innocent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, or_, select, update

from rag_monitor.store.tables import evaluation_tasks

LOST: Final = "worker_lost"
"""Reason of a task whose last worker let the lease run out: died, or was held up."""
CRASH_LOOP: Final = "worker_lost_thrice"
"""Why a task is parked: three workers in a row were lost that had nothing else in hand."""
_ALONE: Final = 2
"""Workers lost with a task before it is tried alone."""
_PARKED: Final = _ALONE + 3
"""Before it is parked."""
_PARTS: Final = 8
"""A lost batch is tried again in so many parts."""
_AGAIN_AFTER: Final = timedelta(hours=1)
_AT_LATEST: Final = timedelta(days=1)
"""A parked task is tried again after the first; after each further loss, in twice the time."""

_task: Final = evaluation_tasks.c


def expired(now: datetime) -> ColumnElement[bool]:
    """Whether a worker holds the task whose lease ran out."""
    return and_(_task.state == "leased", _task.lease_until <= now)


def lost_once(now: datetime, sampled: bool) -> ColumnElement[bool]:
    """Whether the task was in hand when a worker died, for the first time."""
    return and_(_task.drawn == sampled, expired(now), _task.losses + 1 < _ALONE)


def part_of(limit: int) -> int:
    """How many tasks of a lost batch are tried together."""
    return max(1, limit // _PARTS)


def suspected(now: datetime) -> ColumnElement[bool]:
    """Whether the task is to be tried alone, or parked. Parked ones are tried again."""
    again = and_(_task.state == "parked", _task.reason == CRASH_LOOP, _task.not_before <= now)
    lost = and_(expired(now), _task.losses + 1 >= _ALONE)
    # Drawn or not: said, as the indexes begin with it. Else every task that waits would be read.
    either = _task.drawn.in_((False, True))
    return or_(and_(either, lost), and_(either, again))


def in_turn() -> tuple[Any, ...]:
    """The order of suspects: those that few workers died with first, parked ones last.

    Most of them are innocent, and leave at once.
    """
    return (_task.state == "parked", _task.losses, _task.lease_until)


def park(connection: Connection, rows: Sequence[Any], now: datetime) -> list[Any]:
    """Park those of these suspects that have killed too many workers; returns the others."""
    others = []
    for row in rows:
        losses = row.losses + 1
        if row.state == "parked" or losses < _PARKED:
            others.append(row)
            continue
        wait = min(_AGAIN_AFTER * 2 ** min(losses - _PARKED, 16), _AT_LATEST)
        connection.execute(
            update(evaluation_tasks)
            .where(_task.id == row.id)
            .values(
                state="parked",
                reason=CRASH_LOOP,
                losses=losses,
                lease_until=None,
                not_before=now + wait,
            )
        )
    return others


def after(row: Any) -> dict[str, Any]:
    """What a task that is claimed keeps of its history: lost workers, and why it is tried again."""
    if row.state == "leased":
        return {"new_losses": row.losses + 1, "new_reason": LOST}
    return {"new_losses": row.losses, "new_reason": row.reason}


def clear_suspicion(connection: Connection, ids: Sequence[int]) -> None:
    """Somebody finished them too late: their workers were held up, not killed by them."""
    poison = and_(_task.state == "parked", _task.reason == CRASH_LOOP)
    connection.execute(
        update(evaluation_tasks)
        .where(_task.id.in_(ids), _task.losses > 0)
        .values(state=case((poison, "waiting"), else_=_task.state), losses=0, reason=None)
    )


def any_suspect(connection: Connection, now: datetime) -> bool:
    """A look without a write transaction: mostly there is none."""
    return connection.execute(select(_task.id).where(suspected(now)).limit(1)).first() is not None
