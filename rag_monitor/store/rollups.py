"""Per-minute sums: which are stale, what they are made of, and reading them back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, and_, delete, or_, select

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.feedback import Feedback, labels_of, satisfaction_of
from rag_monitor.domain.rollup import SATISFACTION_METRIC, Rollup, RollupQuery, TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import ChangedMinute, StaleBlock
from rag_monitor.store import bulk, purge_horizon, rollup_changes, rollup_tiers
from rag_monitor.store.annotations import load_feedback
from rag_monitor.store.engine import Database
from rag_monitor.store.fault_rows import load_probabilities
from rag_monitor.store.purge_horizon import PurgeHorizon
from rag_monitor.store.rollup_rows import columns_of, dump_rollup, load_rollups
from rag_monitor.store.score_rows import load_score
from rag_monitor.store.tables import decisions, dirty_minutes, rollups, scores, traces
from rag_monitor.store.trace_reads import load_hits
from rag_monitor.store.trace_rows import from_rows

_LEFT_OUT: Final = frozenset(
    {"question", "answer", "context_block", "contexts", "passages", "search"}
)
_MINUTE: Final = timedelta(minutes=1)
_LOOKUP: Final = 500
_PLACES: Final = _LOOKUP // 5
"""Minutes of apps per statement."""

_Place = tuple[str, str, datetime]
"""Project, app and minute."""


class Rollups:
    """The table that dashboards and detectors read."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def changed(self, limit: int = 500) -> list[ChangedMinute]:
        """Minutes to recompute, longest stale first.

        Read together with `facts` (see `Store.reading`), they say which counts of single batches
        the facts hold already.
        """
        with self._database.read() as connection:
            rows = connection.execute(
                select(dirty_minutes).order_by(dirty_minutes.c.marked_at).limit(limit)
            ).all()
            added = _added(connection, rows)
        return [
            ChangedMinute(
                project=row.project,
                app=row.app,
                minute=row.minute,
                version=row.version,
                added=frozenset(added[row.project, row.app, row.minute]),
            )
            for row in rows
        ]

    def mark_changed(self, places: Iterable[tuple[str, str, datetime]], now: datetime) -> None:
        """Have minutes (project, app, start of the minute) computed again."""
        minutes = list(places)
        self._database.transact(
            lambda connection: rollup_changes.mark_changed(connection, minutes, now)
        )

    def facts(self, dirty: Sequence[ChangedMinute]) -> list[TraceFacts]:
        """The traces of those minutes, without texts and passages, with their current scores.

        Those that arrived on a day whose traces retention deletes are left out: what the rollups
        say of such a day stands.
        """
        lasting: list[TraceFacts] = []
        today = self._clock.now().date()
        with self._database.read() as connection:
            read = _facts_of(connection, dirty)
            # Read after the traces: what is not forgotten by now was there to be read.
            gone = purge_horizon.load(connection, today)
            for item in dirty:
                facts = read.get((item.project, item.app, item.minute), [])
                before = gone.before(item.app)
                lasting += facts if before is None else _lasting(connection, item, facts, before)
        return lasting

    def replace(self, dirty: Sequence[ChangedMinute], rollups: Sequence[Rollup]) -> None:
        """Write the rollups of those minutes in place of what is there; one transaction.

        A mark that changed since `dirty` was read stays, so that the minute is computed again. A
        minute that is marked no more was computed by another worker meanwhile: it is left alone.
        """
        if dirty:
            self._database.transact(
                lambda connection: _replace(connection, dirty, rollups, self._clock.now())
            )

    def load(self, query: RollupQuery) -> list[Rollup]:
        """The rollups by minute."""
        table, window = rollups.c, query.window
        statement = select(*columns_of(rollups)).where(
            table.project == query.project,
            table.minute >= window.start,
            table.minute < window.end,
            *(rollup_tiers.has(table[name], value) for name, value in _filters(query).items()),
            *([rollup_tiers.has(table.app, apps)] if (apps := _apps(query)) else []),
        )
        with self._database.read() as connection:
            return load_rollups(connection.execute(statement.order_by(table.minute)).all())

    def load_sums(self, query: RollupQuery, step: timedelta | None = None) -> list[Rollup]:
        """As `load`, in no order, with the minutes of each key added up.

        With a step no row reaches over the end of one; steps begin with the window.

        Raises:
            ValueError: No app is named: blocks are built app by app.
        """
        apps = _apps(query)
        if not apps:
            raise ValueError("sums are read by app; name some, or use `load`")
        window = query.window
        start = rollup_tiers.ceil_to(window.start, 1)
        lengths = rollup_tiers.tiers_for(window.start, step)
        with self._database.read() as connection:
            return rollup_tiers.load_sums(
                connection,
                query.project,
                apps,
                start,
                rollup_tiers.ceil_to(window.end, 1),
                lengths,
                _filters(query),
                None if step is None else (window.start, step),
            )

    def stale(self, now: datetime, limit: int = 50) -> list[StaleBlock]:
        """Blocks to build: over, and quiet for long enough."""
        with self._database.read() as connection:
            return rollup_tiers.due(connection, now, limit)

    def parts(self, block: StaleBlock) -> list[Rollup]:
        """Rollups of shorter blocks and minutes that add up to `block`."""
        shorter = [minutes for minutes in rollup_tiers.TIERS if minutes < block.minutes]
        end = block.minute + block.minutes * _MINUTE
        with self._database.read() as connection:
            return rollup_tiers.load_sums(
                connection, block.project, [block.app], block.minute, end, shorter, {}
            )

    def put_blocks(self, built: Sequence[tuple[StaleBlock, Sequence[Rollup]]]) -> int:
        """Save the sums of blocks; returns how many were not marked anew since they were read."""
        return self._database.transact(
            lambda connection: sum(
                rollup_tiers.save(connection, block, sums) for block, sums in built
            )
        )


def _apps(query: RollupQuery) -> Sequence[str]:
    """The apps that are asked for; none: all."""
    return query.apps if query.app is None else (query.app,)


def _filters(query: RollupQuery) -> dict[str, str | Sequence[str]]:
    """The columns that must have a value, or one of several; all but the app's."""
    filters = {name: getattr(query, name) for name in ("metric", "release", "judge")}
    if query.metric is None and query.metrics:
        filters["metric"] = query.metrics
    return {name: value for name, value in filters.items() if value is not None}


def _added(connection: Connection, minutes: Sequence[Any]) -> dict[_Place, set[int]]:
    """The batches whose traces are counted one by one in those minutes."""
    batches: dict[_Place, set[int]] = defaultdict(set)
    for start in range(0, len(minutes), _PLACES):
        here = _same_minutes(rollups, minutes[start : start + _PLACES])
        columns = (rollups.c.project, rollups.c.app, rollups.c.minute, rollups.c.added)
        for project, app, minute, batch in connection.execute(
            select(*columns).where(here, rollups.c.added.is_not(None))
        ):
            batches[project, app, minute].add(batch)
    return batches


def _facts_of(
    connection: Connection, items: Sequence[ChangedMinute]
) -> dict[_Place, list[TraceFacts]]:
    """The traces of those minutes; of many apps together, for most may have only a few."""
    columns = [column for column in traces.c if column.name not in _LEFT_OUT]
    facts: dict[_Place, list[TraceFacts]] = defaultdict(list)
    by_project: dict[str, list[ChangedMinute]] = defaultdict(list)
    for item in items:
        by_project[item.project].append(item)
    for project, mine in by_project.items():
        for first in range(0, len(mine), _PLACES):
            # All that is asked stands in every part, as in `rollup_tiers.load_sums`.
            here = (
                and_(
                    traces.c.project == project,
                    traces.c.app == item.app,
                    traces.c.started_at >= item.minute,
                    traces.c.started_at < item.minute + _MINUTE,
                )
                for item in mine[first : first + _PLACES]
            )
            rows = connection.execute(select(*columns).where(or_(*here)))
            for part in rows.partitions(_LOOKUP):
                for fact in _with_scores(connection, project, part):
                    minute = fact.trace.started_at.replace(second=0, microsecond=0)
                    facts[project, fact.trace.app, minute].append(fact)
    return facts


def _lasting(
    connection: Connection, item: ChangedMinute, facts: Sequence[TraceFacts], before: date
) -> list[TraceFacts]:
    """Without the traces that rows of forgotten days count."""
    kept = [fact for fact in facts if fact.day is None or fact.day >= before]
    if not kept or item.minute.date() >= before:
        return kept
    ids = [fact.trace.trace_id for fact in kept]
    counted = purge_horizon.counted_before(connection, item.project, ids, before)
    return [fact for fact in kept if fact.trace.trace_id not in counted]


def _with_scores(connection: Connection, project: str, rows: Sequence[Any]) -> list[TraceFacts]:
    ids = [row.trace_id for row in rows]
    days = {row.day for row in rows}
    columns = [column for column in scores.c if column.name != "verdicts"]
    scores_by_trace: dict[str, list[Score]] = defaultdict(list)
    for row in connection.execute(
        select(*columns).where(
            scores.c.project == project,
            scores.c.trace_id.in_(ids),
            scores.c.day.in_(days),
            scores.c.superseded.is_(False),
        )
    ):
        scores_by_trace[row.trace_id].append(load_score(row))
    probabilities: dict[str, dict[str, float]] = defaultdict(dict)
    for row in connection.execute(
        select(decisions.c.trace_id, decisions.c.judge, decisions.c.probability).where(
            decisions.c.project == project,
            decisions.c.trace_id.in_(ids),
            decisions.c.day.in_(days),
        )
    ):
        probabilities[row.trace_id][row.judge] = row.probability
    called = load_hits(connection, project, ids, days)
    diagnosed = load_probabilities(connection, project, ids, days)
    marks = load_feedback(connection, project, ids)
    return [
        TraceFacts(
            trace=from_rows(row, hits=called[row.trace_id]),
            scores=(
                *scores_by_trace[row.trace_id],
                *_satisfaction(marks.get(row.trace_id, ())),
            ),
            probabilities=probabilities[row.trace_id],
            labels=labels_of(marks.get(row.trace_id, ())),
            faults=diagnosed.get(row.trace_id, {}),
            received_at=row.received_at,
            day=row.day,
        )
        for row in rows
    ]


def _satisfaction(annotations: Sequence[Feedback]) -> Iterator[Score]:
    """What users say of an answer, as a score that no judge gave."""
    value = satisfaction_of(annotations)
    if value is not None:
        yield Score(metric=SATISFACTION_METRIC, status=ScoreStatus.SCORED, value=value)


def _replace(
    connection: Connection,
    dirty: Sequence[ChangedMinute],
    computed: Sequence[Rollup],
    now: datetime,
) -> None:
    ordered = sorted(dirty, key=lambda item: (item.project, item.app, item.minute))
    standing: set[_Place] = set()
    gone = purge_horizon.load(connection, now.date())
    for start in range(0, len(ordered), _PLACES):
        standing |= _clear(connection, ordered[start : start + _PLACES], gone)
    # A minute without a mark was recomputed by somebody else since it was read here: what they
    # wrote is newer. Whoever was held up in between must not put the older numbers back.
    computed = [
        row for row in computed if (row.key.project, row.key.app, row.key.minute) in standing
    ]
    rows = [dump_rollup(rollup) | {"arrived": rollup.key.arrived} for rollup in computed]
    bulk.upsert(connection, rollups, rows)
    rollup_tiers.invalidate(connection, standing, now)


def _clear(
    connection: Connection, part: Sequence[ChangedMinute], gone: PurgeHorizon
) -> set[_Place]:
    """Delete the rollups and marks of minutes that are still marked; returns those minutes.

    Rollups of days whose traces are gone stay.
    """
    # Two workers on one minute follow one another.
    marked = {
        (row.project, row.app, row.minute)
        for row in connection.execute(
            select(dirty_minutes)
            .where(_same_minutes(dirty_minutes, part))
            .order_by(*dirty_minutes.primary_key.columns)
            .with_for_update()
        )
    }
    present = [item for item in part if (item.project, item.app, item.minute) in marked]
    if present:
        counted = sorted({batch for item in present for batch in item.added})
        parts = [counted[start : start + _LOOKUP] for start in range(0, len(counted), _LOOKUP)]
        for (project, app), minutes in _by_app(present).items():
            old = purge_horizon.replaceable(connection, project, app, minutes, gone.before(app))
            connection.execute(delete(rollups).where(old, rollups.c.added.is_(None)))
            for batches in parts:  # those that came since are counted by their own rows
                connection.execute(delete(rollups).where(old, rollups.c.added.in_(batches)))
        # Versions are random: among these minutes, one that is equal belongs to its minute.
        unchanged = dirty_minutes.c.version.in_([item.version for item in present])
        connection.execute(
            delete(dirty_minutes).where(_same_minutes(dirty_minutes, present), unchanged)
        )
    return marked


def _same_minutes(table: Any, items: Sequence[ChangedMinute]) -> Any:
    return or_(
        *(
            and_(table.c.project == project, table.c.app == app, table.c.minute.in_(minutes))
            for (project, app), minutes in _by_app(items).items()
        )
    )


def _by_app(items: Sequence[ChangedMinute]) -> dict[tuple[str, str], list[datetime]]:
    minutes: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for item in items:
        minutes[item.project, item.app].append(item.minute)
    return minutes
