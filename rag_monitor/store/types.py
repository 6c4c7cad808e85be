"""Column types that make both databases hold the same values, and columns of several tables.

Text that neither database takes (NUL, lone surrogates) is mended on its way in; moments are aware
UTC on both sides; JSON is text, so that it may hold whatever a trace holds.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson
from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    Column,
    Date,
    Dialect,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from rag_monitor.domain.clean_text import clean_text, is_clean

NAME_LENGTH: Final = 200
"""Characters of a name that may stand in an index; PostgreSQL takes at most 2,704 bytes there."""

Serial: Final = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts up by itself only in a column that is exactly INTEGER."""

_AS_JSON_DOES: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def storable_name(text: str) -> str:
    """`text` as it is stored in a name column: mended and cut to `NAME_LENGTH`."""
    return clean_text(text)[:NAME_LENGTH]


def microseconds(moment: datetime) -> int:
    """A moment as SQLite holds it: microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


class Bulk(ABC):
    """A type that takes a whole column at once: a call per value costs more than the value."""

    @abstractmethod
    def bound(self, values: Sequence[Any], dialect: Dialect) -> list[Any]:
        """The values as the driver takes them, as `process_bind_param` makes each of them."""


class SafeText(TypeDecorator[str], Bulk):
    """Text of any length."""

    impl = Text
    cache_ok = True

    def bound(self, values: Sequence[str | None], dialect: Dialect) -> list[str | None]:
        """All of them; mostly one look at the whole column says that none is to be mended."""
        del dialect
        if is_clean("".join(filter(None, values))):
            return list(values)
        return [None if value is None else clean_text(value) for value in values]

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Mend what no database stores."""
        del dialect
        return None if value is None else clean_text(value)


class Name(TypeDecorator[str], Bulk):
    """Text that stands in indexes; cut to `NAME_LENGTH` characters, on lookups too."""

    impl = Text
    cache_ok = True

    def bound(self, values: Sequence[str | None], dialect: Dialect) -> list[str | None]:
        """All of them; most columns hold short names, or the same few again and again."""
        del dialect
        there = list(filter(None, values))
        if max(map(len, there), default=0) <= NAME_LENGTH and is_clean("".join(there)):
            return list(values)
        stored = {value: None if value is None else storable_name(value) for value in set(values)}
        return [stored[value] for value in values]

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Mend and cut."""
        del dialect
        return None if value is None else storable_name(value)


class Moment(TypeDecorator[datetime], Bulk):
    """An aware UTC datetime: `timestamptz` on PostgreSQL, microseconds since 1970 on SQLite."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Pick the native type."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(TIMESTAMP(timezone=True))
        return dialect.type_descriptor(BigInteger())

    def bound(self, values: Sequence[datetime | None], dialect: Dialect) -> list[Any]:
        """All of them; many traces come in at the same moment."""
        stored = {value: self.process_bind_param(value, dialect) for value in set(values)}
        return [stored[value] for value in values]

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuse naive times."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"the store needs aware datetimes, got {value!r}")
        if dialect.name == "postgresql":
            return value.astimezone(UTC)
        return microseconds(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Always UTC, whatever the session's time zone."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            moment: datetime = value
            return moment.astimezone(UTC)
        return _EPOCH + timedelta(microseconds=value)


class Json(TypeDecorator[Any]):
    """A JSON value as text. What JSON has no form for is stored as its `str`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Dump without escaping, so that Chinese stays searchable."""
        del dialect
        return None if value is None else dump_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Parse."""
        del dialect
        return None if value is None else json.loads(value)


class TraceJson(Json, Bulk):
    """`Json` of what was captured: finite numbers, and much of it."""

    cache_ok = True

    def bound(self, values: Sequence[Any], dialect: Dialect) -> list[str | None]:
        """All of them."""
        del dialect
        return [None if value is None else dump_captured(value).decode() for value in values]

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Dump quickly."""
        del dialect
        return None if value is None else dump_captured(value).decode()


def dump_captured(value: Any) -> bytes:
    """As `dump_json`, in UTF-8 and in a fraction of its time, where that can be.

    Numbers that are not finite become null.
    """
    try:
        return orjson.dumps(value, default=_plain, option=_AS_JSON_DOES)
    except TypeError:  # integers beyond 64 bits, lone surrogates, keys that are no text
        return dump_json(value).encode()


def dump_json(value: Any) -> str:
    """Compact JSON text that both databases take."""
    text = json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), default=_plain, check_circular=True
    )
    return clean_text(text)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (set, frozenset, tuple)):
        return sorted(value, key=str)
    if hasattr(value, "items"):
        return dict(value.items())
    return str(value)


NAMES: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
"""How indexes and constraints are named."""
metadata: Final = MetaData(naming_convention=NAMES)
PARTITION_BY: Final[dict[str, Any]] = {"postgresql_partition_by": "RANGE (day)"}
"""Of tables that are split by day on PostgreSQL."""
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


def names(*columns: str) -> tuple[Column[Any], ...]:
    """Columns that hold names, all of which must be there."""
    return tuple(column(name, Name) for name in columns)


def partial(name: str, *columns: str, where: str) -> Index:
    """An index of the rows that people look for: small, and free for all other rows."""
    return Index(name, *columns, postgresql_where=text(where), sqlite_where=text(where))


def in_sessions(by_session: str, by_time: str) -> tuple[Index, Index]:
    """Indexes of the traces that have a session: the turns of each, and all of them by time."""
    where = "session_id IS NOT NULL"
    turn = ("started_at", "trace_id")
    return (
        partial(by_session, "project", "session_id", *turn, where=where),
        partial(by_time, "project", *turn, "session_id", where=where),
    )


def sums() -> tuple[Column[Any], ...]:
    """What a rollup counts, and its sums; all of them must be there."""
    summed = (column(name, kind) for name, kind in _SUMS.items())
    return (*summed, column("clusters", Text, server_default=text("''")))
