"""Retention: old days are deleted, by age and by size, in steps that never block writers for long.

SQLite needs space to delete. The ballast is a file that is given up when the disk is full: without
it a full disk could never be emptied from inside.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, func, literal_column, select, text, tuple_

from rag_monitor.domain.stored import RetentionPolicy, RetentionReport
from rag_monitor.errors import StoreUnavailable
from rag_monitor.store import partitions, purge_horizon
from rag_monitor.store.bulk import chunks, distinct_values
from rag_monitor.store.document_tables import (
    document_conflicts,
    document_days,
    document_uses,
    documents,
)
from rag_monitor.store.engine import Database
from rag_monitor.store.erasure import IN_DOUBT, doubt_passages, settle_passages
from rag_monitor.store.failures import is_disk_full
from rag_monitor.store.feedback_tables import reported_session_scores
from rag_monitor.store.incident_tables import incident_examples, incidents
from rag_monitor.store.partitions import PARTITIONED
from rag_monitor.store.session_tables import session_outcomes, session_verdicts
from rag_monitor.store.tables import (
    alerts,
    audit,
    budgets,
    decisions,
    evaluation_tasks,
    faults,
    feedback,
    hits,
    label_claims,
    outbox,
    passages,
    replies,
    reported_scores,
    retrievals,
    rollup_blocks,
    rollups,
    scores,
    silences,
    spans,
    stale_blocks,
    topic_days,
    topic_vocabularies,
    topics,
    trace_keys,
    trace_topics,
    traces,
)

_BLOCK: Final = 2**20


class Ballast:
    """`bytes_` of real blocks in a file beside the database."""

    def __init__(self, database: Path, bytes_: int) -> None:
        self._path = database.with_name(database.name + ".ballast")
        self._bytes = bytes_

    def fill(self) -> bool:
        """Write it if it is missing; False when there is no room for it now."""
        if self._bytes <= 0 or (self._path.exists() and self._path.stat().st_size >= self._bytes):
            return True
        try:
            with self._path.open("wb") as file:
                os.fchmod(file.fileno(), 0o600)
                for _ in range(0, self._bytes, _BLOCK):
                    file.write(b"\1" * _BLOCK)
        except OSError as error:
            _LOG.warning("no room for the reserve of %d bytes: %s", self._bytes, error)
            self.drop()
            return False
        return True

    def drop(self) -> None:
        """Give the space back to the disk."""
        self._path.unlink(missing_ok=True)


_LOG: Final = logging.getLogger(__name__)
_OF_TRACE: Final = (
    *(document_uses, evaluation_tasks, faults, hits, incident_examples, retrievals, spans),
    *(trace_topics, traces, trace_keys),
)
"""Kept `traces_days`; the key goes last, so that an interrupted run is continued by the next."""
_OF_SCORES: Final = (decisions, scores)
_APP_BATCH: Final = 200
"""Traces per transaction where one app keeps less than the others."""
_SMALL_BATCH: Final = 50
"""Rows per delete on a full disk."""
_LEAST_DAYS: Final = 1
"""Retention by size never touches the newest day."""


class Retention:
    """Deletes what is older than the policy. The leader runs it; running it twice is harmless."""

    def __init__(self, database: Database, ballast: Ballast | None, partitions_ahead: int) -> None:
        self._database = database
        self._ballast = ballast
        self._ahead = partitions_ahead

    def run(self, now: datetime, policy: RetentionPolicy) -> RetentionReport:
        """Delete by age, then by size; make the partitions of the days ahead (PostgreSQL).

        On a full disk the reserve is given up first, and made again afterwards.
        """
        try:
            report = self._forget(now, policy)
        except StoreUnavailable as error:
            if self._ballast is None or not is_disk_full(error.__cause__ or error):
                raise
            _LOG.warning("the disk is full: giving up the reserve to make room for deleting")
            self._ballast.drop()
            self._checkpoint()
            report = self._forget(now, replace(policy, batch=min(policy.batch, _SMALL_BATCH)))
            self._checkpoint()
        if self._ballast is not None:
            self._ballast.fill()
        return report

    def size_bytes(self) -> int:
        """How much space the data takes; freed pages of SQLite that will be used again excluded."""
        with self._database.read() as connection:
            if self._database.is_postgresql:
                query = "SELECT pg_database_size(current_database())"
            else:
                query = (
                    "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, "
                    "pragma_freelist_count, pragma_page_size"
                )
            return int(connection.execute(text(query)).scalar_one())

    def _checkpoint(self) -> None:
        """Let the write-ahead log start over, so that deleting needs less room."""
        try:
            self._database.checkpoint()
        except StoreUnavailable as error:
            _LOG.warning("no checkpoint: %s", error)

    def _forget(self, now: datetime, policy: RetentionPolicy) -> RetentionReport:
        run = _Run(self._database, policy.batch, now.date())
        oldest_trace = now.date() - timedelta(days=policy.traces_days)
        oldest_score = now.date() - timedelta(days=policy.scores_days)
        run.traces_before(oldest_trace, now - timedelta(days=policy.traces_days))
        for app, days in policy.apps.items():
            run.app_before(app, now.date() - timedelta(days=days))
        run.settle()
        run.scores_before(oldest_score, now - timedelta(days=policy.scores_days))
        if policy.max_bytes is not None:
            self._shrink(run, now.date(), policy.max_bytes)
        if self._database.is_postgresql:
            self._database.transact(
                lambda connection: partitions.ensure(connection, now.date(), self._ahead + 1)
            )
        return RetentionReport(traces=run.traces, rows=run.rows, partitions=tuple(run.dropped))

    def _shrink(self, run: _Run, today: date, max_bytes: int) -> None:
        """Drop whole days of traces, the oldest first, until the rest fits."""
        while self.size_bytes() > max_bytes:
            with self._database.read() as connection:
                oldest = connection.execute(select(func.min(trace_keys.c.day))).scalar_one()
            if oldest is None or oldest > today - timedelta(days=_LEAST_DAYS):
                _LOG.warning("the newest day alone is larger than retention's %d bytes", max_bytes)
                return
            run.traces_before(oldest + timedelta(days=1), None)


class _Run:
    """One pass, with its counts."""

    def __init__(self, database: Database, batch: int, today: date) -> None:
        self._database = database
        self._batch = batch
        self._today = today
        self.traces = 0
        self.rows = 0
        self.dropped: list[str] = []

    def traces_before(self, cutoff: date, moment: datetime | None) -> None:
        """Forget traces of days before `cutoff`, and texts older than `moment`."""
        purge_horizon.advance(self._database, purge_horizon.EVERY_APP, cutoff, self._today)
        self._drop([table for table in _OF_TRACE if table in PARTITIONED], cutoff)
        for table in _OF_TRACE:
            removed = self._delete(table, table.c.day < cutoff)
            self.traces += removed if table is trace_keys else 0
        self._delete(passages, (passages.c.last_day < cutoff) & (passages.c.last_day != IN_DOUBT))
        for table in (document_days, document_conflicts, session_outcomes):
            self._delete(table, table.c.day < cutoff)
        if moment is not None:
            self._delete(documents, documents.c.last_seen < moment)
            self._delete(feedback, feedback.c.created_at < moment)
            self._delete(label_claims, label_claims.c.claimed_until < moment)
            for table in (reported_scores, reported_session_scores):
                self._delete(table, table.c.received_at < moment)
            self._delete(session_verdicts, session_verdicts.c.judged_at < moment)
            self._delete(replies, replies.c.created_at < moment)
            self._delete(outbox, outbox.c.created_at < moment)
            self._delete(topics, topics.c.last_seen < moment)
            self._delete(topic_vocabularies, topic_vocabularies.c.updated_at < moment)

    def app_before(self, app: str, cutoff: date) -> None:
        """Forget the traces of one app, whatever the project, of days before `cutoff`."""
        purge_horizon.advance(self._database, app, cutoff, self._today)
        with self._database.read() as connection:
            projects = distinct_values(connection, traces.c.project)
        while removed := self._database.transact(
            lambda connection: self._app_step(connection, projects, app, cutoff)
        ):
            self.traces += removed
        for table in (document_days, document_conflicts, session_outcomes):
            self._delete(table, (table.c.app == app) & (table.c.day < cutoff))
        moment = datetime(cutoff.year, cutoff.month, cutoff.day, tzinfo=UTC)
        self._delete(topics, (topics.c.app == app) & (topics.c.last_seen < moment))
        self._delete(
            topic_vocabularies,
            (topic_vocabularies.c.app == app) & (topic_vocabularies.c.updated_at < moment),
        )

    def _app_step(
        self, connection: Connection, projects: Sequence[str], app: str, cutoff: date
    ) -> int:
        rows = connection.execute(
            select(traces.c.project, traces.c.trace_id, traces.c.day, traces.c.passages)
            .where(traces.c.project.in_(projects), traces.c.app == app, traces.c.day < cutoff)
            .limit(min(self._batch, _APP_BATCH))
        ).all()
        days = {row.day for row in rows}
        for project, part in chunks((row.project, row.trace_id) for row in rows):
            # Keys first, as all others do.
            for table in (*reversed(_OF_TRACE), feedback, label_claims, reported_scores, replies):
                place = [table.c.day.in_(days)] if "day" in table.c else []
                self.rows += connection.execute(
                    delete(table).where(
                        table.c.project == project, table.c.trace_id.in_(part), *place
                    )
                ).rowcount
        for project in {row.project for row in rows}:
            named = {digest for row in rows if row.project == project for digest in row.passages}
            doubt_passages(connection, project, named)
        return len(rows)

    def settle(self) -> None:
        """Delete the passages that no trace names any more, of projects that lost traces."""
        with self._database.read() as connection:
            projects = connection.execute(
                select(passages.c.project).where(passages.c.last_day == IN_DOUBT).distinct()
            )
            in_doubt = list(projects.scalars())
        for project in in_doubt:
            self.rows += settle_passages(self._database, project)

    def scores_before(self, cutoff: date, moment: datetime) -> None:
        """Forget scores, rollups, closed alerts and incidents, and who changed what."""
        self._drop(list(_OF_SCORES), cutoff)
        for table in _OF_SCORES:
            self._delete(table, table.c.day < cutoff)
        self._delete(budgets, budgets.c.day < cutoff)
        self._delete(topic_days, topic_days.c.date < cutoff)
        # Whole days: a block that has lost some of its minutes would be a wrong sum.
        midnight = datetime(cutoff.year, cutoff.month, cutoff.day, tzinfo=UTC)
        for table in (rollups, rollup_blocks, stale_blocks):
            self._delete(table, table.c.minute < midnight)
        self._delete(silences, silences.c.ends_at < moment)
        self._delete(audit, audit.c.at < moment)
        closed = ("resolved", "inactive")
        self._delete(alerts, (alerts.c.started_at < moment) & alerts.c.state.in_(closed))
        self._delete(incidents, incidents.c.ended_at < moment)

    def _drop(self, tables: Sequence[Table], cutoff: date) -> None:
        if self._database.is_postgresql:
            self.dropped += self._database.transact(
                lambda connection: partitions.drop_before(connection, tables, cutoff)
            )

    def _delete(self, table: Table, condition: Any) -> int:
        """Delete in batches, each its own transaction."""
        removed = 0
        step = self._step(table, condition)
        while count := step():
            removed += count
        self.rows += removed
        return removed

    def _step(self, table: Table, condition: Any) -> Callable[[], int]:
        # Both databases name a row's place: rowid, and on PostgreSQL tableoid with ctid.
        if self._database.is_postgresql:
            place: Any = literal_column("ctid")
            if table in PARTITIONED:
                return self._default_step(table, condition)
        else:
            place = literal_column("rowid")
        victims = select(place).select_from(table).where(condition).limit(self._batch)
        statement = delete(table).where(place.in_(victims))
        return lambda: self._database.transact(
            lambda connection: connection.execute(statement).rowcount
        )

    def _default_step(self, table: Table, condition: Any) -> Callable[[], int]:
        """Whole partitions were dropped: what is left lies in the default one, found by key."""
        keys = list(table.primary_key.columns)
        victims = select(*keys).where(condition).limit(self._batch)
        statement = delete(table).where(tuple_(*keys).in_(victims), condition)
        return lambda: self._database.transact(
            lambda connection: connection.execute(statement).rowcount
        )
