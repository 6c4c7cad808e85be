"""The stretch of time a page shows: a length that ends now, or from one time to another.

An address that names none that there can be gets the page's own, and the page says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from rag_monitor.domain.window import Window
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.schemas.values import counted_window, parse_length

_YEARS: Final = range(1990, 2200)
"""Times far from ours are slips of the pen, and days before or after them do not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What an address asks for, and the window it means."""

    window: Window
    length: str = ""
    """Such as `24h`; empty: its beginning was given."""
    since: datetime | None = None
    until: datetime | None = None
    """None: it ends now."""
    refused: dict[str, str] = field(default_factory=dict)
    """Values of the address that were not applied, by their field."""

    @property
    def sliding(self) -> bool:
        """Whether it moves on with the clock, as the lengths do that every page offers."""
        return bool(self.length) and self.until is None

    @property
    def query(self) -> dict[str, str]:
        """What an address that asks for it says."""
        query = {"window": self.length} if self.length else {}
        for name, end in (("from", self.since), ("to", self.until)):
            if end is not None:
                query[name] = end.isoformat()
        return query

    @property
    def fixed(self) -> dict[str, str]:
        """What an address says that shows this window whenever it is opened."""
        return {"from": self.window.start.isoformat(), "to": self.window.end.isoformat()}

    @property
    def of_list(self) -> dict[str, str]:
        """What the address of a list of traces says, so that it shows those of this period."""
        return {"since": self.length} if self.sliding else self.fixed


def period_of(query: Mapping[str, str], now: datetime, zone: ZoneInfo, default: str) -> Period:
    """The period of an address: `window`, `from` and `to`, as the API takes them.

    Args:
        query: Of the address.
        now: Where a period ends that has no end.
        zone: Of times that name none, as the field of a browser writes them.
        default: The length of a page that is asked for none, or for none that there can be.
    """
    given = {name: query.get(name, "").strip()[:100] for name in ("window", "from", "to")}
    given = {name: text for name, text in given.items() if text}
    since, until = (moment_in(given.get(name, ""), zone) for name in ("from", "to"))
    length = given.get("window", "")
    usable = since is None and length_of(length) is not None
    applied = {"window": usable, "from": since is not None, "to": until is not None}
    if since is not None:
        given.pop("window", None)  # a beginning says where it begins
    refused = {name: text for name, text in given.items() if not applied[name]}
    length = "" if since is not None else length if usable else default
    try:
        window = counted_window(now, length or None, since, until)
    except ProblemError:  # it ends before it begins, is too short, or longer than anything is kept
        usual = counted_window(now, default, None, None)
        return Period(window=usual, length=default, refused=given)
    return Period(window=window, length=length, since=since, until=until, refused=refused)


def length_of(text: str) -> timedelta | None:
    """A length of time such as `90m`, `24h` or `2w`; None for anything else."""
    try:
        return parse_length(text)
    except ProblemError:
        return None


def moment_in(text: str, zone: ZoneInfo) -> datetime | None:
    """A day or time in ISO 8601, in `zone` where it names none; None for anything else."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if moment.year not in _YEARS:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)).astimezone(UTC)
