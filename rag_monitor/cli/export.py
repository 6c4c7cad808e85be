"""`rag-monitor export`: write stored traces and scores as JSON lines or Parquet."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Protocol, TextIO

import typer

from rag_monitor.cli.filtering import Since, Until, parameters_of, with_filters
from rag_monitor.cli.output import AsJson, print_json, print_remark
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.words import LanguageOption, say
from rag_monitor.errors import ConfigurationError, NotFound
from rag_monitor.i18n import ENGLISH, Message
from rag_monitor.installation import install_command
from rag_monitor.offline.exported import (
    SCORES_COLUMN,
    TIMING_COLUMNS,
    TOKEN_COLUMNS,
    TRACE_COLUMN,
)

_TEXTS: Final = (
    "trace_id",
    "app",
    "environment",
    "release",
    "session_id",
    "user_id",
    "status",
    "question",
    "query",
    "answer",
    "error",
    "model",
)
_ROW_GROUP: Final = 500
_NOT_WRITTEN: Final = frozenset({".csv", ".tsv", ".xls", ".xlsx"})
"""Tables that cannot hold a trace's lists; lines under such a name would mislead."""


class Golden(StrEnum):
    """What becomes a row of a golden set."""

    TRACES = "traces"
    SESSIONS = "sessions"


class TraceFile(Protocol):
    """Where traces go, one after another."""

    def write(self, trace: Mapping[str, Any]) -> None:
        """Add a trace as the API gives it."""
        ...


@contextmanager
def trace_file(path: Path | None) -> Iterator[TraceFile]:
    """A file for traces by its suffix, `.parquet` or lines; None: lines on standard output.

    The file has its name only once it is complete: what breaks off leaves no half of one.

    Raises:
        ConfigurationError: The file cannot be made, or pyarrow is missing for Parquet.
    """
    if path is None:
        yield _Lines(sys.stdout)
        return
    if path.suffix in _NOT_WRITTEN:
        raise ConfigurationError(
            "--output writes .jsonl or .parquet, not {suffix}", suffix=path.suffix
        )
    part = path.with_name(path.name + ".part")
    kind = _parquet if path.suffix == ".parquet" else _lines
    try:
        with kind(part) as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise ConfigurationError(
            "{path} cannot be written: {reason}", path=path, reason=error.strerror
        ) from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _lines(path: Path) -> Iterator[TraceFile]:
    with path.open("w", encoding="utf-8") as stream:
        yield _Lines(stream)


class _Lines:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, trace: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(trace, ensure_ascii=False) + "\n")


@contextmanager
def _parquet(path: Path) -> Iterator[TraceFile]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ConfigurationError(
            "Parquet files need pyarrow: {command}", command=install_command("parquet")
        ) from None
    schema = pyarrow.schema(
        [(name, pyarrow.string()) for name in _TEXTS]
        + [("started_at", pyarrow.timestamp("us", tz="UTC"))]
        + [(name, pyarrow.float64()) for name in TIMING_COLUMNS]
        + [(name, pyarrow.int64()) for name in TOKEN_COLUMNS]
        + [("contexts", pyarrow.list_(pyarrow.string()))]
        + [(SCORES_COLUMN, pyarrow.map_(pyarrow.string(), pyarrow.float64()))]
        + [(TRACE_COLUMN, pyarrow.string())]
    )
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        file = _Parquet(lambda rows: writer.write_table(pyarrow.Table.from_pylist(rows, schema)))
        yield file
        file.flush()


class _Parquet:
    def __init__(self, save: Any) -> None:
        self._save = save
        self._rows: list[dict[str, Any]] = []

    def write(self, trace: Mapping[str, Any]) -> None:
        self._rows.append(_row(trace))
        if len(self._rows) >= _ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._save(self._rows)
            self._rows = []


def _row(trace: Mapping[str, Any]) -> dict[str, Any]:
    contexts = trace.get("contexts")
    timings, usage = trace.get("timings") or {}, trace.get("usage") or {}
    scored = {
        score["metric"]: score["value"]
        for score in trace.get("scores") or ()
        if score.get("value") is not None
    }
    return {
        **{name: trace.get(name) for name in _TEXTS},
        "started_at": datetime.fromisoformat(trace["started_at"]),
        **{name: timings.get(name) for name in TIMING_COLUMNS},
        **{name: usage.get(name) for name in TOKEN_COLUMNS},
        "contexts": None if contexts is None else [item.get("content") for item in contexts],
        SCORES_COLUMN: sorted(scored.items()),
        TRACE_COLUMN: json.dumps(trace, ensure_ascii=False),
    }


@with_filters
def export(
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File, .jsonl or .parquet; default: lines on stdout."),
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, help="Stop after so many traces.")] = 1_000_000,
    golden: Annotated[
        Golden | None,
        typer.Option(
            help="Rows of a golden set instead, for `golden` and `evaluate`: the question of each "
            "trace, or the last one of each session, with the turns before it.",
            show_default=False,
        ),
    ] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language_of_output: LanguageOption = ENGLISH,
    as_json: AsJson = False,
    **filters: Any,
) -> None:
    """Write each trace with its scores, newest first: a Trace JSON line or a Parquet row each."""
    del language_of_output  # chosen for all that is said below
    if as_json and output is None:
        raise typer.BadParameter(Message("--json needs --output: stdout cannot hold both"))
    if golden is not None and output is not None and output.suffix == ".parquet":
        raise ConfigurationError("--golden writes lines; give --output a name in .jsonl")
    query = parameters_of(
        filters | {"from": since, "to": until}, sessions=golden is Golden.SESSIONS
    )
    count = 0
    with Remote(url, api_key) as monitor, trace_file(output) as file:
        for row in _rows(monitor, query, golden):
            if count >= limit:
                break
            file.write(row)
            count += 1
    if as_json:
        print_json({"traces" if golden is None else "items": count, "output": str(output)})
    elif golden is None:
        print_remark(say("exported {count} traces", count=count))
    else:
        print_remark(say("exported {count} questions", count=count))


def _rows(
    monitor: Remote, query: dict[str, str], golden: Golden | None
) -> Iterator[Mapping[str, Any]]:
    """What is written, one by one; what retention or an erasure has taken meanwhile is left out."""
    listed = Golden.TRACES if golden is None else golden
    name = "session_id" if listed is Golden.SESSIONS else "trace_id"
    for item in monitor.pages(f"/api/v1/{listed.value}", query):
        try:
            if golden is None:
                yield monitor.get(f"/api/v1/traces/{item['trace_id']}")
            else:
                golden_rows = monitor.get("/api/v1/golden", {name: item[name]})["items"]
                yield from (_given(row) for row in golden_rows)
        except NotFound:
            continue


def _given(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without the fields of which nothing is known."""
    return {
        name: [_given(turn) for turn in value] if name == "history" and value else value
        for name, value in row.items()
        if value is not None
    }
