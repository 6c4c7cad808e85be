"""Finishing evaluation tasks: scores, decisions, faults and the end in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import Connection, delete, select, update

from rag_monitor.domain.decision import SamplingDecision
from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.score import Score
from rag_monitor.domain.stored import EvaluationTask
from rag_monitor.store import rollup_changes, session_changes
from rag_monitor.store.bulk import chunks, upsert
from rag_monitor.store.fault_rows import dump_diagnosis
from rag_monitor.store.score_rows import dump_decision, dump_score
from rag_monitor.store.tables import decisions, evaluation_tasks, faults, scores, trace_keys
from rag_monitor.store.trace_rows import minute_of
from rag_monitor.store.types import storable_name

Completion = tuple[EvaluationTask, Sequence[Score], Sequence[SamplingDecision]]
"""A task and what came of it."""
NO_DIAGNOSES: Final[Mapping[int, Diagnosis]] = MappingProxyType({})


def finish(
    connection: Connection,
    done: Sequence[Completion],
    now: datetime,
    handed: Collection[int] = (),
    diagnoses: Mapping[int, Diagnosis] = NO_DIAGNOSES,
) -> list[EvaluationTask]:
    """Save what came of tasks that are still ours; returns those that are not.

    Those named by `handed` do not end: they wait for the sampled judge from now on. `diagnoses` are
    by task.
    """
    rows = _fence(connection, [task for task, _, _ in done])
    _end(connection, [number for number in rows if number not in handed])
    _hand_over(connection, [number for number in rows if number in handed], now)
    lost = []
    new_scores: list[dict[str, Any]] = []
    new_decisions: list[dict[str, Any]] = []
    new_faults: list[dict[str, Any]] = []
    minutes = set()
    sessions = []
    for task, new, made in done:
        row = rows.get(task.id)
        if row is None or row.token != task.token:
            lost.append(task)
            continue
        key = {"project": row.project, "trace_id": row.trace_id, "day": row.day}
        new_decisions += [key | {"decided_at": now} | dump_decision(item) for item in made]
        key |= {"app": task.trace.app, "started_at": task.trace.started_at}
        diagnosis = diagnoses.get(task.id)
        if diagnosis is not None:
            new_faults.append(key | {"created_at": now} | dump_diagnosis(diagnosis))
        key |= {"revision": row.revision, "superseded": False}
        for score in new:
            item = key | dump_score(score)
            item["created_at"] = item["created_at"] or now
            new_scores.append(item)
        app = storable_name(task.trace.app)
        minutes.add((row.project, app, minute_of(task.trace.started_at)))
        sessions.append((row.project, task.trace.session_id))
    upsert(connection, decisions, new_decisions)
    upsert(connection, scores, new_scores)
    upsert(connection, faults, new_faults)
    session_changes.mark_changed(connection, sessions, now)
    rollup_changes.mark_changed(connection, minutes, now)
    return lost


def _fence(connection: Connection, tasks: Sequence[EvaluationTask]) -> dict[int, Any]:
    """Lock the tasks that are still ours; returns their rows by id.

    The keys are locked before the tasks, as derivation does: a newer revision waits until these
    scores are in and then supersedes them, or came first and took the task away.
    """
    for project, trace_ids in chunks((task.project, task.trace.trace_id) for task in tasks):
        connection.execute(
            select(trace_keys.c.version)
            .where(trace_keys.c.project == project, trace_keys.c.trace_id.in_(trace_ids))
            .order_by(trace_keys.c.trace_id)
            .with_for_update()
        )
    tokens = {task.id: task.token for task in tasks}
    locked = connection.execute(
        select(evaluation_tasks)
        .where(evaluation_tasks.c.id.in_(tokens))
        .order_by(evaluation_tasks.c.id)
        .with_for_update()
    ).all()
    return {row.id: row for row in locked if row.token == tokens[row.id]}


def _end(connection: Connection, ids: Sequence[int]) -> None:
    if ids:
        connection.execute(delete(evaluation_tasks).where(evaluation_tasks.c.id.in_(ids)))


def _hand_over(connection: Connection, ids: Sequence[int], now: datetime) -> None:
    """Make them wait for the sampled judge, with all its tries before them."""
    if not ids:
        return
    connection.execute(
        update(evaluation_tasks)
        .where(evaluation_tasks.c.id.in_(ids))
        .values(
            state="waiting",
            drawn=True,
            created_at=now,
            not_before=now,
            lease_until=None,
            token=0,
            attempts=0,
            losses=0,
            reason=None,
        )
    )
