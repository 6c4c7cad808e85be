"""`rag-monitor labels`: take reviewers' marks out of a monitor, and into one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from rag_monitor.cli.moments import moment_in
from rag_monitor.cli.output import AsJson, print_fields, print_json, print_problem
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url, refusal
from rag_monitor.cli.row_file import CSV, batches, read_rows
from rag_monitor.cli.words import LanguageOption, fields_in
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.i18n import ENGLISH
from rag_monitor.outbound.connection import Reply
from rag_monitor.server.csv_text import unquoted

app = typer.Typer(help="Export and import reviewers' marks.", no_args_is_help=True)

_PATH: Final = "/api/v1/labels"
_PER_REQUEST: Final = 1000
Line = tuple[int, dict[str, Any]]
"""A mark, and the line that it is on."""
_NUMBERS: Final[Mapping[str, type]] = {"value": float, "statement": int}


@app.command("export")
def export_labels(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .jsonl or .csv file; default: lines on stdout."),
    ] = None,
    app_name: Annotated[str, typer.Option("--app", help="Only of this application.")] = "",
    since: Annotated[
        str, typer.Option("--from", help="Marks made from then on, ISO 8601 with its zone.")
    ] = "",
    until: Annotated[str, typer.Option("--to", help="Marks made before.")] = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
) -> None:
    """Write reviewers' marks, the oldest first: at most 20,000, as JSON lines or CSV."""
    del language  # chosen for all that is said below
    query = {"format": "csv" if output is not None and output.suffix == CSV else "jsonl"}
    if app_name:
        query["app"] = app_name
    for option, text in (("from", since), ("to", until)):
        if text:
            query[option] = moment_in(f"--{option}", text).isoformat()
    with Remote(url, api_key) as monitor:
        reply = monitor.send_safely("GET", _PATH, query=query)
    if not reply.ok:
        raise refusal(reply)
    if output is None:
        sys.stdout.write(reply.body.decode())
        return
    try:
        output.write_bytes(reply.body)
    except OSError as error:
        raise ConfigurationError(
            "{path} cannot be written: {reason}", path=output, reason=error.strerror
        ) from error


@app.command("import")
def import_labels(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON lines or CSV, as `labels export` writes them: `trace_id`, `value` (1, 0, or "
            "0.5 for: cannot tell) or `fault`, `metric`, `author`, and if known `created_at`, "
            "`comment`."
        ),
    ],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Import reviewers' marks; those that are stored already stay as they are."""
    kept = {"imported": 0, "unchanged": 0}
    with Remote(url, api_key) as monitor:
        for part in batches(_rows(file), _PER_REQUEST):
            labels = [label for _, label in part]
            reply = monitor.send_safely("POST", _PATH, {"labels": labels})
            if not reply.ok:
                raise _refused(file, reply, [line for line, _ in part])
            answer = json.loads(reply.body)
            kept = {name: count + answer[name] for name, count in kept.items()}
    if as_json:
        print_json(kept)
    else:
        print_fields(fields_in(kept, language))


def _refused(file: Path, reply: Reply, lines: list[int]) -> RagMonitorError:
    """Names the line of each problem; nothing of these lines was imported."""
    errors = _errors(reply) if reply.status == HTTPStatus.UNPROCESSABLE_ENTITY else []
    for error in errors:
        _, place, *field = str(error["field"]).split(".")
        where = {"path": file, "line": lines[int(place)], "reason": error["message"]}
        if field:  # else it is about several fields, and says so
            name = ".".join(field)
            print_problem("{path}, line {line}: `{field}` {reason}", **where, field=name)
        else:
            print_problem("{path}, line {line}: {reason}", **where)
    if not errors:
        return refusal(reply)
    return ConfigurationError(
        "{path}: nothing of the lines {first} to {last} was imported; correct them and import the "
        "file again",
        path=file,
        first=lines[0],
        last=lines[-1],
    )


def _errors(reply: Reply) -> list[dict[str, Any]]:
    """The problems of single marks."""
    errors = json.loads(reply.body).get("errors", [])
    return [error for error in errors if str(error["field"]).split(".")[1:2] != []]


def _rows(path: Path) -> Iterator[Line]:
    """The marks of a file, each with its line.

    Raises:
        ConfigurationError: It cannot be read, or a line is no mark.
    """
    empty = True
    for row in read_rows(path):
        empty = False
        if not isinstance(row.value, dict):
            raise ConfigurationError(
                "{path}, line {line}: not a JSON object; write one per line, or name a .csv file",
                path=path,
                line=row.line,
            )
        yield row.line, _cells(path, row.line, row.value) if path.suffix == CSV else row.value
    if empty:
        raise ConfigurationError("{path} holds no marks", path=path)


def _cells(path: Path, number: int, row: Mapping[str | None, Any]) -> dict[str, Any]:
    if None in row:
        raise ConfigurationError(
            "{path}, line {line}: there are more cells than columns", path=path, line=number
        )
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        if not cell:
            continue
        text = unquoted(cell)
        try:
            cells[str(name)] = _NUMBERS.get(str(name), str)(text)
        except ValueError:
            cells[str(name)] = text  # the monitor says what it should be
    return cells
