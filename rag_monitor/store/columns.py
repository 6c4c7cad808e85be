"""Columns that several tables have."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Float, LargeBinary

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


def sums() -> tuple[Column[Any], ...]:
    """What a rollup counts, and its sums; all of them must be there."""
    return tuple(Column(name, kind, nullable=False) for name, kind in _SUMS.items())
