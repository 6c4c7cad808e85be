"""`rag-monitor tasks` and `backfill`: try parked traces again, and judge stored ones again."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rag_monitor.cli.output import (
    AsJson,
    print_fields,
    print_json,
    print_line,
    print_problem,
    print_remark,
)
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


_PATH = "/api/v1/evaluations"


def backfill(
    app: Annotated[str | None, typer.Option(help="Only this application.")] = None,
    release: Annotated[str | None, typer.Option(help="Only this release.")] = None,
    since: Annotated[
        str | None, typer.Option("--from", help="ISO 8601 time; default: 24 hours ago.")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", help="ISO 8601 time; default: now.")] = None,
    judge: Annotated[
        str | None, typer.Option(help="The one judge to ask. Default: the configured one.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many.")] = 1000,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start without asking.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Show how many traces would be judged again and at what cost, then start if told so.

    The cost is expected from what the judge's newest day took per trace; nothing starts that does
    not fit into today's budget. With --json nothing is asked: without --yes it only previews.
    """
    wanted = {
        "app": app,
        "release": release,
        "from": since,
        "to": until,
        "judge": judge,
        "limit": limit,
    }
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    with Remote(url, api_key) as monitor:
        outcome = monitor.call("POST", _PATH, body=given)
        if not as_json:
            hints = outcome.pop("hints", ())
            shown = {name: value for name, value in outcome.items() if name != "queued"}
            print_fields(fields_in(shown, language))  # nothing is queued yet
            for hint in hints:
                print_problem(hint)
            if outcome["tokens"] is None and outcome["traces"]:
                print_remark(
                    say(
                        "this judge's cost was never measured here; try --limit 20 first",
                    )
                )
        start = yes or (
            not as_json
            and outcome["traces"] > 0
            and typer.confirm(say("Judge these traces again?"))
        )
        if start:
            outcome = monitor.call("POST", _PATH, body=given | {"preview": False})
    if as_json:
        print_json(outcome)
    elif start:
        print_fields(fields_in({"queued": outcome["queued"]}, language))
