"""What several tables are made of."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Date, Float, Index, LargeBinary, text

from rag_monitor.store.types import Json, Name, SafeText

_SUMS: Final[dict[str, Any]] = {
    "key": LargeBinary(16),  # hash of metric, release, judge and dimension
    "metric": Name,
    "release": Name,
    "judge": SafeText,
    "dimension": SafeText,
    "count": BigInteger,
    "total": Float,
    "squares": Float,
    "bad": BigInteger,
    "failed": BigInteger,
    "not_applicable": BigInteger,
    "suspect": BigInteger,
    "weight": Float,
    "weighted_total": Float,
    "weight_squares": Float,
    "weighted_squares": Float,
    "histogram": Json,
    "moments": Json,
}


def column(name: str, kind: Any, **options: Any) -> Column[Any]:
    """A column that must be there."""
    return Column(name, kind, nullable=False, **options)


def of_trace() -> tuple[Column[Any], ...]:
    """The columns by which a row hangs on a trace."""
    return (column("project", Name), column("trace_id", Name), column("day", Date))


def partial(name: str, *columns: str, where: str) -> Index:
    """An index of the rows that people look for: small, and free for all other rows."""
    return Index(name, *columns, postgresql_where=text(where), sqlite_where=text(where))


def sums() -> tuple[Column[Any], ...]:
    """What a rollup counts, and its sums; all of them must be there."""
    return tuple(Column(name, kind, nullable=False) for name, kind in _SUMS.items())
