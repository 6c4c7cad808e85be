"""Lengths of time and moments that people write on the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor.errors import ConfigurationError

_LENGTH: Final = re.compile(r"(\d{1,6})(m|h|d|w)")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def length_in(text: str) -> timedelta | None:
    """A length such as `90m`, `4h`, `2d` or `1w`; None for anything else and for none at all."""
    match = _LENGTH.fullmatch(text)
    if match is None or not int(match[1]):
        return None
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def moment_in(option: str, text: str) -> datetime:
    """A moment in ISO 8601 with its zone.

    Raises:
        ConfigurationError: It is none, or names no zone.
    """
    moment = _moment(text)
    if moment is None:
        raise ConfigurationError(
            "{option} {value!r}: write a time with its zone, such as 2026-01-05T12:00:00Z",
            option=option,
            value=text,
        )
    return moment


def end_in(option: str, text: str) -> str:
    """When something ends that lasts a length of time from now, or until a moment; ISO 8601.

    A day alone is neither: it ends at another moment in each zone.

    Raises:
        ConfigurationError: It is neither.
    """
    length = length_in(text)
    try:
        ends = _moment(text) if length is None else datetime.now(UTC) + length
    except OverflowError:
        ends = None
    if ends is None:
        raise ConfigurationError(
            "{option} {value!r}: write a length such as 12h, 90d or 52w, or a time with its "
            "zone, such as 2027-01-31T12:00:00Z",
            option=option,
            value=text,
        )
    return ends.isoformat()


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment
