"""Column types that make both databases hold the same values.

Text that neither database takes (NUL, lone surrogates) is mended on its way in; moments are aware
UTC on both sides; JSON is text, so that it may hold whatever a trace holds.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import TIMESTAMP, BigInteger, Dialect, Integer, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

NAME_LENGTH: Final = 200
"""Characters of a name that may stand in an index; PostgreSQL takes at most 2,704 bytes there."""

Serial: Final = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts up by itself only in a column that is exactly INTEGER."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def storable_name(text: str) -> str:
    """`text` as it is stored in a name column: mended and cut to `NAME_LENGTH`."""
    return storable(text)[:NAME_LENGTH]


def microseconds(moment: datetime) -> int:
    """A moment as SQLite holds it: microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


class SafeText(TypeDecorator[str]):
    """Text of any length."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Mend what no database stores."""
        del dialect
        return None if value is None else storable(value)


class Name(TypeDecorator[str]):
    """Text that stands in indexes; cut to `NAME_LENGTH` characters, on lookups too."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Mend and cut."""
        del dialect
        return None if value is None else storable_name(value)


class Moment(TypeDecorator[datetime]):
    """An aware UTC datetime: `timestamptz` on PostgreSQL, microseconds since 1970 on SQLite."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Pick the native type."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(TIMESTAMP(timezone=True))
        return dialect.type_descriptor(BigInteger())

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


def dump_json(value: Any) -> str:
    """Compact JSON text that both databases take."""
    text = json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), default=_plain, check_circular=True
    )
    return storable(text)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (set, frozenset, tuple)):
        return sorted(value, key=str)
    if hasattr(value, "items"):
        return dict(value.items())
    return str(value)
