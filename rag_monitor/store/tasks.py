"""Evaluation tasks: rows with a lease. Scores and completion are one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, delete, func, or_, select, update

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.decision import SamplingDecision
from rag_monitor.domain.score import Score
from rag_monitor.domain.stored import Backlog, EvaluationTask
from rag_monitor.errors import LeaseLost
from rag_monitor.store.completion import Completion, finish
from rag_monitor.store.engine import Database
from rag_monitor.store.evidence import chunks
from rag_monitor.store.tables import evaluation_tasks, traces
from rag_monitor.store.trace_reads import load_traces

_TOKEN_BITS: Final = 62
_WAITING, _LEASED, _PARKED = "waiting", "leased", "parked"


class Tasks:
    """What is to be judged. Safe to call from any number of workers."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def claim(self, owner: str, limit: int, lease_s: float, now: datetime) -> list[EvaluationTask]:
        """Take up to `limit` tasks that wait, or whose worker let its lease run out; oldest first.

        A task whose trace is gone is dropped.
        """
        with self._database.read() as connection:
            if connection.execute(select(1).where(_ready(now)).limit(1)).first() is None:
                return []

        def work(connection: Connection) -> list[EvaluationTask]:
            rows = connection.execute(
                select(evaluation_tasks)
                .where(_ready(now))
                .order_by(evaluation_tasks.c.not_before, evaluation_tasks.c.id)
                .limit(limit)
                .with_for_update(skip_locked=True)
            ).all()
            return self._lease(connection, rows, owner, now + timedelta(seconds=lease_s))

        return self._database.transact(work)

    def complete(
        self,
        task: EvaluationTask,
        scores: Sequence[Score],
        decisions: Sequence[SamplingDecision] = (),
    ) -> None:
        """Save the scores and why they were (not) drawn, and finish the task, all or nothing.

        Raises:
            LeaseLost: The task was taken over, or a newer revision replaced it; nothing is saved.
        """
        if self.complete_many([(task, scores, decisions)]):
            raise LeaseLost

    def complete_many(self, done: Sequence[Completion]) -> list[EvaluationTask]:
        """`complete` for several tasks in one transaction; returns those whose lease was lost.

        One commit for many tasks is what makes completion fast: prefer it.
        """
        now = self._clock.now()
        return self._database.transact(
            lambda connection: finish(self._database, connection, done, now)
        )

    def renew(self, task: EvaluationTask, lease_s: float, now: datetime) -> None:
        """Hold the lease longer.

        Raises:
            LeaseLost: It is somebody else's.
        """
        self._change(task, lease_until=now + timedelta(seconds=lease_s))

    def retry(self, task: EvaluationTask, reason: str, not_before: datetime) -> None:
        """Give the task back, to be claimed at `not_before` or later.

        Raises:
            LeaseLost: It is somebody else's.
        """
        self._change(task, state=_WAITING, reason=reason, not_before=not_before, lease_until=None)

    def park(self, task: EvaluationTask, reason: str) -> None:
        """Give the task up, keeping why. `unpark` makes it wait again.

        Raises:
            LeaseLost: It is somebody else's.
        """
        self._change(task, state=_PARKED, reason=reason, lease_until=None)

    def unpark(self, project: str, now: datetime) -> int:
        """Make all parked tasks of a project wait again; returns how many."""
        statement = (
            update(evaluation_tasks)
            .where(evaluation_tasks.c.project == project, evaluation_tasks.c.state == _PARKED)
            .values(state=_WAITING, not_before=now, attempts=0)
        )
        return self._database.transact(lambda connection: connection.execute(statement).rowcount)

    def enqueue(self, project: str, trace_ids: Iterable[str]) -> int:
        """Ask for traces to be judged (again), whatever the sampler says; returns how many exist.

        Their scores stay until new ones of the same judge and metric replace them.
        """
        now = self._clock.now()
        wanted = [(project, trace_id) for trace_id in trace_ids]

        def work(connection: Connection) -> int:
            rows = []
            for name, ids in chunks(wanted):
                found = select(
                    traces.c.project, traces.c.trace_id, traces.c.day, traces.c.revision
                ).where(traces.c.project == name, traces.c.trace_id.in_(ids))
                rows += [dict(row._mapping) for row in connection.execute(found)]
            if not rows:
                return 0
            state = {"state": _WAITING, "forced": True, "created_at": now, "not_before": now}
            statement = self._database.insert(evaluation_tasks)
            statement = statement.on_conflict_do_update(
                index_elements=["project", "trace_id", "revision"],
                set_={**state, "attempts": 0, "token": 0, "lease_until": None},
            )
            connection.execute(statement, [row | state for row in rows])
            return len(rows)

        return self._database.transact(work)

    def backlog(self, now: datetime) -> Backlog:
        """How much waits, and for how long."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(
                    evaluation_tasks.c.state,
                    func.count(),
                    func.min(evaluation_tasks.c.created_at),
                ).group_by(evaluation_tasks.c.state)
            ).all()
        counts = {state: count for state, count, _ in rows}
        oldest = [moment for state, _, moment in rows if state != _PARKED and moment is not None]
        age = max(0.0, (now - min(oldest)).total_seconds()) if oldest else 0.0
        return Backlog(
            waiting=counts.get(_WAITING, 0) + counts.get(_LEASED, 0),
            oldest_age_s=age,
            parked=counts.get(_PARKED, 0),
        )

    def _lease(
        self, connection: Connection, rows: Sequence[Any], owner: str, until: datetime
    ) -> list[EvaluationTask]:
        loaded = load_traces(connection, [(row.project, row.trace_id) for row in rows])
        claimed, orphans = [], []
        for row in rows:
            found = loaded.get((row.project, row.trace_id))
            if found is None or found[1].revision != row.revision:
                orphans.append(row.id)
                continue
            claimed.append(
                EvaluationTask(
                    id=row.id,
                    project=row.project,
                    trace=found[1],
                    token=secrets.randbits(_TOKEN_BITS),
                    attempts=row.attempts + 1,
                    forced=row.forced,
                )
            )
        if orphans:
            connection.execute(delete(evaluation_tasks).where(evaluation_tasks.c.id.in_(orphans)))
        if claimed:
            connection.execute(
                update(evaluation_tasks)
                .where(evaluation_tasks.c.id == bindparam("task_id"))
                .values(
                    state=_LEASED,
                    owner=owner,
                    lease_until=until,
                    token=bindparam("new_token"),
                    attempts=evaluation_tasks.c.attempts + 1,
                ),
                [{"task_id": task.id, "new_token": task.token} for task in claimed],
            )
        return claimed

    def _change(self, task: EvaluationTask, **values: Any) -> None:
        statement = (
            update(evaluation_tasks)
            .where(evaluation_tasks.c.id == task.id, evaluation_tasks.c.token == task.token)
            .values(**values)
        )

        def work(connection: Connection) -> None:
            if not connection.execute(statement).rowcount:
                raise LeaseLost

        self._database.transact(work)


def _ready(now: datetime) -> Any:
    table = evaluation_tasks.c
    return or_(
        and_(table.state == _WAITING, table.not_before <= now),
        and_(table.state == _LEASED, table.lease_until <= now),
    )
