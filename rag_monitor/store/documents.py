"""Documents of knowledge bases: counted as traces are judged, read day by day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Select, false, func, select

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.document import (
    ConflictCounts,
    DocumentCounts,
    DocumentInfo,
    DocumentKey,
    DocumentKind,
)
from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.score import Score
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import StoreError
from rag_monitor.i18n import Message
from rag_monitor.store.bulk import LOOKUP, Key, chunks, distinct_values
from rag_monitor.store.cursors import Cursors
from rag_monitor.store.document_counts import Counted, fold_days, save_uses
from rag_monitor.store.document_rows import APP_TOTAL, COLUMNS, load_shares
from rag_monitor.store.document_tables import document_conflicts, document_days, documents
from rag_monitor.store.engine import Database
from rag_monitor.store.fault_rows import load_diagnosis
from rag_monitor.store.score_rows import load_score
from rag_monitor.store.tables import faults, scores
from rag_monitor.store.trace_reads import days_of, load_decisions, load_traces

MOST_ROWS: Final = 150_000
"""Rows of days that one answer is added up from."""
MAX_CONFLICTS: Final = 1_000
"""Pairs of documents that one answer is made of, the most frequent first."""


class TooManyDocumentsError(StoreError):
    """More rows than one answer is made of: name a knowledge base, or fewer days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTrace:
    """A trace with all that its documents are counted by."""

    trace: Trace
    scores: tuple[Score, ...]
    """Current ones of the metrics asked for, with their verdicts."""
    probabilities: dict[str, float]
    """Of having been judged, by the name of the judge."""
    diagnoses: tuple[Diagnosis, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuery:
    """Which counts to add up."""

    project: str
    first: date
    last: date
    """Inclusive, UTC."""
    app: str | None = None
    knowledge_base: str | None = None


class Documents(Cursors):
    """Counts of all projects; every question names one."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock

    def judged(
        self, after: datetime, until: datetime, limit: int
    ) -> tuple[list[Key], datetime | None]:
        """Traces with scores that were made after `after` and no later than `until`.

        About `limit` scores are looked at, the oldest first. Returns the traces, and up to when
        they were made; None: there is none.
        """
        made = scores.c.created_at
        new = (made > after, made <= until, scores.c.superseded == false())
        first = select(made).where(*new).order_by(made).limit(limit).subquery()
        with self._database.read() as connection:
            last = connection.execute(select(func.max(first.c.created_at))).scalar_one()
            if last is None:
                return [], None
            rows = connection.execute(
                select(scores.c.project, scores.c.trace_id)
                .where(made > after, made <= last, scores.c.superseded == false())
                .distinct()
            )
            return [(row.project, row.trace_id) for row in rows], last

    def load(self, keys: Sequence[Key], metrics: Collection[str]) -> dict[Key, JudgedTrace]:
        """Those traces with what their documents are counted by; what is not there is left out."""
        by_trace: dict[Key, list[Score]] = defaultdict(list)
        diagnosed: dict[Key, list[Diagnosis]] = defaultdict(list)
        with self._database.read() as connection:
            loaded = load_traces(connection, keys)
            decisions = load_decisions(connection, keys)
            for project, trace_ids in chunks(keys):
                days = days_of(connection, project, trace_ids)
                current = connection.execute(
                    select(scores).where(
                        *_of(scores, project, trace_ids, days),
                        scores.c.metric.in_(metrics),
                        scores.c.superseded == false(),
                    )
                )
                for row in current:
                    by_trace[project, row.trace_id].append(load_score(row))
                for row in connection.execute(
                    select(faults).where(*_of(faults, project, trace_ids, days))
                ):
                    diagnosed[project, row.trace_id].append(load_diagnosis(row))
        return {
            key: JudgedTrace(
                trace=trace,
                scores=tuple(by_trace[key]),
                probabilities={d.judge: d.probability for d in decisions.get(key, ())},
                diagnoses=tuple(diagnosed[key]),
            )
            for key, (_, trace) in loaded.items()
        }

    def save(self, counted: dict[Key, Counted]) -> int:
        """Count traces, in place of what they were counted as; returns how many changed."""
        today = self._clock.now().date()
        return self._database.transact(
            lambda connection: save_uses(self._database, connection, counted, today)
        )

    def fold(self) -> int:
        """Count the less retrieved documents of days that are over together."""
        return fold_days(self._database, self._clock.now().date())

    def knowledge_bases(self, project: str) -> list[str]:
        """Those with documents, by name; the empty name: documents of which none is named."""
        with self._database.read() as connection:
            return distinct_values(
                connection, document_days.c.knowledge_base, document_days.c.project == project
            )

    def counts(self, query: DocumentQuery) -> list[DocumentCounts]:
        """What became of each document, by app and judge, with the total of each app.

        Raises:
            TooManyDocumentsError: More rows than one answer is made of.
        """
        table = document_days.c
        where = _where(query)
        if query.knowledge_base is not None:
            is_total = (table.knowledge_base == "") & (table.kind == APP_TOTAL.kind.value)
            where += [
                table.knowledge_base.in_({query.knowledge_base, ""}),
                (table.knowledge_base == query.knowledge_base) | is_total,
            ]
        by = (table.knowledge_base, table.app, table.kind, table.document, table.judge)
        sums = [func.sum(table[name]).label(name) for name in COLUMNS]
        with self._database.read() as connection:
            some = select(table.day).where(*where).limit(MOST_ROWS + 1).subquery()
            if connection.execute(select(func.count()).select_from(some)).scalar_one() > MOST_ROWS:
                raise TooManyDocumentsError(
                    Message("too many documents: name a knowledge base, or fewer days")
                )
            rows = connection.execute(select(*by, *sums).where(*where).group_by(*by)).all()
        return [
            DocumentCounts(
                key=DocumentKey(row.knowledge_base, DocumentKind(row.kind), row.document),
                app=row.app,
                judge=row.judge,
                retrieved=int(row.retrieved),
                ranks=int(row.ranks),
                in_context=int(row.in_context),
                shares=load_shares(row) if row.judge else {},
            )
            for row in rows
        ]

    def infos(self, project: str, keys: Iterable[DocumentKey]) -> dict[DocumentKey, DocumentInfo]:
        """What is known of documents apart from counts; nothing of those that are gone."""
        grouped: dict[tuple[str, DocumentKind], list[str]] = defaultdict(list)
        for key in keys:
            grouped[key.knowledge_base, key.kind].append(key.document)
        by_key: dict[DocumentKey, DocumentInfo] = {}
        table = documents.c
        with self._database.read() as connection:
            for (base, kind), names in grouped.items():
                for start in range(0, len(names), LOOKUP):
                    statement = select(documents).where(
                        table.project == project,
                        table.knowledge_base == base,
                        table.kind == kind.value,
                        table.document.in_(names[start : start + LOOKUP]),
                    )
                    for row in connection.execute(statement):
                        by_key[DocumentKey(base, kind, row.document)] = DocumentInfo(
                            title=row.title,
                            updated_at=row.updated_at,
                            version=row.version,
                            effective_date=row.effective_date,
                            passage=row.passage,
                            last_seen=row.last_seen,
                        )
        return by_key

    def conflicts(self, query: DocumentQuery) -> list[ConflictCounts]:
        """Pairs that stood in one context with different values, the most frequent first."""
        with self._database.read() as connection:
            rows = connection.execute(_conflicts(query)).all()
        return [
            ConflictCounts(
                used=DocumentKey(row.knowledge_base, DocumentKind(row.kind), row.document),
                other=DocumentKey(
                    row.other_knowledge_base, DocumentKind(row.other_kind), row.other
                ),
                traces=int(row.traces),
                outdated=int(row.outdated),
                trace_id=row.trace_id,
            )
            for row in rows
        ]


def _conflicts(query: DocumentQuery) -> Select[Any]:
    table = document_conflicts.c
    by = [
        table[name]
        for name in (
            "knowledge_base", "kind", "document", "other_knowledge_base", "other_kind", "other",
        )
    ]  # fmt: skip
    where = [
        table.project == query.project,
        table.day >= query.first,
        table.day <= query.last,
    ]
    if query.app is not None:
        where.append(table.app == query.app)
    if query.knowledge_base is not None:
        base = query.knowledge_base
        where.append((table.knowledge_base == base) | (table.other_knowledge_base == base))
    total = func.sum(table.traces)
    return (
        select(
            *by,
            total.label("traces"),
            func.sum(table.outdated).label("outdated"),
            func.max(table.trace_id).label("trace_id"),
        )
        .where(*where)
        .group_by(*by)
        .order_by(total.desc(), *by)
        .limit(MAX_CONFLICTS)
    )


def _where(query: DocumentQuery) -> list[Any]:
    table = document_days.c
    where = [table.project == query.project, table.day >= query.first, table.day <= query.last]
    if query.app is not None:
        where.append(table.app == query.app)
    return where


def _of(table: Any, project: str, trace_ids: Sequence[str], days: Collection[Any]) -> list[Any]:
    return [table.c.project == project, table.c.trace_id.in_(trace_ids), table.c.day.in_(days)]
