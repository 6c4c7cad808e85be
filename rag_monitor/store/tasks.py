"""Evaluation tasks: rows with a lease. Scores and completion are one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    tuple_,
    update,
)

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.decision import SamplingDecision
from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.score import Score
from rag_monitor.domain.stored import Backlog, EvaluationTask, ParkedTask
from rag_monitor.errors import LeaseLost
from rag_monitor.store import crash_loop
from rag_monitor.store.bulk import chunks
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import evaluation_tasks, traces
from rag_monitor.store.task_completion import NO_DIAGNOSES, Completion, finish
from rag_monitor.store.trace_reads import load_decisions, load_traces

_TOKEN_BITS: Final = 62
_LOOKED_AT: Final = 20
"""Suspects looked at to find one that may be tried."""
_WAITING, _LEASED, _PARKED = "waiting", "leased", "parked"


class Tasks:
    """What is to be judged. Safe to call from any number of workers.

    A task lives in one row: `waiting` until a worker claims it, `leased` while one judges it, then
    gone; `parked` when it was given up. Whoever claims it gets a fencing token, and everything that
    changes the task later asks for that token: a worker that was held up past its lease cannot
    overwrite what its successor did.

        >>> import asyncio
        >>> from tempfile import TemporaryDirectory
        >>> from rag_monitor.domain.ports import BlobFormat, IngestBatch, SpanBlob
        >>> from rag_monitor.store.options import StoreOptions
        >>> from rag_monitor.store.store import Store
        >>> from rag_monitor.testing import EPOCH, ManualClock, make_trace
        >>> folder, trace = TemporaryDirectory(), make_trace()
        >>> options = StoreOptions(url=f"sqlite:///{folder.name}/monitor.db")
        >>> blob = SpanBlob(
        ...     trace_id=trace.trace_id, format=BlobFormat.TRACE_JSON, payload=b"{}", complete=True
        ... )
        >>> batch = IngestBatch(project="default", received_at=EPOCH, blobs=(blob,))
        >>> with Store.open(options, ManualClock()) as store:
        ...     store.writer.start()
        ...     stored = asyncio.run(store.writer.write(batch))
        ...     saved = store.traces.save_derived([(due, trace) for due in store.spans.due(EPOCH)])
        ...     (task,) = store.tasks.claim("worker 1", 10, 60.0, EPOCH)
        ...     held = store.tasks.claim("worker 2", 10, 60.0, EPOCH)
        ...     late = EPOCH + timedelta(seconds=61)  # worker 1 has let its lease run out
        ...     (again,) = store.tasks.claim("worker 2", 10, 60.0, late)
        ...     lost = store.tasks.complete_many([(task, (), ())])
        ...     done = store.tasks.complete_many([(again, (), ())])
        >>> held, again.attempts, lost == [task], done
        ([], 2, True, [])
        >>> folder.cleanup()
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def claim(
        self, owner: str, limit: int, lease_s: float, now: datetime, *, sampled: bool = False
    ) -> list[EvaluationTask]:
        """Take up to `limit` tasks that wait, or whose worker let its lease run out; oldest first.

        With `sampled` those that wait for the sampled judge, else all others. History, which was
        imported or requested, comes last: it must not keep a judge from live traces.

        Tasks that were in hand when a worker died come first, a few of them together; those that
        are suspected of killing workers are left to `claim_suspect`. A task whose trace is gone is
        dropped.
        """
        # Asked without a write transaction: workers poll all the time; SQLite has one writer.
        with self._database.read() as connection:
            if connection.execute(select(1).where(_ready(now, sampled)).limit(1)).first() is None:
                return []

        table = evaluation_tasks.c
        # What a dead worker left comes first, and only a part of it: if one of these tasks killed
        # it, the parts without that task are judged, and suspicion narrows down.
        lost = _oldest(
            crash_loop.lost_once(now, sampled), (table.lease_until,), crash_loop.part_of(limit)
        )
        waiting = (
            _oldest(and_(_waiting(now, sampled), table.bulk == history), (table.not_before,), limit)
            for history in (False, True)
        )
        choices = (lost, *waiting)

        def work(connection: Connection) -> list[EvaluationTask]:
            claimable = (connection.execute(choice).all() for choice in choices)
            rows = next((rows for rows in claimable if rows), ())
            return self._lease(connection, rows, owner, now + timedelta(seconds=lease_s))

        return self._database.transact(work)

    def claim_suspect(self, owner: str, lease_s: float, now: datetime) -> EvaluationTask | None:
        """Take one task that workers died with, to be tried alone, or None; parks the guilty.

        Only a worker that has lived for a while may ask, and for one at a time: else its death
        would say nothing of the task.
        """
        with self._database.read() as connection:
            if not crash_loop.any_suspect(connection, now):
                return None

        def work(connection: Connection) -> tuple[list[EvaluationTask], int]:
            suspects = _oldest(crash_loop.suspected(now), crash_loop.in_turn(), _LOOKED_AT)
            rows = connection.execute(suspects).all()
            others = crash_loop.park(connection, rows, now)
            until = now + timedelta(seconds=lease_s)
            claimed = self._lease(connection, others[:1], owner, until)
            return claimed, len(rows) - len(others)

        claimed, parked = self._database.transact(work)
        if parked:
            telemetry.dropped("evaluation", "poison", parked)
        return claimed[0] if claimed else None

    def claim_stale(
        self, owner: str, limit: int, lease_s: float, now: datetime, made_before: datetime
    ) -> list[EvaluationTask]:
        """Take tasks that the sampled judge did not get to since `made_before`, oldest first.

        History may wait as long as it has to.
        """
        table = evaluation_tasks.c
        waiting = and_(table.drawn.is_(True), table.bulk.is_(False), table.state == _WAITING)
        stale = and_(waiting, table.created_at < made_before)
        with self._database.read() as connection:
            if connection.execute(select(1).where(stale).limit(1)).first() is None:
                return []

        def work(connection: Connection) -> list[EvaluationTask]:
            rows = connection.execute(_oldest(stale, (table.created_at,), limit)).all()
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

    def complete_many(
        self,
        done: Sequence[Completion],
        handed: Collection[int] = (),
        diagnoses: Mapping[int, Diagnosis] = NO_DIAGNOSES,
    ) -> list[EvaluationTask]:
        """`complete` for several tasks in one transaction; returns those whose lease was lost.

        One commit for many tasks is what makes completion fast: prefer it.

        Args:
            done: Tasks and what came of them.
            handed: Ids of those that do not end with it: they wait for the sampled judge.
            diagnoses: What was at fault in their traces, by the id of the task.
        """
        now = self._clock.now()

        def work(connection: Connection) -> list[EvaluationTask]:
            lost = finish(connection, done, now, handed, diagnoses)
            if lost:
                crash_loop.clear_suspicion(connection, [task.id for task in lost])
            return lost

        return self._database.transact(work)

    def renew_many(self, tasks: Sequence[EvaluationTask], lease_s: float, now: datetime) -> int:
        """Hold the leases of those tasks longer that are still held; returns how many."""
        until = now + timedelta(seconds=lease_s)
        statement = _held(tasks).values(lease_until=until)
        return self._database.transact(lambda connection: connection.execute(statement).rowcount)

    def give_back(self, tasks: Sequence[EvaluationTask], now: datetime) -> int:
        """Let others have tasks that were claimed and not worked on; returns how many were held."""
        statement = _held(tasks).values(
            state=_WAITING,
            lease_until=None,
            not_before=now,
            attempts=evaluation_tasks.c.attempts - 1,
            token=0,  # none that was handed out: whoever still holds the old one has lost it
        )
        return self._database.transact(lambda connection: connection.execute(statement).rowcount)

    def retry(self, task: EvaluationTask, reason: str, not_before: datetime) -> None:
        """Give the task back, to be claimed at `not_before` or later.

        Raises:
            LeaseLost: It is somebody else's.
        """
        self._change(
            task,
            state=_WAITING,
            reason=reason,
            not_before=not_before,
            lease_until=None,
            losses=0,
        )

    def park(self, task: EvaluationTask, reason: str) -> None:
        """Give the task up, keeping why. `unpark` makes it wait again.

        Raises:
            LeaseLost: It is somebody else's.
        """
        self._change(task, state=_PARKED, reason=reason, lease_until=None)

    def unpark(self, project: str, now: datetime, trace_ids: Collection[str] | None = None) -> int:
        """Make parked tasks of a project wait again; returns how many.

        Args:
            project: Whose.
            now: From when on they may be claimed.
            trace_ids: Only those of these traces; None: all.
        """
        table = evaluation_tasks.c
        chosen = [table.project == project, table.state == _PARKED]
        if trace_ids is not None:
            chosen.append(table.trace_id.in_(trace_ids))
        statement = (
            update(evaluation_tasks)
            .where(*chosen)
            .values(state=_WAITING, not_before=now, attempts=0, losses=0, reason=None)
        )
        return self._database.transact(lambda connection: connection.execute(statement).rowcount)

    def parked(self, limit: int, project: str | None = None) -> list[ParkedTask]:
        """Tasks that were given up, the newest first, and why; None: of every project."""
        table = evaluation_tasks.c
        chosen = [table.state == _PARKED]
        if project is not None:
            chosen.append(table.project == project)
        columns = (table.project, table.trace_id, table.reason, table.attempts, table.not_before)
        with self._database.read() as connection:
            rows = connection.execute(
                select(*columns).where(*chosen).order_by(table.id.desc()).limit(limit)
            ).all()
        return [
            ParkedTask(
                project=row.project,
                trace_id=row.trace_id,
                reason=row.reason or "",
                attempts=row.attempts,
                again_at=row.not_before if row.reason == crash_loop.CRASH_LOOP else None,
            )
            for row in rows
        ]

    def enqueue(self, project: str, trace_ids: Iterable[str], judge: str | None = None) -> int:
        """Ask for traces to be judged (again), whatever the sampler says; returns how many exist.

        Their scores stay until new ones of the same judge and metric replace them.

        Args:
            project: Whose traces.
            trace_ids: Which.
            judge: The one judge to ask, by its name; a trace that waits for others anyway is judged
                by all. None: every judge.
        """
        now = self._clock.now()
        keys = [(project, trace_id) for trace_id in trace_ids]

        def work(connection: Connection) -> int:
            rows = []
            for name, ids in chunks(keys):
                existing = select(
                    traces.c.project, traces.c.trace_id, traces.c.day, traces.c.revision
                ).where(traces.c.project == name, traces.c.trace_id.in_(ids))
                rows += [dict(row._mapping) for row in connection.execute(existing)]
            if not rows:
                return 0
            state = {"state": _WAITING, "forced": True, "bulk": True, "judge": judge}
            state |= {"created_at": now, "not_before": now}
            statement = self._database.insert(evaluation_tasks)
            # One row holds one judge: a task that waits for another, or for all, is judged by all.
            same_judge = evaluation_tasks.c.judge == statement.excluded.judge
            fresh = {
                "judge": case((same_judge, statement.excluded.judge), else_=None),
                "attempts": 0,
                "losses": 0,
                "token": 0,
                "lease_until": None,
                "reason": None,
                "drawn": False,
            }
            statement = statement.on_conflict_do_update(
                index_elements=["project", "trace_id", "revision"],
                set_=state | fresh,
            )
            connection.execute(statement, [row | state for row in rows])
            return len(rows)

        return self._database.transact(work)

    def backlog(self, now: datetime) -> Backlog:
        """How much waits, and for how long."""
        table = evaluation_tasks.c
        untouched = and_(table.state == _WAITING, table.attempts == 0)
        parked = table.state == _PARKED
        with self._database.read() as connection:
            rows = connection.execute(
                select(
                    parked.label("parked"),
                    table.drawn,
                    table.bulk,
                    func.count().label("number"),
                    func.min(table.created_at).label("made"),
                    func.min(case((untouched, table.not_before))).label("due"),
                ).group_by(parked, table.drawn, table.bulk)
            ).all()
        first = [row for row in rows if not row.parked and not row.drawn]
        sampled = [row for row in rows if not row.parked and row.drawn]
        return Backlog(
            waiting=sum(row.number for row in first),
            oldest_age_s=_age(now, [row.made for row in first]),
            bulk=sum(row.number for row in first if row.bulk),
            parked=sum(row.number for row in rows if row.parked),
            lag_s=_age(now, [row.due for row in first if not row.bulk]),
            bulk_lag_s=_age(now, [row.due for row in first if row.bulk]),
            sampled=sum(row.number for row in sampled),
            sampled_age_s=_age(now, [row.made for row in sampled]),
        )

    def _lease(
        self, connection: Connection, rows: Sequence[Any], owner: str, until: datetime
    ) -> list[EvaluationTask]:
        loaded = load_traces(connection, [(row.project, row.trace_id) for row in rows])
        decisions = load_decisions(
            connection, [(row.project, row.trace_id) for row in rows if row.drawn]
        )
        # The trace may be gone (retention, erasure), or a newer revision has a task of its own.
        claimed, orphans = [], []
        history = {row.id: crash_loop.after(row) for row in rows}
        for row in rows:
            stored = loaded.get((row.project, row.trace_id))
            if stored is None or stored[1].revision != row.revision:
                orphans.append(row.id)
                continue
            claimed.append(
                EvaluationTask(
                    id=row.id,
                    project=row.project,
                    trace=stored[1],
                    token=secrets.randbits(_TOKEN_BITS),
                    attempts=row.attempts + 1,
                    forced=row.forced,
                    bulk=row.bulk,
                    judge=row.judge,
                    sampled=row.drawn,
                    decisions=decisions.get((row.project, row.trace_id), ()),
                    received_on=row.day,
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
                    reason=bindparam("new_reason"),
                    losses=bindparam("new_losses"),
                ),
                [
                    {"task_id": task.id, "new_token": task.token, **history[task.id]}
                    for task in claimed
                ],
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


def _age(now: datetime, moments: Sequence[datetime | None]) -> float:
    """Seconds since the earliest; 0 where there is none, or none yet."""
    due = [moment for moment in moments if moment is not None]
    return max(0.0, (now - min(due)).total_seconds()) if due else 0.0


def _held(tasks: Sequence[EvaluationTask]) -> Update:
    """An update of those of `tasks` whose lease is still ours."""
    table = evaluation_tasks.c
    ours = tuple_(table.id, table.token).in_([(task.id, task.token) for task in tasks])
    return update(evaluation_tasks).where(ours, table.state == _LEASED)


def _oldest(which: Any, order: Sequence[Any], limit: int) -> Any:
    return (
        select(evaluation_tasks)
        .where(which)
        .order_by(*order, evaluation_tasks.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )


def _waiting(now: datetime, sampled: bool) -> Any:
    table = evaluation_tasks.c
    return and_(table.drawn == sampled, table.state == _WAITING, table.not_before <= now)


def _ready(now: datetime, sampled: bool) -> Any:
    return or_(_waiting(now, sampled), crash_loop.lost_once(now, sampled))
