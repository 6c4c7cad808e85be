"""`rag-monitor erase`: the right to erasure."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url


def erase(
    user_id: Annotated[str, typer.Argument(help="As the application sent it (`user_id`).")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Erase everything of one user: traces, scores, marks, and passages nobody else was shown.

    There is no way back. Backups made before still hold it.
    """
    if not yes and not typer.confirm(f"Erase everything of user {user_id!r}?", err=True):
        raise typer.Exit(1)
    with Remote(url, api_key) as monitor:
        report = monitor.call("DELETE", f"/api/v1/users/{quote(user_id, safe='')}")
    if as_json:
        print_json(report)
        return
    counts = ", ".join(f"{count} {name}" for name, count in report.items() if name != "user_id")
    print_line(f"erased of {user_id!r}: {counts}")
