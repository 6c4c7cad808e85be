"""Traces: saved from derivation, found again by every filter of the API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    exists,
    func,
    or_,
    select,
)

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import TRACES_METRIC
from rag_monitor.domain.stored import (
    AppSummary,
    AppTraffic,
    ErasureReport,
    PendingTrace,
    ReleaseStart,
    StoredTrace,
    TimedTrace,
    TracePage,
    TraceQuery,
    TraceSummary,
)
from rag_monitor.domain.trace import Trace
from rag_monitor.domain.window import Window
from rag_monitor.errors import NotFound
from rag_monitor.store import (
    derivation,
    fault_stages,
    listing,
    question_index,
    term_backfill,
    trace_finder,
    trace_terms,
    traffic,
)
from rag_monitor.store.annotations import load_feedback, load_reported
from rag_monitor.store.bulk import distinct_values, skip_scan
from rag_monitor.store.engine import Database
from rag_monitor.store.erasure import erase_user
from rag_monitor.store.fault_rows import load_diagnoses, most_at_fault
from rag_monitor.store.names import Names
from rag_monitor.store.rollup_tiers import TIERS
from rag_monitor.store.score_rows import load_decision, load_score
from rag_monitor.store.tables import decisions, faults, hits, rollup_blocks, scores, traces
from rag_monitor.store.trace_reads import load_traces

MAX_PAGE: Final = 1000
_A_DAY: Final = timedelta(days=1)


class Traces:
    """Traces of all projects; every question names one, and another's trace is not found."""

    def __init__(self, database: Database, clock: Clock, names: Names) -> None:
        self._database = database
        self._clock = clock
        self._names = names

    def save_derived(self, derived: Sequence[tuple[PendingTrace, Trace | None]]) -> int:
        """Save derived traces in one transaction; returns how many are new or changed.

        None as a trace: the evidence is not a counted request. A trace whose content changed gets a
        new revision, a new evaluation task, and its older scores leave the estimates. Names for
        which the project has no room are folded.
        """
        if not derived:
            return 0
        prepared = derivation.prepare(self._names.fitted(derived))
        return self._database.transact(
            lambda connection: derivation.save(connection, prepared, self._clock.now)
        )

    def index_questions(self, limit: int = 200) -> int:
        """Make questions that older releases saved known to the search; returns how many."""
        return self._index(traces.c.search, question_index.index_older, limit)

    def index_terms(self, limit: int = 200) -> int:
        """Make what traces of older releases carry known to the filters; returns how many."""
        return self._index(traces.c.terms, term_backfill.index_older, limit)

    def _index(
        self, column: Column[Any], index_older: Callable[[Connection, int], int], limit: int
    ) -> int:
        # First a look without a write transaction: mostly there is nothing to do.
        waiting = select(traces.c.trace_id).where(column.is_(None)).limit(1)
        with self._database.read() as connection:
            if connection.execute(waiting).first() is None:
                return 0
        return self._database.transact(lambda connection: index_older(connection, limit))

    def get(self, project: str, trace_id: str) -> StoredTrace:
        """A trace with all that is known about it.

        Raises:
            NotFound: This project has no such trace.
        """
        with self._database.read() as connection:
            loaded = load_traces(connection, [(project, trace_id)]).get((project, trace_id))
            if loaded is None:
                raise NotFound(
                    "project {project!r} has no trace {trace_id!r}",
                    project=project,
                    trace_id=trace_id,
                )
            row, trace = loaded
            marks = connection.execute(
                select(scores).where(_same_trace(scores, row), scores.c.superseded.is_(False))
            ).all()
            decided = connection.execute(
                select(decisions).where(_same_trace(decisions, row)).order_by(decisions.c.judge)
            ).all()
            diagnosed = connection.execute(
                select(faults).where(_same_trace(faults, row)).order_by(faults.c.created_at.desc())
            ).all()
            diagnoses = load_diagnoses(connection, project, diagnosed)
            remarks = load_feedback(connection, project, [trace_id])
            reported = load_reported(connection, project, trace_id)
        return StoredTrace(
            trace=trace,
            received_at=row.received_at,
            # Ordered here: SQLite would walk all scores of the project for the sake of the order.
            scores=tuple(
                load_score(item) for item in sorted(marks, key=lambda row: (row.metric, row.judge))
            ),
            feedback=tuple(remarks.get(trace_id, ())),
            decisions=tuple(load_decision(item) for item in decided),
            reported=tuple(reported),
            faults=tuple(diagnoses),
        )

    def load(self, project: str, trace_ids: Sequence[str]) -> list[Trace]:
        """Whole traces, in the order asked; what is not there is left out."""
        keys = [(project, trace_id) for trace_id in trace_ids]
        with self._database.read() as connection:
            loaded = load_traces(connection, keys)
        return [loaded[key][1] for key in keys if key in loaded]

    def summaries(self, project: str, trace_ids: Sequence[str]) -> list[TraceSummary]:
        """What a list shows of traces, in the order asked; what is not there is left out.

        Reads neither passages nor verdicts, and asks the database three times per 500 ids.
        """
        with self._database.read() as connection:
            by_trace = listing.by_id(connection, project, trace_ids)
        return [by_trace[trace_id] for trace_id in trace_ids if trace_id in by_trace]

    def search(self, query: TraceQuery) -> TracePage:
        """One page of traces, in the order asked for.

        Raises:
            MalformedPayload: The cursor is not one this store handed out, or one of another order.
        """
        limit = max(1, min(query.limit, MAX_PAGE))
        with self._database.read() as connection:
            page = trace_finder.find(
                connection, query, limit, postgresql=self._database.is_postgresql
            )
            rows = listing.rows_of(connection, query.project, page.keys)
            items = listing.summaries(connection, query.project, rows)
            waiting = trace_terms.indexed_since(connection, query)
        return TracePage(
            items=tuple(items),
            next_cursor=page.next_cursor,
            looked_back_to=page.looked_back_to,
            partial=page.partial,
            indexed_since=waiting,
        )

    def projects(self) -> list[str]:
        """Every project with traces, by name."""
        with self._database.read() as connection:
            return distinct_values(connection, traces.c.project)

    def app_names(self, project: str) -> list[str]:
        """The applications with traces, by name."""
        with self._database.read() as connection:
            return distinct_values(connection, traces.c.app, traces.c.project == project)

    def apps(self, project: str) -> list[AppSummary]:
        """The applications with traces, or with numbers of traces that are forgotten, by name.

        Reads a few index pages per application.
        """
        with self._database.read() as connection:
            rows = connection.execute(_app_summaries(project)).mappings()
            by_name = {row["app"]: AppSummary(**row) for row in rows}
            for app, last in traffic.last_minutes(connection, project).items():
                by_name.setdefault(app, AppSummary(app=app, last_seen=last, kept=False))
        return sorted(by_name.values(), key=lambda summary: summary.app)

    def traffic(self, project: str, window: Window) -> list[AppTraffic]:
        """Every application with numbers, the busiest of the window first, then the newest.

        Reads a few index entries per application.
        """
        with self._database.read() as connection:
            return traffic.by_app(connection, project, window, self._clock.now())

    def last_seen(
        self, project: str, apps: Sequence[str], until: datetime, release: str | None
    ) -> dict[str, datetime]:
        """When the newest trace before `until` began, by app; those without one are left out.

        Args:
            project: Tenant.
            apps: Applications. Where their traces are forgotten the minute is all that is known.
            until: Exclusive.
            release: Only traces of it; None: of any.
        """
        with self._database.read() as connection:
            return traffic.last_seen(connection, project, apps, until, release)

    def newest(self, project: str, since: datetime, limit: int) -> list[TimedTrace]:
        """The newest traces that began since then, newest first, without what they hold."""
        with self._database.read() as connection:
            return traffic.newest(connection, project, since, limit)

    def fault_stages(
        self, project: str, app: str, window: Window, release: str | None = None
    ) -> fault_stages.StageCounts:
        """How many of an app's newest traces each stage was at fault in."""
        with self._database.read() as connection:
            return fault_stages.by_stage(connection, project, app, window, release)

    def releases(self, project: str, app: str) -> list[str]:
        """The releases of an app, the one seen most recently first.

        Those whose traces are forgotten come last: their numbers can still be compared.
        """
        starts = self.release_starts(project, app)
        newest = sorted(starts, key=lambda start: start.last_seen, reverse=True)
        with self._database.read() as connection:
            past = list(connection.execute(_past_releases(project, app)).scalars())
        return list(dict.fromkeys([*(start.release for start in newest), *past]))

    def release_starts(
        self, project: str, app: str, since: datetime | None = None
    ) -> list[ReleaseStart]:
        """When each release appeared, by name. Reads a few index entries per release.

        Args:
            project: Tenant.
            app: Application.
            since: Leave out releases that were not seen since; on PostgreSQL fewer days are then
                looked into.
        """
        days = since if self._database.is_postgresql else None
        with self._database.read() as connection:
            rows = connection.execute(_release_starts(project, app, days)).mappings()
            starts = sorted((ReleaseStart(**row) for row in rows), key=lambda row: row.release)
        return [start for start in starts if since is None or start.last_seen >= since]

    def worst(
        self,
        project: str,
        app: str,
        metric: str,
        window: Window,
        limit: int = 5,
        knowledge_base: str | None = None,
    ) -> list[str]:
        """Ids of the traces with the lowest current scores of `metric`, the lowest first.

        Of the share of a fault those that have it, the most probable first; of the share without
        one those that have any. With a knowledge base only those that it gave passages to.
        """
        fault = FAULT_METRICS.get(metric)
        if fault is not None:
            statement = most_at_fault(project, app, fault, window, limit)
            if knowledge_base is not None:
                statement = statement.where(_gave_passages(knowledge_base, faults))
            with self._database.read() as connection:
                return list(connection.execute(statement).scalars())
        lowest = func.min(scores.c.value)
        statement = (
            select(scores.c.trace_id)
            .where(
                scores.c.project == project,
                scores.c.app == app,
                scores.c.metric == metric,
                scores.c.started_at >= window.start,
                scores.c.started_at < window.end,
                scores.c.superseded.is_(False),
                scores.c.value.is_not(None),
            )
            .group_by(scores.c.trace_id)
            .order_by(lowest, scores.c.trace_id)
            .limit(limit)
        )
        if knowledge_base is not None:
            statement = statement.where(_gave_passages(knowledge_base))
        with self._database.read() as connection:
            return list(connection.execute(statement).scalars())

    def erase_user(self, project: str, user_id: str) -> ErasureReport:
        """Remove everything of one user.

        Evidence, traces, scores (other tools', too), feedback, cached replies, outbox text, and
        the passages that nobody else's trace names.
        """
        return erase_user(self._database, project, user_id, self._clock.now())


def _release_starts(project: str, app: str, since: datetime | None) -> Select[Any]:
    of_app = (traces.c.project == project, traces.c.app == app)
    # Partitions are left out by it; SQLite has none, and would read every trace to check the day.
    # A day to spare for clocks that are wrong.
    arrived = () if since is None else (traces.c.day >= since.astimezone(UTC).date() - _A_DAY,)
    names = skip_scan(traces.c.release, *of_app, *arrived)
    ends = [
        select(end(traces.c.started_at))
        .where(*of_app, *days, traces.c.release == names.c.value)
        .scalar_subquery()
        .label(name)
        for name, end, days in (("first_seen", func.min, ()), ("last_seen", func.max, arrived))
    ]
    return select(names.c.value.label("release"), *ends).where(names.c.value.is_not(None))


def _app_summaries(project: str) -> Select[Any]:
    """Name, and when the last trace began."""
    names = skip_scan(traces.c.app, traces.c.project == project)
    of_app = (traces.c.project == project, traces.c.app == names.c.value)
    last = select(func.max(traces.c.started_at)).where(*of_app).scalar_subquery()
    return select(names.c.value.label("app"), last.label("last_seen")).where(
        names.c.value.is_not(None)
    )


def _past_releases(project: str, app: str) -> Select[Any]:
    """Releases by the sums of whole days: a row a day and release, not one a minute."""
    day = rollup_blocks.c
    return (
        select(day.release)
        .where(
            day.project == project,
            day.app == app,
            day.metric == TRACES_METRIC,
            day.minutes == max(TIERS),
            day.release != "",
        )
        .group_by(day.release)
        .order_by(func.max(day.minute).desc(), day.release)
    )


def _gave_passages(knowledge_base: str, table: Table = scores) -> ColumnElement[bool]:
    """Whether a hit of that knowledge base succeeded and was not empty in the trace of a row."""
    return exists().where(
        hits.c.project == table.c.project,
        hits.c.trace_id == table.c.trace_id,
        hits.c.day == table.c.day,
        hits.c.kind == HitKind.KNOWLEDGE_BASE.value,
        hits.c.name == knowledge_base,
        hits.c.ok,
        or_(hits.c["items"].is_(None), hits.c["items"] != 0),
    )


def _same_trace(table: Any, row: Any) -> Any:
    return and_(
        table.c.project == row.project,
        table.c.trace_id == row.trace_id,
        table.c.day == row.day,
    )
