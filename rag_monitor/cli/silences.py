"""`rag-monitor silences`: mute announcements for a release or for maintenance, and end that."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from rag_monitor.cli.moments import length_in, moment_in
from rag_monitor.cli.output import AsJson, print_fields, print_json, print_line
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.words import LanguageOption, fields_in, minute, say
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import ENGLISH, Message

app = typer.Typer(help="List, create and end silences.", no_args_is_help=True)

_EVERY: Final = "*"


@app.command("list")
def list_silences(
    over: Annotated[bool, typer.Option("--all", help="Those that are over, too.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Show what is silenced now or will be, the one that ends first before the others."""
    del language  # chosen for all that is said below
    with Remote(url, api_key) as monitor:
        silences = monitor.get("/api/v1/silences")["silences"]
    now = datetime.now(UTC)
    silences = sorted(
        (one for one in silences if over or datetime.fromisoformat(one["ends_at"]) > now),
        key=lambda one: datetime.fromisoformat(one["ends_at"]),
    )
    if as_json:
        print_json({"silences": silences})
        return
    for silence in silences:
        print_line(_silence_line(silence))
    if not silences:
        print_line(say("nothing is silenced"))


@app.command("create")
def create_silence(
    rule: Annotated[
        str | None, typer.Option(help="The rule to mute, as `rules export` names it; '*': any.")
    ] = None,
    of_app: Annotated[
        str | None, typer.Option("--app", help="The application to mute; '*': any.")
    ] = None,
    length: Annotated[str | None, typer.Option("--for", help="How long: 90m, 4h, 2d, 1w.")] = None,
    until: Annotated[
        str | None, typer.Option("--to", help="ISO 8601 time with a zone, in place of --for.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", help="ISO 8601 time with a zone; default: now.")
    ] = None,
    comment: Annotated[str, typer.Option(help="Why; others see it.")] = "",
    by: Annotated[str, typer.Option(help="Who; default: the name of the key.")] = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Mute the announcements of a rule, an application or both; states go on being recorded."""
    if rule is None and of_app is None:
        raise ConfigurationError(
            "say what to silence: --rule, --app or both; --rule '*' silences everything"
        )
    if (length is None) == (until is None):
        raise ConfigurationError("say how long, either --for 2h or --to 2026-01-05T12:00:00Z")
    body: dict[str, str] = {
        "rule": rule or _EVERY,
        "app": of_app or _EVERY,
        "ends_at": until or _end(since, length or ""),
        "comment": comment,
        "created_by": by,
    }
    if since is not None:
        body["starts_at"] = since
    with Remote(url, api_key) as monitor:
        made = monitor.call("POST", "/api/v1/silences", body=body)
    if as_json:
        print_json(made)
        return
    shown = {"id": made["id"], "silenced": _what(made), "until": minute(made["ends_at"])}
    print_fields(fields_in(shown, language))


@app.command("end")
def end_silence(
    id: Annotated[str, typer.Argument(help="Id of the silence, from `silences list`.")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """End a silence now; what fires is announced again."""
    del language  # chosen for all that is said below
    with Remote(url, api_key) as monitor:
        monitor.call("DELETE", f"/api/v1/silences/{quote(id, safe='')}")
    if as_json:
        print_json({"ended": id})
    else:
        print_line(say("ended {id}", id=id))


def _end(since: str | None, length: str) -> str:
    """When a silence of this length is over.

    Raises:
        ConfigurationError: One of the two cannot be read.
    """
    lasts = length_in(length)
    if lasts is None:
        raise ConfigurationError(
            "--for {length!r}: write a length such as 90m, 4h, 2d or 1w", length=length
        )
    start = datetime.now(UTC) if since is None else moment_in("--from", since)
    try:
        return (start + lasts).isoformat()
    except OverflowError:
        raise ConfigurationError(
            "--for {length!r}: a silence lasts at most 366 days", length=length
        ) from None


def _silence_line(silence: dict[str, Any]) -> str:
    """A silence in a line for people."""
    parts = [
        silence["id"],
        _what(silence),
        say("until {time}", time=minute(silence["ends_at"])),
    ]
    if datetime.fromisoformat(silence["starts_at"]) > datetime.now(UTC):
        parts.append(
            say(Message.within("silence", "from {time}", time=minute(silence["starts_at"])))
        )
    return "  ".join([*parts, *(silence[one] for one in ("created_by", "comment") if silence[one])])


def _what(silence: dict[str, Any]) -> str:
    rule = say("every rule") if silence["rule"] == _EVERY else silence["rule"]
    app = say("every app") if silence["app"] == _EVERY else silence["app"]
    return say("{rule} on {app}", rule=rule, app=app)
