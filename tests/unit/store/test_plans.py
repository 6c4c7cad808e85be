"""Which indexes SQLite takes where it would otherwise read every score, or all of the history."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, select
from sqlalchemy.dialects import postgresql, sqlite

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.filters import TraceSort
from rag_monitor.domain.rollup import RollupQuery
from rag_monitor.domain.stored import TraceQuery
from rag_monitor.domain.window import Window
from rag_monitor.store import purge_horizon
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.store.tables import LOW_SCORE, rollups, traces
from rag_monitor.store.trace_walk import Walk
from rag_monitor.testing import make_task, make_trace
from tests.db import new_sqlite


def _plan(store: Store, query: TraceQuery) -> str:
    walk = Walk(query=query, postgresql=False)
    statement = (
        walk.rows(True, None)
        .limit(200)
        .compile(
            dialect=sqlite.dialect(),  # type: ignore[no-untyped-call]
            compile_kwargs={"literal_binds": True},
        )
    )
    with store._database.read() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}").all()
    return "\n".join(row[-1] for row in rows)


@pytest.mark.parametrize(
    ("app", "below", "index"),
    [
        (None, LOW_SCORE, "ix_scores_low "),
        (None, 0.2, "ix_scores_low "),
        ("bank", 0.5, "ix_scores_app_low "),
        (None, 0.95, "ix_scores_value "),
        ("bank", None, "ix_scores_metric "),
    ],
)
def test_low_scores_are_listed_from_the_index_of_low_scores(
    tmp_path: Path, app: str | None, below: float | None, index: str
) -> None:
    query = TraceQuery(project="default", app=app, metric="faithfulness", below=below)
    with Store.open(StoreOptions(url=new_sqlite(tmp_path / "m.db"), ballast_bytes=0)) as store:
        assert f"USING INDEX {index}" in _plan(store, query)


def _plans(store: Store, work: Callable[[], object], table: str = "rollup") -> list[str]:
    """Where everything that `work` asks of tables whose names begin so is looked for."""
    asked: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        asked.append((statement, values))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    with store._database.read() as connection:
        return [
            str(row[-1])
            for statement, values in asked
            if f"FROM {table}" in statement
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            if table in row[-1]
        ]


@pytest.mark.parametrize("hours", [1, 30, 24 * 9])
@pytest.mark.parametrize("metric", [None, "faithfulness"])
def test_sums_read_only_the_minutes_of_their_window(
    tmp_path: Path, hours: int, metric: str | None
) -> None:
    window = Window.ending(datetime(2026, 11, 20, 7, 31, tzinfo=UTC), timedelta(hours=hours))
    wanted = RollupQuery(project="default", window=window, app="bank", metric=metric)
    with Store.open(StoreOptions(url=new_sqlite(tmp_path / "m.db"), ballast_bytes=0)) as store:
        plans = _plans(store, lambda: store.rollups.load_sums(wanted))
    assert len(plans) > 1
    assert all("minute>? AND minute<?" in plan for plan in plans)


def test_only_the_minutes_that_are_added_up_anew_are_looked_at(tmp_path: Path) -> None:
    minutes = [datetime(2026, 11, 20, 7, minute, tzinfo=UTC) for minute in range(20)]
    with Store.open(StoreOptions(url=new_sqlite(tmp_path / "m.db"), ballast_bytes=0)) as store:
        with store._database.read() as connection:
            old = purge_horizon.replaceable(
                connection, "default", "bank", minutes, date(2026, 11, 1)
            )
        rows = select(rollups.c.count).where(old)

        def ask() -> None:
            with store._database.read() as connection:
                connection.execute(rows).all()

        assert all("minute=?" in plan for plan in _plans(store, ask))


def test_earlier_turns_are_looked_for_in_the_index_of_sessions(tmp_path: Path) -> None:
    """A session may have very many turns, and a batch many sessions."""
    tasks = [make_task(make_trace(id=f"t{n}", session_id=f"s{n}")) for n in range(3)]
    with Store.open(StoreOptions(url=new_sqlite(tmp_path / "m.db"), ballast_bytes=0)) as store:
        plans = _plans(store, lambda: store.earlier_turns.before(tasks), "traces")
    looked_up = [plan for plan in plans if "traces" in plan]
    assert len(looked_up) == len(tasks)
    assert all("ix_traces_session" in plan and "started_at<?" in plan for plan in looked_up), plans


def test_looking_for_suspects_reads_no_task_that_waits(tmp_path: Path) -> None:
    """It is done twice a second, and a hundred thousand may wait."""
    now = datetime(2026, 11, 20, 7, 31, tzinfo=UTC)
    with Store.open(StoreOptions(url=new_sqlite(tmp_path / "m.db"), ballast_bytes=0)) as store:
        plans = _plans(store, lambda: store.tasks.claim_suspect("w", 60, now), "evaluation_tasks")
    assert plans
    assert all("drawn=? AND state=?" in plan for plan in plans), plans


@pytest.mark.parametrize(
    "given", [{"refused": True}, {"refused": False}, {"fault": Fault.INVENTED}]
)
def test_what_is_looked_up_for_each_trace_fits_no_index_but_that_of_the_trace(
    given: dict[str, Any],
) -> None:
    """Without statistics PostgreSQL walked all scores of a metric once per trace."""
    query = TraceQuery(project="default", sort=TraceSort.LATENCY, **given)
    walk = Walk(query=query, postgresql=True)
    statement = select(traces.c.trace_id).where(*walk.unmet(traces))
    text = str(statement.compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
    condition = r"(?:refusals|diagnosed)\.(?:metric|value|fault) \S+ .*?(?= AND |\n)"
    conditions = re.findall(condition, text)

    assert conditions
    assert all("IS true" in condition for condition in conditions), text
