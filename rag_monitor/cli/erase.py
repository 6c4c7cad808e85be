"""`rag-monitor erase`: the right to erasure."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.words import LanguageOption, fields_in, say
from rag_monitor.i18n import ENGLISH


def erase(
    user_id: Annotated[str, typer.Argument(help="As the application sent it (`user_id`).")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Erase everything of one user: traces, scores, marks, and passages nobody else was shown.

    There is no way back. Backups made before still hold it.
    """
    if not yes and not typer.confirm(
        say("Erase everything of user {user!r}?", user=user_id), err=True
    ):
        raise typer.Exit(1)
    with Remote(url, api_key) as monitor:
        report = monitor.call("DELETE", f"/api/v1/users/{quote(user_id, safe='')}")
    if as_json:
        print_json(report)
        return
    counted = fields_in({name: n for name, n in report.items() if name != "user_id"}, language)
    counts = [say("{count} {name}", count=n, name=name) for name, n in counted.items()]
    listed = say(", ").join(counts)
    print_line(say("erased of {user!r}: {counts}", user=user_id, counts=listed))
