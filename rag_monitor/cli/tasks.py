"""`rag-monitor tasks`: traces that judging gave up on, and trying them again."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_monitor.cli.output import AsJson, print_fields, print_json, print_line
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.words import LanguageOption, fields_in, minute, say
from rag_monitor.i18n import ENGLISH

app = typer.Typer(help="List traces that judging gave up on, and retry them.", no_args_is_help=True)


@app.command("parked")
def list_parked(
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 100,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Show which traces are not judged any more, the newest first, and why."""
    del language  # chosen for all that is said below
    with Remote(url, api_key) as monitor:
        parked = monitor.get("/api/v1/tasks/parked", {"limit": str(limit)})["traces"]
    if as_json:
        print_json({"traces": parked})
        return
    for task in parked:
        again = task["again_at"]
        ends = say("tried again {time}", time=minute(again)) if again else say("not tried again")
        print_line("  ".join([task["trace_id"], task["reason"], ends]))
    if not parked:
        print_line(say("no trace is parked"))


@app.command("retry")
def retry(
    trace_ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of traces, from `tasks parked`; default: all.")
    ] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Have parked traces judged again; needs a key with the scope `admin`."""
    body = {"trace_ids": trace_ids} if trace_ids else {}
    with Remote(url, api_key) as monitor:
        outcome = monitor.call("POST", "/api/v1/tasks/retry", body=body)
    if as_json:
        print_json(outcome)
    else:
        print_fields(fields_in(outcome, language))
