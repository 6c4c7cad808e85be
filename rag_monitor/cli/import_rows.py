"""What `import` checks in rows on their way to the monitor: repeated ids, times without a zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from rag_monitor.cli.replay import Outcome, Row
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.errors import ConfigurationError, IngestError
from rag_monitor.ingest.normalise import believable
from rag_monitor.ingest.trace_json import row_trace_id
from rag_monitor.ingest.values import clean_name


class RepeatedIds:
    """Counts rows whose id came before in the file, on their way to the monitor.

    The ids are those of the traces, so one id in two applications is no repetition and the same
    content twice without any id is one. Takes about 100 bytes a row.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._seen: set[int] = set()

    def look(self, number: int, row: Row) -> None:
        """Count the row; which of those of one id is kept is the monitor's decision."""
        app = row.get("app")
        name = clean_name(app) if isinstance(app, str) else ""
        try:
            trace_id = row_trace_id(row, DEFAULT_PROJECT, name or "unknown")
        except (IngestError, ValueError, RecursionError):
            return  # the monitor refuses it and says why
        seen = int(trace_id, 16)
        if seen in self._seen:
            self._outcome.repeated_ids.add(number)
        self._seen.add(seen)


_UTC: Final = "UTC"


def zone_named(name: str) -> str:
    """`name`, known to be a time zone.

    Raises:
        ConfigurationError: There is no such zone.
    """
    if name not in available_timezones():
        raise ConfigurationError(
            "--timezone {name!r} is not a time zone; write it like Asia/Shanghai or UTC", name=name
        )
    return name


class StartTimes:
    """Gives times without a zone the one they were written in, on the way to the monitor.

    Args:
        outcome: Where they are counted.
        zone: Names the zone; asked once, at the first time that has none.
        now: The moment a time is held against, with a zone.
    """

    def __init__(
        self,
        outcome: Outcome,
        zone: Callable[[], str],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._outcome = outcome
        self._name = zone
        self._zone: ZoneInfo | None = None
        self._now = now

    def look(self, number: int, row: Row) -> None:
        """Give the row's time its zone; what is no time is left for the monitor to refuse."""
        moment = _moment(row.get("started_at"))
        if moment is None:
            return
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self._known_zone())
            self._outcome.times_without_zone += 1
            # As UTC the monitor reads it anyway, and a row without an id has one of its content.
            if self._outcome.timezone != _UTC:
                row["started_at"] = moment.isoformat()
        if not believable(moment, self._now()):
            self._outcome.times_replaced.add(number)

    def _known_zone(self) -> ZoneInfo:
        if self._zone is None:
            self._outcome.timezone = self._name()
            self._zone = ZoneInfo(self._outcome.timezone)
        return self._zone


def _moment(value: Any) -> datetime | None:
    """A time as files hold it: text, seconds since 1970, or what a Parquet column gives."""
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    if isinstance(value, datetime):
        return value
    return datetime.combine(value, time()) if isinstance(value, date) else None
