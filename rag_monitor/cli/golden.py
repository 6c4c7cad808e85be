"""`rag-monitor golden`: ask a live application labelled questions, once or on a schedule."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.progress import Progress

from rag_monitor.cli.file_rows import ColumnsOption, parse_columns
from rag_monitor.cli.judging import RowsFile
from rag_monitor.cli.missing import DEFAULT, MaxMissing, tell_missing
from rag_monitor.cli.output import (
    AsJson,
    print_fields,
    print_json,
    print_problem,
    print_remark,
    progress_console,
)
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.replay import Places
from rag_monitor.cli.words import LanguageOption, fields_in, say
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.i18n import ENGLISH, msgid

if TYPE_CHECKING:
    from rag_monitor.offline.missing import Missing

_MISSING: Final = msgid(
    "questions without a stored answer: {share}, more than {allowed} (--max-missing): {reasons}"
)
_FAILED: Final = "question_failed"
_EMPTY: Final = "empty_reply"
_NOT_STORED: Final = "not_stored"
_REPEATED: Final = msgid(
    "rows whose id came before in the file: {count}; each is asked and stored, and no name tells "
    "their answers apart: {places}"
)


def golden(
    file: RowsFile,
    endpoint: Annotated[str, typer.Option(help="Where the application answers questions.")],
    app: Annotated[str, typer.Option(help="Application name the answers are stored under.")],
    every: Annotated[float, typer.Option(min=0, help="Minutes between runs; 0: run once.")] = 0.0,
    runs: Annotated[int, typer.Option(min=0, help="Stop after so many; 0: never.")] = 0,
    question_field: Annotated[
        str, typer.Option(help="Field of the request; dots reach into objects.")
    ] = "question",
    answer_field: Annotated[
        str | None, typer.Option(help="Field of the reply, or of each event of a stream.")
    ] = None,
    contexts_field: Annotated[
        str | None, typer.Option(help="Field with the retrieved passages.")
    ] = None,
    history_field: Annotated[
        str | None,
        typer.Option(
            help="Field of the request for the turns before a question (`history`), as messages "
            "with `role` and `content`; default: questions are asked alone."
        ),
    ] = None,
    body: Annotated[str | None, typer.Option(help="Further request fields, as JSON.")] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="Request header `Name: value`; may be repeated.")
    ] = None,
    columns: ColumnsOption = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds per question.")] = 60.0,
    max_missing: MaxMissing = DEFAULT,  # type: ignore[assignment] # parsed like what is typed
    release: Annotated[str | None, typer.Option(help="Release of the application.")] = None,
    environment: Annotated[str | None, typer.Option(help="Environment it runs in.")] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Answers become traces with the tag `golden`: judged and alerted on like live ones.

    Exit 1 when a run left too many questions without an answer that is stored.
    """
    from rag_monitor.offline.golden import Endpoint, EndpointOptions
    from rag_monitor.offline.missing import exceeds

    options = EndpointOptions(
        url=endpoint,
        question_field=question_field,
        answer_field=answer_field,
        contexts_field=contexts_field,
        history_field=history_field,
        body=_body(body),
        headers=_headers(header or []),
        timeout_s=timeout,
    )
    named = {"app": app, "release": release, "environment": environment}
    application = Endpoint(options)
    done = 0
    incomplete = False
    try:
        with Remote(url, api_key) as monitor:
            while True:
                began = time.monotonic()
                outcome, missing = _once(
                    file, parse_columns(columns), application, monitor, named, quiet=as_json
                )
                print_json(outcome) if as_json else print_fields(fields_in(outcome, language))
                if exceeds(missing.share, max_missing):
                    incomplete = True
                    tell_missing(_MISSING, missing.share, missing.reasons, max_missing)
                done += 1
                if not every or done == runs:
                    break
                time.sleep(max(0.0, every * 60 - (time.monotonic() - began)))
    finally:
        application.close()
    if incomplete:
        raise typer.Exit(1)


def _once(
    file: Path,
    columns: Mapping[str, str],
    application: Any,
    monitor: Remote,
    named: Mapping[str, Any],
    *,
    quiet: bool,
) -> tuple[dict[str, Any], Missing]:
    """One pass over the set; every answer is sent as soon as it is there."""
    from rag_monitor.offline.golden import as_trace, golden_rows, name_of
    from rag_monitor.offline.missing import UNREADABLE, MissingTally
    from rag_monitor.offline.rows import BadRow, at_row, count_rows

    outcome = dict.fromkeys(("questions", "answered", "empty", "failed", "stored", "rejected"), 0)
    counted = MissingTally()
    names: set[str] = set()
    repeated = Places()
    began = time.monotonic()
    with Progress(console=progress_console(quiet), transient=True) as bar:
        task = bar.add_task(file.name, total=count_rows(file))
        for row in golden_rows(file, columns):
            outcome["questions"] += 1
            bar.advance(task)
            if isinstance(row, BadRow):
                outcome["failed"] += 1
                counted.lack(UNREADABLE)
                print_problem(at_row(row.number, row.reason))
                continue
            name = name_of(row)
            if name in names:
                repeated.add(outcome["questions"])
            names.add(name)
            started_at = datetime.now(UTC)
            earlier = application.history_of(row)
            answer = application.ask(row["question"], earlier)
            if answer.error:
                outcome["failed"] += 1
                print_problem("{name}: {reason}", name=name[:60], reason=answer.error)
            else:
                outcome["answered"] += 1
            empty = not answer.error and not (answer.text or "").strip()
            outcome["empty"] += empty
            trace = as_trace(row, answer, started_at=started_at, history=earlier, **named)
            stored = _store(monitor, trace, outcome)
            lacks = {_FAILED: answer.error, _EMPTY: empty, _NOT_STORED: not stored}
            reason = next((reason for reason, lacking in lacks.items() if lacking), None)
            counted.have() if reason is None else counted.lack(reason)
    if not outcome["questions"]:
        raise RagMonitorError("{file} holds no questions", file=file)
    if repeated.count:
        places = say("row {places}", places=repeated)
        print_remark(say(_REPEATED, count=repeated.count, places=places))
    summary = {
        **outcome,
        "repeated_ids": repeated.count,
        "seconds": round(time.monotonic() - began, 2),
    }
    return summary, counted.report()


def _store(monitor: Remote, trace: Mapping[str, Any], outcome: dict[str, int]) -> bool:
    try:
        reply = monitor.call("POST", "/api/v1/traces", body=dict(trace))
    except ConfigurationError:
        raise
    except RagMonitorError as error:
        outcome["rejected"] += 1
        print_problem("not stored: {reason}", reason=error)
        return False
    stored = bool(reply.get("accepted"))
    outcome["stored" if stored else "rejected"] += 1
    for problem in reply.get("errors", ()):
        print_problem("not stored: {reason}", reason=problem)
    return stored


def _body(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except ValueError as error:
        raise ConfigurationError("--body is not JSON: {reason}", reason=error) from None
    if not isinstance(value, dict):
        raise ConfigurationError('--body is a JSON object, e.g. {"stream": false}')
    return value


def _headers(lines: list[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, sign, value = line.partition(":")
        if not sign or not name.strip():
            raise ConfigurationError("--header {line!r}: write it as Name: value", line=line)
        headers[name.strip()] = value.strip()
    return headers
