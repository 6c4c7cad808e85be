"""`rag-monitor migrate` and `recover`: move the schema up or back, save a damaged file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.cli.words import LanguageOption, say
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import ENGLISH, msgid
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
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Create or upgrade the tables. Safe to run again.

    Going back (--to) deletes what the older schema has no place for. Stop every process first.
    """
    del language  # chosen for all that is said below
    from rag_monitor.store import migration

    url = load(config, {"database_url": database_url}).database_url
    wanted = _existing_revision(to) if to else migration.head()
    missing = migration.not_yet_made(url) if check else None
    before = None if missing else migration.supported_revision(url)
    after = before
    if not check:
        back = before is not None and before > wanted
        ask = not yes
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
        if before == after:
            print_line(say("the schema is at {revision}", revision=wanted))
        else:
            was = before or say("empty")
            print_line(
                say("the schema is at {revision} (was {before})", revision=wanted, before=was)
            )
    else:
        present = say("the database is empty")
        if before is not None:
            present = say("the schema is at {revision}", revision=before)
        if missing:
            present = say("there is no file {path} yet", path=missing)
        text = (
            msgid("{found}, --to asks for {wanted}: run without --check")
            if to
            else msgid("{found}, this release needs {wanted}: run without --check")
        )
        print_line(say(text, found=present, wanted=wanted))
    if after != wanted:
        raise typer.Exit(1)


def _existing_revision(revision: str) -> str:
    from rag_monitor.store import migration

    revisions = migration.revisions()
    if revision not in revisions:
        raise ConfigurationError(
            "there is no revision {revision!r}{meant}; this release knows {names}",
            revision=revision,
            meant=did_you_mean(revision, revisions),
            names=", ".join(revisions),
        )
    return revision


def _go_back(url: str, before: str, wanted: str, ask: bool) -> str:
    """Down to an older schema, with nobody at work on the SQLite file."""
    from rag_monitor.store import migration
    from rag_monitor.store.engine import parse_url
    from rag_monitor.store.lockfile import FileLock

    text = msgid(
        "Go back from schema {before} to {wanted}? What {wanted} has no place for is deleted."
    )
    if ask and not typer.confirm(say(text, before=before, wanted=wanted), err=True):
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


def recover(
    source: Annotated[Path, typer.Argument(help="The damaged SQLite file; it is only read.")],
    target: Annotated[Path, typer.Argument(help="The file to make.")],
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Copy what is readable of a damaged SQLite file into a new one, counted by table.

    Stop the monitor first. Exit 1 when rows were lost or nobody can say.
    """
    del language  # chosen for all that is said below
    from rag_monitor.store.integrity import quick_check
    from rag_monitor.store.salvage import salvage

    tables = salvage(source, target)
    findings = quick_check(target) or []
    if as_json:
        print_json({"tables": [asdict(one) for one in tables], "findings": findings})
    else:
        for one in tables:
            if one.lost is None:
                text = msgid("{table}: {copied} rows copied, unknown how many were lost")
                print_line(say(text, table=one.table, copied=one.copied))
            elif one.copied or one.lost:
                text = msgid("{table}: {copied} rows copied, {lost} lost")
                print_line(say(text, table=one.table, copied=one.copied, lost=one.lost))
        text = msgid("{path} is whole; name it in RAG_MONITOR_DATABASE_URL, or move it into place")
        if not findings:
            print_line(say(text, path=target))
    if findings or any(one.lost != 0 for one in tables):
        raise typer.Exit(1)
