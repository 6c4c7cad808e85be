"""Which indexes SQLite takes for the lists that would otherwise read every score."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite

from rag_monitor.domain.stored import TraceQuery
from rag_monitor.store import listing
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.store.tables import LOW_SCORE


def _plan(store: Store, query: TraceQuery) -> str:
    statement = listing.scored(query, query.metric or "", 200).compile(
        dialect=sqlite.dialect(),  # type: ignore[no-untyped-call]
        compile_kwargs={"literal_binds": True},
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
    with Store.open(StoreOptions(url=f"sqlite:///{tmp_path / 'm.db'}", ballast_bytes=0)) as store:
        assert f"USING INDEX {index}" in _plan(store, query)
