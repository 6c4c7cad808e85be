"""`rag-monitor migrate`: bring the database schema up to date, or back for an older release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.cli.words import Language, LanguageOption, said
from rag_monitor.errors import ConfigurationError
from rag_monitor.spelling import did_you_mean


def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether it is needed; exit 1 if so.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="REVISION",
            help="Stop at this revision, or go back to it for an older release.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before going back.")] = False,
    database_url: Annotated[
        str | None, typer.Option(help="Database; default: the configured one.")
    ] = None,
    config: ConfigPath = None,
    language: LanguageOption = Language.EN,
    as_json: AsJson = False,
) -> None:
    """Create or upgrade the tables. Safe to run again.

    Going back (--to) deletes what the older schema has no place for. Stop every process first.
    """
    from rag_monitor.store import migration

    url = load(config, {"database_url": database_url}).database_url
    wanted = _known(to) if to else migration.head()
    missing = migration.not_yet_made(url) if check else None
    before = None if missing else migration.known(url)
    after = before
    if not check:
        back = before is not None and before > wanted
        ask = None if yes else language
        after = _go_back(url, before or "", wanted, ask) if back else migration.upgrade(url, wanted)
    if as_json:
        print_json(
            {
                "before": before,
                "after": after,
                "head": migration.head(),
                "current": after == migration.head(),
            }
        )
    elif after == wanted:
        told_of = "the schema is at {revision}" + ("" if before == after else " (was {before})")
        was = before or said("empty", language)
        print_line(said(told_of, language, revision=wanted, before=was))
    else:
        found = said("the database is empty", language)
        if before is not None:
            found = said("the schema is at {revision}", language, revision=before)
        if missing:
            found = said("there is no file {path} yet", language, path=missing)
        needs = "--to asks for {wanted}" if to else "this release needs {wanted}"
        text = f"{{found}}, {needs}: run without --check"
        print_line(said(text, language, found=found, wanted=wanted))
    if after != wanted:
        raise typer.Exit(1)


def _known(revision: str) -> str:
    from rag_monitor.store import migration

    known = migration.revisions()
    if revision not in known:
        raise ConfigurationError(
            f"there is no revision {revision!r}{did_you_mean(revision, known)}; "
            f"this release knows {', '.join(known)}"
        )
    return revision


def _go_back(url: str, before: str, wanted: str, ask: Language | None) -> str:
    """Down to an older schema, with nobody at work on the SQLite file; None: without asking."""
    from rag_monitor.store import migration
    from rag_monitor.store.engine import parse_url
    from rag_monitor.store.lockfile import FileLock

    text = "Go back from schema {before} to {wanted}? What {wanted} has no place for is deleted."
    if ask is not None and not typer.confirm(
        said(text, ask, before=before, wanted=wanted), err=True
    ):
        raise typer.Exit(1)
    parsed = parse_url(url)
    sqlite = parsed.get_backend_name() == "sqlite"
    lock = FileLock(Path(parsed.database or "")) if sqlite else None
    try:
        migration.downgrade(url, wanted)
    finally:
        if lock is not None:
            lock.release()
    return wanted
