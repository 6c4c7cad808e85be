"""Keyset cursors: where the next page starts, whatever arrives meanwhile."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor.errors import MalformedPayload

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def encode_cursor(started_at: datetime, trace_id: str) -> str:
    """An opaque, URL-safe name of a row's place."""
    micros = (started_at - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(f"{micros}:{trace_id}".encode()).decode("ascii").rstrip("=")


def decode_cursor(cursor: str) -> tuple[datetime, str]:
    """The place that `encode_cursor` named.

    Raises:
        MalformedPayload: It is not one of ours.
    """
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        micros, trace_id = base64.urlsafe_b64decode(padded).decode("ascii").split(":", 1)
        return _EPOCH + timedelta(microseconds=int(micros)), trace_id
    except (ValueError, OverflowError, binascii.Error):
        raise MalformedPayload(
            "the cursor is not one this server handed out; leave it out to start anew"
        ) from None
