"""Keyset cursors: where the next page starts, whatever arrives meanwhile."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from rag_monitor.errors import MalformedPayload

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_VALUE: Final = "-"


class Place(NamedTuple):
    """Where a row stands in its list."""

    started_at: datetime
    trace_id: str
    value: float | None = None
    """What the list is ordered by before the time, where it is; None: it has no such value."""


def encode_cursor(started_at: datetime, trace_id: str) -> str:
    """An opaque, URL-safe name of a row's place in order of time."""
    micros = (started_at - _EPOCH) // timedelta(microseconds=1)
    return _encoded(f"{micros}:{trace_id}")


def decode_cursor(cursor: str) -> tuple[datetime, str]:
    """The place that `encode_cursor` named.

    Raises:
        MalformedPayload: It is not one of ours.
    """
    micros, trace_id = _parts(cursor, 2)
    return _moment(micros), trace_id


def encode_place(place: Place, order: str) -> str:
    """As `encode_cursor`, of a list in any other order.

    Args:
        place: Of the row.
        order: What tells this order from others: a cursor of one means nothing in another.
    """
    micros = (place.started_at - _EPOCH) // timedelta(microseconds=1)
    value = _NO_VALUE if place.value is None else repr(place.value)
    return _encoded(f"{order}:{value}:{micros}:{place.trace_id}")


def decode_place(cursor: str, order: str) -> Place:
    """The place that `encode_place` named.

    Raises:
        MalformedPayload: It is not one of ours, or one of another order.
    """
    named, value, micros, trace_id = _parts(cursor, 4)
    if named != order:
        raise _malformed()
    try:
        number = None if value == _NO_VALUE else float(value)
    except ValueError:
        raise _malformed() from None
    return Place(_moment(micros), trace_id, number)


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode("ascii").rstrip("=")


def _parts(cursor: str, count: int) -> list[str]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        parts = base64.urlsafe_b64decode(padded).decode("ascii").split(":")
    except (ValueError, binascii.Error):
        raise _malformed() from None
    if len(parts) != count:
        raise _malformed()
    return parts


def _moment(micros: str) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=int(micros))
    except (ValueError, OverflowError):
        raise _malformed() from None


def _malformed() -> MalformedPayload:
    return MalformedPayload(
        "the cursor is not one this server handed out; leave it out to start anew"
    )
