"""Rows in every table as the first release wrote them: plain SQL on the tables of revision 0001."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, MetaData, Table, select

from rag_monitor.store.partitions import day_of
from rag_monitor.testing import EPOCH

TRACE = "a" * 32
OLDER = "b" * 32
QUESTION = "首套房商业贷款利率是多少?"
PASSAGE = "c" * 64


def tables_of(engine: Engine) -> dict[str, Table]:
    """The tables as they are now, without partitions and without what belongs to Alembic."""
    metadata = MetaData()
    metadata.reflect(engine)
    return {
        name: table
        for name, table in metadata.tables.items()
        if name != "alembic_version"
        and not name.endswith("_default")
        and day_of(name) is None
        and not name.startswith("trace_search")
    }


def fill(engine: Engine) -> None:
    """Two rows in the tables of traces, one in every other table."""
    postgresql = engine.dialect.name == "postgresql"
    tables = tables_of(engine)
    with engine.begin() as connection:
        for name, table in tables.items():
            for number, trace_id in enumerate((TRACE, OLDER)):
                if number and "trace_id" not in table.c and name != "rollups":
                    continue
                values = {
                    column.name: _value(name, column, trace_id, number, postgresql)
                    for column in table.columns
                    if not (column.name == "id" and column.primary_key and column.autoincrement
                            and name in {"evaluation_tasks", "feedback", "outbox"})
                }  # fmt: skip
                connection.execute(table.insert().values(values))


def contents(engine: Engine, columns: Mapping[str, list[str]]) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of those columns of those tables, in a fixed order."""
    tables = tables_of(engine)
    found = {}
    with engine.connect() as connection:
        for name, names in columns.items():
            chosen = [tables[name].c[column] for column in names]
            rows = [tuple(row) for row in connection.execute(select(*chosen))]
            found[name] = sorted(rows, key=repr)
    return found


def columns_of(engine: Engine) -> dict[str, list[str]]:
    """The columns of every table."""
    return {name: [column.name for column in table.c] for name, table in tables_of(engine).items()}


_MOMENTS = frozenset({
    "first_received", "due_at", "received_at", "started_at", "created_at", "decided_at",
    "not_before", "lease_until", "minute", "marked_at", "updated_at", "starts_at", "ends_at",
    "sent_at", "last_used_at", "expires_at", "revoked_at",
})  # fmt: skip
_NEVER = frozenset({"due_at", "lease_until", "revoked_at", "expires_at"})
_JSON: dict[str, Any] = {
    "tags": ["web"],
    "expected": None,
    "contexts": [{"id": "d", "rank": 1, "passage": PASSAGE}],
    "passages": [PASSAGE],
    "attributes": {},
    "documents": [],
    "identity": {"name": "j", "model": "m"},
    "verdicts": [],
    "scopes": ["read"],
    "histogram": [1, 0],
    "moments": {"w2y": 1.0},
}
_TEXT = {
    "project": "default",
    "app": "test-app",
    "question": QUESTION,
    "status": "ok",
    "metric": "faithfulness",
    "judge": "j",
    "convention": "rag-monitor",
    "format": "trace_json",
    "kind": "plugin",
    "state": "waiting",
    "sha256": PASSAGE,
    "reason": "base_rate",
    "error": None,
    "release": "r1",
    "dimension": "",
}


def _value(table: str, column: Any, trace_id: str, number: int, postgresql: bool) -> Any:
    name = column.name
    if name in _NEVER and column.nullable:
        return None
    if name in _MOMENTS or (table == "marks" and name == "at"):
        moment = EPOCH + timedelta(minutes=number)
        return moment if postgresql else _micros(moment)
    if name in _JSON:
        return None if _JSON[name] is None else json.dumps(_JSON[name])
    special = {
        "trace_id": trace_id,
        "day": EPOCH.date(),
        "last_day": EPOCH.date(),
        "body": json.dumps({"name": table, "kind": "drop"}),
        "digest": bytes([number]) * 32,
    }
    return special[name] if name in special else _plain(table, column, number)


def _plain(table: str, column: Any, number: int) -> Any:
    kind = column.type.python_type
    if kind is bytes:
        return bytes([number]) * 16
    if kind is bool:
        return column.name in {"complete", "has_root", "included"}
    if kind is str:
        text = f"{table}.{column.name}"
        if text == "scores.status":
            return "scored"
        return f"{text}.{number}" if column.name == "key" else _TEXT.get(column.name, text)
    return {int: 1, float: 0.5}[kind]


def _micros(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)
