"""`rag-monitor export`: write stored traces and scores as JSON lines or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rag_monitor.cli.output import AsJson, print_json, print_remark
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.trace_files import trace_file
from rag_monitor.cli.words import LanguageOption, say
from rag_monitor.errors import NotFound
from rag_monitor.i18n import ENGLISH, Message


def export(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File, .jsonl or .parquet; default: lines on stdout."),
    ] = None,
    app: Annotated[str | None, typer.Option(help="Only this application.")] = None,
    release: Annotated[str | None, typer.Option(help="Only this release.")] = None,
    since: Annotated[str | None, typer.Option("--from", help="ISO 8601 time, inclusive.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="ISO 8601 time, exclusive.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Stop after so many traces.")] = 1_000_000,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Write each trace with its scores, newest first: a Trace JSON line or a Parquet row each."""
    del language  # chosen for all that is said below
    if as_json and output is None:
        raise typer.BadParameter(Message("--json needs --output: stdout cannot hold both"))
    wanted = {"app": app, "release": release, "from": since, "to": until}
    query = {name: value for name, value in wanted.items() if value is not None}
    count = 0
    with Remote(url, api_key) as monitor, trace_file(output) as file:
        for item in monitor.pages("/api/v1/traces", query):
            if count >= limit:
                break
            try:
                file.write(monitor.get(f"/api/v1/traces/{item['trace_id']}"))
            except NotFound:  # retention or an erasure was there between the list and the trace
                continue
            count += 1
    if as_json:
        print_json({"traces": count, "output": str(output)})
    else:
        print_remark(say("exported {count} traces", count=count))
