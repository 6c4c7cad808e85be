"""The values of a column by hopping through its index."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, Connection, func, select


def skip_scan(column: Any, *conditions: Any) -> CTE:
    """The values of a column as `value`, one look into the index per value; the last row is NULL.

    SELECT DISTINCT would read an index entry per trace; this reads one per value, in one statement.
    """
    least = (
        select(func.min(column).label("value")).where(*conditions).cte("skip_scan", recursive=True)
    )
    beyond = select(func.min(column)).where(*conditions, column > least.c.value).scalar_subquery()
    return least.union_all(select(beyond).where(least.c.value.is_not(None)))


def distinct_values(connection: Connection, column: Any, *conditions: Any) -> list[str]:
    """The values of a column, in order."""
    values = skip_scan(column, *conditions)
    statement = select(values.c.value).where(values.c.value.is_not(None))
    return sorted(connection.execute(statement).scalars())
