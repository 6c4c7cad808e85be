"""The traces that the story of an incident is told from, without their texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection, and_, select

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.incident import Example, IncidentTrace
from rag_monitor.domain.rollup import LATENCY_METRICS
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.store.bulk import LOOKUP
from rag_monitor.store.engine import Database
from rag_monitor.store.fault_rows import load_diagnosis
from rag_monitor.store.tables import faults, retrievals, scores, topics, trace_topics, traces

_QUESTION: Final = 160
"""Characters of a question that an example keeps."""
_EVIDENCE: Final = 2
"""Pieces of evidence that an example keeps."""


class IncidentTraces:
    """Reads by index and in chunks, and is bounded by the number of traces."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(
        self,
        project: str,
        app: str,
        since: datetime,
        until: datetime,
        limit: int,
        metrics: Collection[str] = (),
    ) -> list[IncidentTrace]:
        """The newest traces of a stretch of time, the oldest of them first.

        A fault is what the judge says who diagnosed most of them, a score likewise: what several
        judges say is not mixed.

        Args:
            project: Whose.
            app: Of which application.
            since: Inclusive.
            until: Exclusive.
            limit: At most so many.
            metrics: Metrics whose scores are loaded.
        """
        names = ("trace_id", "day", "started_at", "status", "release", "model", *LATENCY_METRICS)
        statement = (
            select(*(traces.c[name] for name in names))
            .where(
                traces.c.project == project,
                traces.c.app == app,
                traces.c.started_at >= since,
                traces.c.started_at < until,
            )
            .order_by(traces.c.started_at.desc(), traces.c.trace_id.desc())
            .limit(limit)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
            parts = [rows[start : start + LOOKUP] for start in range(0, len(rows), LOOKUP)]
            bases = _knowledge_bases(connection, project, parts)
            topic_of = _topics(connection, project, parts)
            diagnosed = _diagnosed(connection, project, parts)
            scored = _scored(connection, project, parts, metrics)
        return [
            IncidentTrace(
                trace_id=row.trace_id,
                started_at=row.started_at,
                failed=row.status == TraceStatus.ERROR,
                release=row.release,
                model=row.model,
                knowledge_bases=tuple(sorted(bases[row.trace_id])),
                topic=topic_of.get(row.trace_id),
                latencies=_present(row, LATENCY_METRICS),
                scores=scored[row.trace_id],
                fault=diagnosed[row.trace_id][0] if row.trace_id in diagnosed else None,
                probability=diagnosed[row.trace_id][1] if row.trace_id in diagnosed else 0.0,
            )
            for row in reversed(rows)
        ]

    def examples(self, project: str, trace_ids: Sequence[str]) -> list[Example]:
        """Traces with their question and the evidence of their newest diagnosis, in this order."""
        with self._database.read() as connection:
            questions = connection.execute(
                select(traces.c.trace_id, traces.c.question).where(
                    traces.c.project == project, traces.c.trace_id.in_(list(trace_ids))
                )
            )
            by_trace = {row.trace_id: row.question for row in questions}
            diagnosed = connection.execute(
                select(faults)
                .where(faults.c.project == project, faults.c.trace_id.in_(list(trace_ids)))
                .order_by(faults.c.created_at)
            )
            diagnoses = {row.trace_id: load_diagnosis(row) for row in diagnosed}
        examples = []
        for trace_id in trace_ids:
            if trace_id not in by_trace:
                continue
            question, diagnosis = by_trace[trace_id], diagnoses.get(trace_id)
            examples.append(
                Example(
                    trace_id=trace_id,
                    fault=None if diagnosis is None else diagnosis.fault,
                    probability=None if diagnosis is None else diagnosis.probability,
                    question=None if question is None else question[:_QUESTION],
                    evidence=() if diagnosis is None else diagnosis.evidence[:_EVIDENCE],
                )
            )
        return examples


def _present(row: Any, names: Iterable[str]) -> dict[str, float]:
    values = ((name, getattr(row, name)) for name in names)
    return {name: value for name, value in values if value is not None}


def _place(table: Any, project: str, part: Sequence[Any]) -> tuple[Any, ...]:
    days: set[date] = {row.day for row in part}
    return (
        table.c.project == project,
        table.c.trace_id.in_([row.trace_id for row in part]),
        table.c.day.in_(days),
    )


def _knowledge_bases(
    connection: Connection, project: str, parts: Sequence[Sequence[Any]]
) -> dict[str, set[str]]:
    """Those that each trace retrieved from."""
    bases: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        statement = select(retrievals.c.trace_id, retrievals.c.knowledge_base).where(
            *_place(retrievals, project, part), retrievals.c.knowledge_base.is_not(None)
        )
        for row in connection.execute(statement):
            bases[row.trace_id].add(row.knowledge_base)
    return bases


def _topics(connection: Connection, project: str, parts: Sequence[Sequence[Any]]) -> dict[str, str]:
    """Name of the topic of each trace that has one, or its number where it has no name."""
    topic_of: dict[str, str] = {}
    same = [trace_topics.c[name] == topics.c[name] for name in ("project", "app")]
    for part in parts:
        statement = (
            select(trace_topics.c.trace_id, trace_topics.c.topic, topics.c.name)
            .join(topics, and_(*same, trace_topics.c.topic == topics.c.id))
            .where(*_place(trace_topics, project, part))
        )
        for row in connection.execute(statement):
            topic_of[row.trace_id] = row.name or str(row.topic)
    return topic_of


def _diagnosed(
    connection: Connection, project: str, parts: Sequence[Sequence[Any]]
) -> dict[str, tuple[Fault, float]]:
    """Fault and its probability by trace, of the judge who diagnosed most of them."""
    by_judge: dict[str, dict[str, tuple[Fault, float]]] = defaultdict(dict)
    for part in parts:
        columns = (faults.c.trace_id, faults.c.judge, faults.c.fault, faults.c.probability)
        for row in connection.execute(select(*columns).where(*_place(faults, project, part))):
            by_judge[row.judge][row.trace_id] = (Fault(row.fault), row.probability)
    return max(by_judge.values(), key=len, default={})


def _scored(
    connection: Connection,
    project: str,
    parts: Sequence[Sequence[Any]],
    metrics: Collection[str],
) -> dict[str, dict[str, float]]:
    """Scores by trace, of the judge who scored most of them by the metric."""
    values: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for part in parts if metrics else ():
        columns = (scores.c.trace_id, scores.c.metric, scores.c.judge, scores.c.value)
        statement = select(*columns).where(
            *_place(scores, project, part),
            scores.c.metric.in_(sorted(metrics)),
            scores.c.superseded.is_(False),
            scores.c.value.is_not(None),
        )
        for row in connection.execute(statement):
            values[row.metric, row.judge][row.trace_id] = row.value
    most = Counter({key: len(by_trace) for key, by_trace in values.items()})
    scored: dict[str, dict[str, float]] = defaultdict(dict)
    for metric in metrics:
        judges = [key for key, _ in most.most_common() if key[0] == metric]
        for trace_id, value in values[judges[0]].items() if judges else ():
            scored[trace_id][metric] = value
    return scored
