"""Moments in the metadata of documents, in whatever form their loaders write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from rag_monitor.language.dates import find_dates
from rag_monitor.language.normalise import fold

_LEAST_EPOCH_S: Final = 10_000
"""Smaller numbers are years or versions."""
_LARGEST_EPOCH_S: Final = 1e11
"""Larger numbers count milliseconds."""
_LONGEST: Final = 100
"""Characters; no date is longer."""
_DOTTED: Final = re.compile(r"\s*(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})(?!\d)")
"""Day, month, year, as in most of Europe."""


def moment_of(text: str) -> datetime | None:
    """The moment that a text names, in UTC; None: it names none.

    ISO 8601, seconds or milliseconds since 1970, or a date as people write it, which stands for its
    first moment. Without a time zone it is taken for UTC.
    """
    text = text.strip()[:_LONGEST]
    return _iso(text) or _since_1970(text) or _written(text)


def _iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _since_1970(text: str) -> datetime | None:
    try:
        seconds = float(text)
        if abs(seconds) < _LEAST_EPOCH_S:
            return None
        return datetime.fromtimestamp(
            seconds / 1000 if seconds > _LARGEST_EPOCH_S else seconds, UTC
        )
    except (ValueError, OverflowError, OSError):
        return None


def _written(text: str) -> datetime | None:
    dotted = _DOTTED.match(text)
    dates = [(int(dotted["y"]), int(dotted["m"]), int(dotted["d"]))] if dotted else []
    dates += [
        (found.year, found.month or 1, found.day or 1)
        for found in find_dates(fold(text))
        if found.year
    ]
    for year, month, day in dates:
        try:
            return datetime(year, month, day, tzinfo=UTC)
        except ValueError:
            continue
    return None
