"""`rag-monitor migrate`: bring the database schema up to date."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.settings import ConfigPath, load


def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether it is needed; exit 1 if so.")
    ] = False,
    database_url: Annotated[
        str | None, typer.Option(help="Database; default: the configured one.")
    ] = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Create or upgrade the tables. Safe to run again."""
    from rag_monitor.store import migration

    url = load(config, {"database_url": database_url}).database_url
    missing = migration.not_yet_made(url) if check else None
    before = None if missing else migration.known(url)
    after = before if check else migration.upgrade(url)
    head = migration.head()
    if as_json:
        print_json({"before": before, "after": after, "head": head, "current": after == head})
    elif after == head:
        print_line(
            f"the schema is at {head}" + ("" if before == after else f" (was {before or 'empty'})")
        )
    else:
        found = "the database is empty" if before is None else f"the schema is at {before}"
        if missing:
            found = f"there is no file {missing} yet"
        print_line(f"{found}, this release needs {head}: run without --check")
    if after != head:
        raise typer.Exit(1)
