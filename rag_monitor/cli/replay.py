"""Sends rows of a file to a monitor: in batches, at a pace, through restarts of the monitor."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final

from rag_monitor.cli.remote import Remote, explain, refusal
from rag_monitor.errors import RagMonitorError
from rag_monitor.i18n import Message, msgid
from rag_monitor.offline import rows as tables
from rag_monitor.offline.columns import names_with
from rag_monitor.offline.conversations import last_turn
from rag_monitor.offline.foreign_scores import reported_in
from rag_monitor.offline.rows import numbered_lines
from rag_monitor.offline.shaping import shaped
from rag_monitor.outbound import retry
from rag_monitor.outbound.connection import NoAnswer, Reply

_BATCH: Final = 100
_BATCH_BYTES: Final = 2 * 2**20
_BATCH_SECONDS: Final = 0.25
"""At a set speed a batch holds what falls into this time."""
_RETRY: Final = frozenset({408, 429, 502, 503, 504})
_FIRST_WAIT_S: Final = 0.2
_LONGEST_WAIT_S: Final = 5.0
_PROBLEMS_KEPT: Final = 100
_PLACES_KEPT: Final = 10
_SELDOM: Final = (
    "reported_scores", "repeated_ids", "timezone", "times_without_zone", "times_replaced",
    "unread_passages",
)  # fmt: skip
"""Not named to people where there were none."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line, or a row of a table, that is not a trace."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast to send and how long to wait for a monitor that is away."""

    per_second: float = 0.0
    """Traces per second; 0: no limit."""
    patience_s: float = 120.0
    """Longest time without any progress before giving up."""


def _merged(name: str, rows: list[Row]) -> Any:
    parts = [part for row in rows for part in row.get(name, ())]
    return {name: parts} if parts else None


@dataclass(frozen=True, slots=True)
class Wire:
    """How rows travel: where to, and what a batch of them looks like there."""

    path: str
    join: Callable[[list[Row]], Any]
    """None: the rows have nothing that goes there."""
    beside: Wire | None = None
    """Where scores go that rows have besides."""


TRACE_JSON: Final = Wire("/api/v1/traces?bulk=true", list)
OTLP_JSON: Final = Wire(
    "/v1/traces?bulk=true",
    partial(_merged, "resourceSpans"),
    beside=Wire("/v1/logs", partial(_merged, "resourceLogs")),
)
"""Rows are OTLP/JSON requests: of spans, and of log events with scores."""


@dataclass(slots=True)
class Places:
    """How many rows something was found in, and which the first of them are."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        """Count a row by its number in the file."""
        self.count += 1
        if len(self.first) < _PLACES_KEPT:
            self.first.append(number)

    def __str__(self) -> str:
        more = " …" if self.count > len(self.first) else ""
        return ", ".join(map(str, self.first)) + more


@dataclass(slots=True)
class Outcome:
    """What became of a file."""

    rows: int = 0
    accepted: int = 0
    rejected: int = 0
    scores: int = 0
    """Scores that came with the rows and were taken."""
    retries: int = 0
    seconds: float = 0.0
    unknown_fields: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    """The first of the reasons rows were rejected, with line numbers."""
    repeated_ids: Places = field(default_factory=Places)
    """Rows whose id came before in the file: one trace is kept of each id."""
    timezone: str | None = None
    """The zone of times that name none; None: there were no such times."""
    times_without_zone: int = 0
    times_replaced: Places = field(default_factory=Places)
    """Times that cannot be true: the monitor puts the moment of import in their place."""
    unread_passages: Places = field(default_factory=Places)
    """Passages that were left out because they cannot be read, and the rows they stood in."""

    def reject(self, problem: str) -> None:
        """Count a row that was not taken."""
        self.rejected += 1
        if len(self.problems) < _PROBLEMS_KEPT:
            self.problems.append(problem)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "rows": self.rows,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "reported_scores": self.scores,
            "retries": self.retries,
            "seconds": round(self.seconds, 2),
            "unknown_fields": sorted(self.unknown_fields),
            "problems": self.problems,
            "repeated_ids": self.repeated_ids.count,
            "repeated_ids_first": self.repeated_ids.first,
            "timezone": self.timezone,
            "times_without_zone": self.times_without_zone,
            "times_replaced": self.times_replaced.count,
            "times_replaced_first": self.times_replaced.first,
            "unread_passages": self.unread_passages.count,
            "unread_passages_first": self.unread_passages.first,
        }

    def summary(self) -> dict[str, Any]:
        """For people: what was not met with is not named, and rows are listed in remarks."""
        shown = self.as_dict()
        return {
            name: value
            for name, value in shown.items()
            if not name.endswith("_first") and (value or name not in _SELDOM)
        }


def read_rows(
    path: Path,
    app: str | None = None,
    columns: Mapping[str, str] | None = None,
    unread: Places | None = None,
) -> Iterator[tuple[int, Row] | BadRow]:
    """The rows of any file that `offline.rows` reads, by the names it has for them.

    What tells the answer of a labelled set (`label_…`, `meta`) is left out.

    Args:
        path: The file. One of a kind nobody knows is taken for JSON lines.
        app: Application name for rows that have none.
        columns: The file's column to the Trace JSON name.
        unread: Where passages are counted that cannot be read, by their row.

    Returns:
        With their line numbers where the file holds lines, else counted from 1.

    Raises:
        ConfigurationError: The file cannot be opened, unpacked or read.
    """
    lost = Places() if unread is None else unread
    for number, item in _numbered(path, columns):
        if isinstance(item, tables.BadRow):
            yield BadRow(number, item.reason)
            continue
        for _ in item.unread:
            lost.add(number)
        yield number, _unlabelled(item.fields, app)


def _numbered(
    path: Path, columns: Mapping[str, str] | None
) -> Iterator[tuple[int, tables.Row | tables.BadRow]]:
    if not tables.holds_lines(path):
        for item in tables.read_rows(path, columns):
            yield item.number + 1, item
        return
    names = names_with(columns)
    for number, line in numbered_lines(path):
        yield number, _parsed(number, line, names)


def looked_at(
    rows: Iterable[tuple[int, Row] | BadRow], *looks: Callable[[int, Row], None]
) -> Iterator[tuple[int, Row] | BadRow]:
    """All rows in order, each that could be read shown to everyone who looks at them."""
    for item in rows:
        if not isinstance(item, BadRow):
            for look in looks:
                look(*item)
        yield item


def _parsed(number: int, line: bytes, names: Mapping[str, str]) -> tables.Row | tables.BadRow:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        return tables.BadRow(number, Message("not JSON: {reason}", reason=error))
    if not isinstance(content, dict):
        return tables.BadRow(number, Message("not a JSON object"))
    return tables.row_of(number, shaped(content, names))


def _unlabelled(fields: Mapping[str, Any], app: str | None) -> Row:
    row = {k: v for k, v in last_turn(fields).items() if k != "meta" and not k.startswith("label_")}
    if app is not None and row.get("app") is None:  # a column of a table may be null
        row["app"] = app
    return row


class Replay:
    """Sends rows in order.

    Args:
        monitor: Where to.
        pace: How fast, how patient.
        wire: What rows are and where they go.
        unit: What their numbers count: `line`, or `row` of a table.
        on_sent: Called with the number of rows sent so far, after each batch.
        on_wait: Told what keeps a batch waiting, once each time.
        clock: Monotonic seconds.
        sleep: Waits; replaced in tests.
    """

    def __init__(
        self,
        monitor: Remote,
        pace: Pace,
        *,
        wire: Wire = TRACE_JSON,
        unit: str = "line",
        on_sent: Callable[[int], None] = lambda _: None,
        on_wait: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._monitor = monitor
        self._pace = pace
        self._wire = wire
        self._unit = unit
        self._on_sent = on_sent
        self._on_wait = on_wait
        self._clock = clock
        self._sleep = sleep

    def run(
        self, rows: Iterable[tuple[int, Row] | BadRow], outcome: Outcome | None = None
    ) -> Outcome:
        """Send all rows; a row the monitor refuses is counted, not fatal.

        Args:
            rows: What to send.
            outcome: Where it is counted; given when `rows` are counted on their way, too.

        Raises:
            RagMonitorError: The monitor stayed away, or refuses everything.
        """
        outcome = outcome or Outcome()
        started = self._clock()
        sent = 0
        for batch in self._batches(rows, outcome):
            self._wait_for_turn(started, sent)
            self._send(self._wire, batch, outcome)
            if self._wire.beside is not None:
                self._send(self._wire.beside, batch, outcome)
            sent += len(batch)
            self._on_sent(sent)
        outcome.seconds = self._clock() - started
        return outcome

    def _batches(
        self, rows: Iterable[tuple[int, Row] | BadRow], outcome: Outcome
    ) -> Iterator[list[tuple[int, Row]]]:
        speed = self._pace.per_second
        limit = min(_BATCH, max(1, int(speed * _BATCH_SECONDS))) if speed else _BATCH
        batch: list[tuple[int, Row]] = []
        size = 0
        for item in rows:
            outcome.rows += 1
            if isinstance(item, BadRow):
                outcome.reject(self._at(item.line, item.reason))
                continue
            try:
                size += len(_body(item[1]))
            except (ValueError, RecursionError) as error:
                outcome.reject(self._at(item[0], _unsendable(error)))
                continue
            batch.append(item)
            if len(batch) >= limit or size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _at(self, number: int, reason: object) -> Message:
        """What is wrong with one of the rows."""
        text = (
            msgid("line {number}: {reason}")
            if self._unit == "line"
            else msgid("row {number}: {reason}")
        )
        return Message(text, number=number, reason=reason)

    def _wait_for_turn(self, started: float, sent: int) -> None:
        if self._pace.per_second:
            self._sleep(max(0.0, started + sent / self._pace.per_second - self._clock()))

    def _send(self, wire: Wire, batch: list[tuple[int, Row]], outcome: Outcome) -> None:
        try:
            content = wire.join([row for _, row in batch])
            body = _body(content)
        except RecursionError as error:  # a row at the edge of what can be nested, one level deeper
            if len(batch) == 1:
                outcome.reject(self._at(batch[0][0], _unsendable(error)))
            for one in batch if len(batch) > 1 else ():
                self._send(wire, [one], outcome)
            return
        if content is None:
            self._note(wire, batch, {}, outcome)
            return
        reply = self._post(wire.path, body, outcome)
        if reply.ok:
            self._note(wire, batch, json.loads(reply.body), outcome)
        elif reply.status in (400, 413, 422) and len(batch) > 1:
            half = len(batch) // 2
            self._send(wire, batch[:half], outcome)
            self._send(wire, batch[half:], outcome)
        elif reply.status in (400, 413, 422):
            outcome.reject(self._at(batch[0][0], explain(reply)))
        else:
            raise refusal(reply)

    def _note(self, wire: Wire, batch: list[tuple[int, Row]], reply: Row, outcome: Outcome) -> None:
        partial_success = reply.get("partialSuccess") or {}
        lone = sum(row.get("resourceSpans") == [] for _, row in batch)
        if wire is self._wire:
            outcome.accepted += int(reply.get("accepted", len(batch) - lone))
        else:
            lost = int(partial_success.get("rejectedLogRecords", 0))
            outcome.scores += sum(_scores(row) for _, row in batch) - lost
            outcome.accepted += max(0, lone - lost)
        if partial_success:
            text = (
                msgid("line {number} and after: {reason}")
                if self._unit == "line"
                else msgid("row {number} and after: {reason}")
            )
            reason = _message(partial_success)
            outcome.reject(Message(text, number=batch[0][0], reason=reason))
        outcome.unknown_fields.update(reply.get("unknown_fields", ()))
        lines = [line for line, _ in batch]
        refused: set[object] = set()
        for error in reply.get("errors", ()):
            row = error.get("row") if isinstance(error, dict) else None
            line = lines[row] if isinstance(row, int) and 0 <= row < len(lines) else lines[0]
            refused.add(line)
            outcome.reject(self._at(line, _message(error)))
        outcome.scores += sum(len(reported_in(row)) for line, row in batch if line not in refused)

    def _post(self, path: str, body: bytes, outcome: Outcome) -> Reply:
        """Send until there is an answer that is not "later"."""
        began = self._clock()
        deadline = began + self._pace.patience_s
        wait, reported = _FIRST_WAIT_S, False
        while True:
            try:
                reply = self._monitor.send("POST", path, body)
            except NoAnswer as error:
                trouble, wanted_s, away = (
                    Message("it does not answer ({reason})", reason=error),
                    0.0,
                    True,
                )
            else:
                if reply.status not in _RETRY:
                    return reply
                trouble = Message("it answers {status}", status=reply.status)
                wanted_s = _retry_after(reply)
                # "Later" is ordinary under load; only one that lasts is worth a word.
                away = self._clock() - began >= _LONGEST_WAIT_S
            pause = max(wait, wanted_s)
            if self._clock() + pause > deadline:
                raise RagMonitorError(
                    "gave up on the monitor at {url} after {patience_s:.0f} s: {reason}; "
                    "{accepted} rows were accepted, importing again stores none twice",
                    url=self._monitor.url,
                    patience_s=self._pace.patience_s,
                    reason=trouble,
                    accepted=outcome.accepted,
                )
            if away and not reported:
                reported = True
                self._on_wait(trouble)
            outcome.retries += 1
            self._sleep(pause)
            wait = min(2 * wait, _LONGEST_WAIT_S)


def _unsendable(error: Exception) -> Message:
    return Message("cannot be sent as JSON: {reason}", reason=error)


def _scores(row: Row) -> int:
    """How many events with a score a row holds."""
    scopes = [scope for part in row.get("resourceLogs", ()) for scope in part["scopeLogs"]]
    return sum(len(scope["logRecords"]) for scope in scopes)


def _body(content: Any) -> bytes:
    """Content as JSON; moments, which tables hold as such, are written out.

    Raises:
        ValueError: It holds a number that JSON has no word for.
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, default=_written)
    # Half a surrogate pair is text to Python and an error to every encoder.
    return text.encode("utf-8", "replace")


def _written(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _retry_after(reply: Reply) -> float:
    return min(retry.retry_after(reply.headers.get("retry-after")) or 0.0, _LONGEST_WAIT_S)


def _message(error: object) -> str:
    if isinstance(error, dict):
        return str(
            error.get("detail") or error.get("message") or error.get("errorMessage") or error
        )
    return str(error)
