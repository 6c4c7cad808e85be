"""The values of a column by hopping through its index."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, Connection, func, select


def hops(column: Any, *conditions: Any) -> CTE:
    """The values of a column as `value`, one look into the index per value; the last row is NULL.

    SELECT DISTINCT would read an index entry per trace; this reads one per value, in one statement.
    """
    found = select(func.min(column).label("value")).where(*conditions).cte("hops", recursive=True)
    beyond = select(func.min(column)).where(*conditions, column > found.c.value).scalar_subquery()
    return found.union_all(select(beyond).where(found.c.value.is_not(None)))


def distinct_values(connection: Connection, column: Any, *conditions: Any) -> list[str]:
    """The values of a column, in order."""
    found = hops(column, *conditions)
    statement = select(found.c.value).where(found.c.value.is_not(None))
    return sorted(connection.execute(statement).scalars())
