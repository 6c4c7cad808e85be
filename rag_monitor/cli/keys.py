"""`rag-monitor keys`: who may talk to the monitor."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from rag_monitor.cli.moments import end_in
from rag_monitor.cli.output import AsJson, print_fields, print_json, print_line
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.words import LanguageOption, fields_in, minute, say
from rag_monitor.i18n import ENGLISH, msgid

_EXPIRES: Final = "When it ends: 12h, 90d, 52w, or an ISO 8601 time with a zone; default: never."
_EXPIRES_ANEW: Final = "When the new key ends, written as for `create`; default: as the old one."


Project = Annotated[
    str, typer.Option(help="Another project than your own; only with the configured key.")
]


class Scope(StrEnum):
    """What a key may do."""

    INGEST = "ingest"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


app = typer.Typer(help="List, create and revoke API keys.", no_args_is_help=True)


@app.command("list")
def list_keys(
    project: Project = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Show every key's name, scopes and last use; secrets are never shown again."""
    del language  # chosen for all that is said below
    with Remote(url, api_key) as monitor:
        keys = monitor.get("/api/v1/keys", _of(project))["keys"]
    if as_json:
        print_json({"keys": keys})
        return
    for key in keys:
        life = _life(key)
        print_line("  ".join([key["id"], key["name"], ", ".join(key["scopes"]), *life]))


def _of(project: str) -> dict[str, str]:
    return {"project": project} if project else {}


def _life(key: Mapping[str, str | None]) -> list[str]:
    """When a key was last used, and whether it still works."""
    used = key.get("last_used_at")
    last = say("last used {time}", time=minute(used)) if used else None
    parts = [last or say("never used")]
    if revoked := key.get("revoked_at"):
        return [*parts, say("revoked {time}", time=minute(revoked))]
    if expires := key.get("expires_at"):
        over = datetime.fromisoformat(expires) <= datetime.now(UTC)
        text = msgid("expired {time}") if over else msgid("expires {time}")
        parts.append(say(text, time=minute(expires)))
    return parts


@app.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        list[Scope] | None,
        typer.Option(help="What it may do; repeat for several; default: ingest."),
    ] = None,
    project: Project = "",
    requests_per_minute: Annotated[
        int, typer.Option(min=-1, help="A limit of its own; -1: the server's, 0: none.")
    ] = -1,
    expires: Annotated[str, typer.Option(help=_EXPIRES)] = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Make a key. Its secret is printed once and cannot be recovered."""
    body: dict[str, object] = {
        "name": name,
        "scopes": [item.value for item in scope or [Scope.INGEST]],
    }
    if project:
        body["project"] = project
    if requests_per_minute >= 0:
        body["requests_per_minute"] = requests_per_minute
    if expires:
        body["expires_at"] = end_in("--expires", expires)
    with Remote(url, api_key) as monitor:
        made = monitor.call("POST", "/api/v1/keys", body=body)
    _show_made(made, language, as_json)


@app.command("rotate")
def rotate_key(
    id: Annotated[str, typer.Argument(help="Id of the key, from `keys list`.")],
    grace: Annotated[
        float, typer.Option(min=0, max=2_592_000, help="Seconds the old key goes on working.")
    ] = 0.0,
    expires: Annotated[str, typer.Option(help=_EXPIRES_ANEW)] = "",
    project: Project = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Replace a key by a new one with the same name, scopes and limits."""
    body: dict[str, object] = {"grace_s": grace}
    if expires:
        body["expires_at"] = end_in("--expires", expires)
    with Remote(url, api_key) as monitor:
        path = f"/api/v1/keys/{quote(id, safe='')}/rotate"
        made = monitor.call("POST", path, body=body, query=_of(project))
    _show_made(made, language, as_json)


def _show_made(made: Mapping[str, Any], language: str, as_json: bool) -> None:
    """The secret of a new key, and until when it works."""
    if as_json:
        print_json(made)
        return
    key = made["key"]
    shown = {"id": key["id"], "secret": made["secret"]}
    if expires := key.get("expires_at"):
        shown["expires"] = minute(expires)
    print_fields(fields_in(shown, language))


@app.command("revoke")
def revoke_key(
    id: Annotated[str, typer.Argument(help="Id of the key, from `keys list`.")],
    project: Project = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Take a key out of use at once."""
    del language  # chosen for all that is said below
    with Remote(url, api_key) as monitor:
        monitor.call("DELETE", f"/api/v1/keys/{quote(id, safe='')}", query=_of(project))
    if as_json:
        print_json({"revoked": id})
    else:
        print_line(say("revoked {id}", id=id))
