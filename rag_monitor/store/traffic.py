"""How busy applications are, and their newest traces: what a list of many begins with.

Cheap by construction: a few looks into an index per application, no row of any trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Integer, cast, func, literal, select

from rag_monitor.domain.rollup import TRACES_METRIC
from rag_monitor.domain.stored import AppTraffic, TimedTrace
from rag_monitor.domain.window import Window
from rag_monitor.store import rollup_tiers
from rag_monitor.store.bulk import skip_scan
from rag_monitor.store.tables import rollup_blocks, rollups, traces

_UNBUILT: Final = timedelta(hours=3)
"""Hours and days that ended so recently may not be added up yet: their minutes are."""
_MINUTE: Final = timedelta(minutes=1)
_TIMED: Final = tuple(traces.c[name] for name in TimedTrace.__dataclass_fields__)


def by_app(connection: Connection, project: str, window: Window, now: datetime) -> list[AppTraffic]:
    """Every application with numbers, the busiest of the window first, then the newest."""
    names = skip_scan(rollups.c.app, rollups.c.project == project)
    count: ColumnElement[Any] = literal(0)
    for run in _runs(window, now):
        count = count + _count(run, project, names.c.value)
    statement = select(names.c.value, cast(count, Integer), _last(project, names.c.value)).where(
        names.c.value.is_not(None)
    )
    apps = [
        AppTraffic(app=app, traces=count, last_seen=last)
        for app, count, last in connection.execute(statement)
        if last is not None
    ]
    return sorted(apps, key=lambda one: (-one.traces, -one.last_seen.timestamp(), one.app))


def last_minutes(connection: Connection, project: str) -> dict[str, datetime]:
    """The newest minute with traces of every application with numbers."""
    names = skip_scan(rollups.c.app, rollups.c.project == project)
    statement = select(names.c.value, _last(project, names.c.value)).where(
        names.c.value.is_not(None)
    )
    rows = connection.execute(statement)
    return {app: last for app, last in rows if last is not None}


def last_seen(
    connection: Connection,
    project: str,
    apps: Sequence[str],
    until: datetime,
    release: str | None,
) -> dict[str, datetime]:
    """When the newest trace before `until` began, by application; of a release, if one is named."""
    of_traces: list[ColumnElement[bool]] = [traces.c.started_at < until]
    of_numbers: list[ColumnElement[bool]] = [
        rollups.c.minute < until,
        rollups.c.metric == TRACES_METRIC,
        rollups.c.count > 0,
    ]
    if release is not None:
        of_traces.append(traces.c.release == release)
        of_numbers.append(rollups.c.release == release)
    last_by_app: dict[str, datetime] = {}
    for app in apps:
        for table, moment, conditions in (
            (traces, traces.c.started_at, of_traces),
            (rollups, rollups.c.minute, of_numbers),
        ):
            own = (table.c.project == project, table.c.app == app)
            last = connection.execute(select(func.max(moment)).where(*own, *conditions)).scalar()
            if last is not None:
                last_by_app[app] = last
                break
    return last_by_app


def newest(connection: Connection, project: str, since: datetime, limit: int) -> list[TimedTrace]:
    """The newest traces of a project, newest first, without what they hold."""
    rows = connection.execute(
        select(*_TIMED)
        .where(traces.c.project == project, traces.c.started_at >= since)
        .order_by(traces.c.started_at.desc(), traces.c.trace_id.desc())
        .limit(limit)
    )
    return [TimedTrace(**row) for row in rows.mappings()]


def _runs(window: Window, now: datetime) -> list[rollup_tiers.Run]:
    """The window as few stretches: days, hours, and minutes where those may not be built."""
    start, end = rollup_tiers.ceil_to(window.start, 1), rollup_tiers.ceil_to(window.end, 1)
    lengths = tuple(minutes for minutes in rollup_tiers.TIERS if minutes >= 60)
    unbuilt = set()
    for minutes in lengths:
        place = rollup_tiers.floor_to(max(start, now - _UNBUILT - minutes * _MINUTE), minutes)
        while place < end:
            if place + minutes * _MINUTE > now - _UNBUILT:
                unbuilt.add((minutes, place))
            place += minutes * _MINUTE
    return rollup_tiers.cover(start, end, lengths, frozenset(unbuilt))


def _last(project: str, app: ColumnElement[Any]) -> ColumnElement[Any]:
    table = rollups.c
    of_app = (table.project == project, table.app == app, table.metric == TRACES_METRIC)
    return select(func.max(table.minute)).where(*of_app).scalar_subquery()


def _count(run: rollup_tiers.Run, project: str, app: ColumnElement[Any]) -> ColumnElement[Any]:
    table = rollups if run.minutes == 1 else rollup_blocks
    conditions = [
        table.c.project == project,
        table.c.app == app,
        table.c.metric == TRACES_METRIC,
        table.c.minute >= run.start,
        table.c.minute < run.end,
    ]
    if run.minutes > 1:
        conditions.append(table.c.minutes == run.minutes)
    total = func.coalesce(func.sum(table.c.count), 0)
    return select(total).where(*conditions).scalar_subquery()
