"""`rag-monitor import`: replay recorded traffic into a running monitor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, available_timezones

import typer
from rich.progress import Progress

from rag_monitor.cli.file_rows import ColumnsOption, parse_columns
from rag_monitor.cli.output import (
    AsJson,
    print_fields,
    print_json,
    print_problem,
    print_remark,
    progress_console,
)
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.replay import (
    OTLP_JSON,
    TRACE_JSON,
    BadRow,
    Outcome,
    Pace,
    Places,
    Replay,
    Row,
    looked_at,
    read_rows,
)
from rag_monitor.cli.settings import at_hand
from rag_monitor.cli.words import LanguageOption, fields_in, say
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.errors import ConfigurationError, IngestError
from rag_monitor.i18n import ENGLISH, msgid, translate
from rag_monitor.ingest.normalise import believable
from rag_monitor.ingest.trace_json import row_trace_id
from rag_monitor.ingest.values import clean_name
from rag_monitor.offline.rows import holds_lines


class RepeatedIds:
    """Counts rows whose id came before in the file, on their way to the monitor.

    The ids are those of the traces, so one id in two applications is no repetition and the same
    content twice without any id is one. Takes about 100 bytes a row.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._seen: set[int] = set()
        self.apps: set[str] = set()

    def look(self, number: int, row: Row) -> None:
        """Count the row; which of those of one id is kept is the monitor's decision."""
        app = row.get("app")
        name = clean_name(app) if isinstance(app, str) else ""
        self.apps.add(name)
        try:
            trace_id = row_trace_id(row, DEFAULT_PROJECT, name or "unknown")
        except (IngestError, ValueError, RecursionError):
            return  # the monitor refuses it and says why
        seen = int(trace_id, 16)
        if seen in self._seen:
            self._outcome.repeated_ids.add(number)
        self._seen.add(seen)


_UTC: Final = "UTC"
_DAY: Final = timedelta(days=1)


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
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._undated = False

    @property
    def ends(self) -> tuple[datetime, datetime | None] | None:
        """The first and the last time; the last is None where the moment of import counts.

        None: all rows are of today, as every page shows without being asked.
        """
        if self._first is None or self._first > self._now() - _DAY:
            return None
        return self._first, None if self._undated else self._last

    def look(self, number: int, row: Row) -> None:
        """Give the row's time its zone; what is no time is left for the monitor to refuse."""
        moment = _moment(row.get("started_at"))
        if moment is None:
            self._undated = True
            return
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self._known_zone())
            self._outcome.times_without_zone += 1
            # As UTC the monitor reads it anyway, and a row without an id has one of its content.
            if self._outcome.timezone != _UTC:
                row["started_at"] = moment.isoformat()
        if not believable(moment, self._now()):
            self._outcome.times_replaced.add(number)
            self._undated = True
            return
        self._first = min(self._first or moment, moment)
        self._last = max(self._last or moment, moment)

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


_WAITING: Final = msgid("waiting for {url}, up to {seconds:g} s: {trouble}")
_REPEATED: Final = msgid(
    "rows whose id came before in the file: {count}; one trace is kept of each id: {places}"
)
_REPLACED: Final = msgid(
    "times before 2000 or more than an hour ahead: {count}; the moment of import stands in "
    "their place: {places}"
)
_UNREAD: Final = msgid("passages left out because they cannot be read: {count}; {places}")

_PLACES: Final = {"line": msgid("line {places}"), "row": msgid("row {places}")}


class Format(StrEnum):
    """Whose export a file is."""

    TRACE_JSON = "trace-json"
    LANGFUSE = "langfuse"
    PHOENIX = "phoenix"


def import_file(
    file: Annotated[
        Path, typer.Argument(help="Rows: .jsonl, .json, .csv (also .gz), .xlsx, .parquet.")
    ],
    form: Annotated[
        Format,
        typer.Option("--format", help="Trace JSON, or an export of Langfuse or Phoenix."),
    ] = Format.TRACE_JSON,
    speed: Annotated[
        float, typer.Option(min=0, help="Traces per second; 0: as fast as the monitor takes them.")
    ] = 0.0,
    app: Annotated[str | None, typer.Option(help="Application name for rows without one.")] = None,
    columns: ColumnsOption = None,
    timezone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="Zone of times that name none; default: the configured `timezone`, else UTC.",
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds to keep trying while the monitor is away.")
    ] = 120.0,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Send every row once. Rows with an id can be imported again: nothing is stored twice."""
    if form is not Format.TRACE_JSON and timezone is not None:
        raise ConfigurationError(
            "exports of {form} are in UTC: leave --timezone out", form=form.value
        )
    if form is not Format.TRACE_JSON and columns is not None:
        raise ConfigurationError(
            "columns of {form} are known: leave --columns out", form=form.value
        )
    zone = None if timezone is None else zone_named(timezone)
    pace = Pace(per_second=speed, patience_s=patience)
    outcome = Outcome()
    rows = _read(file, form, app, parse_columns(columns), outcome.unread_passages)
    times, ids = StartTimes(outcome, lambda: _zone(zone)), RepeatedIds(outcome)
    if form is Format.TRACE_JSON:
        rows = looked_at(rows, times.look, ids.look)
    with (
        Remote(url, api_key) as monitor,
        Progress(console=progress_console(as_json), transient=True) as bar,
    ):
        task = bar.add_task(file.name, total=None)
        replay = Replay(
            monitor,
            pace,
            wire=TRACE_JSON if form is Format.TRACE_JSON else OTLP_JSON,
            unit=_unit(file, form),
            on_sent=lambda count: bar.update(task, completed=count),
            on_wait=lambda trouble: print_remark(
                say(_WAITING, url=monitor.url, seconds=patience, trouble=trouble)
            ),
        )
        replay.run(rows, outcome)
    page = page_of(monitor.url, ids.apps, times.ends) if outcome.accepted else None
    _report(outcome, _unit(file, form), page, language, as_json=as_json)
    if outcome.rejected:
        raise typer.Exit(1)


def page_of(url: str, apps: Collection[str], ends: tuple[datetime, datetime | None] | None) -> str:
    """Where what was imported is shown.

    Args:
        url: Of the monitor.
        apps: Applications of the rows; of several, the page shows all.
        ends: As of `StartTimes`.
    """
    query = {"app": next(iter(apps))} if len(apps) == 1 and all(apps) else {}
    if ends is not None:
        first, last = ends
        query["from"] = f"{first.astimezone(UTC):%Y-%m-%dT%H:%MZ}"
        if last is not None:
            query["to"] = f"{last.astimezone(UTC) + timedelta(minutes=1):%Y-%m-%dT%H:%MZ}"
    return f"{url}/?{urlencode(query)}" if query else f"{url}/"


def _zone(given: str | None) -> str:
    """The zone of times that name none; said, so that a wrong one is seen before it misleads."""
    if given is not None:
        zone, why = given, say("as given")
    else:
        try:
            zone, why = at_hand().timezone, say("`timezone` of the settings here")
        except ConfigurationError as error:
            zone = "UTC"
            why = say("the settings here cannot be read: {reason}", reason=error)
    text = msgid("times without a zone are read as {zone} ({why}); --timezone names another")
    print_remark(say(text, zone=zone, why=why))
    return zone


def _report(outcome: Outcome, unit: str, page: str | None, language: str, *, as_json: bool) -> None:
    for text in outcome.problems[:10]:
        print_problem(text)
    for text, lines in (
        (_REPEATED, outcome.repeated_ids),
        (_REPLACED, outcome.times_replaced),
        (_UNREAD, outcome.unread_passages),
    ):
        if lines.count:
            places = say(_PLACES[unit], places=lines)
            print_remark(say(text, count=lines.count, places=places))
    if as_json:
        print_json(outcome.as_dict())
    else:
        summary = outcome.summary()
        summary["problems"] = [translate(text, language) for text in outcome.problems]
        if page is not None:
            summary["page"] = page
        print_fields(fields_in(summary, language))


def _unit(file: Path, form: Format) -> str:
    return "line" if form is not Format.TRACE_JSON or holds_lines(file) else "row"


def _read(
    file: Path, form: Format, app: str | None, columns: Mapping[str, str], unread: Places
) -> Iterator[tuple[int, Row] | BadRow]:
    if form is Format.TRACE_JSON:
        return read_rows(file, app, columns, unread)
    from rag_monitor.cli.export_files import read_export

    return read_export(file, form.value, app)
