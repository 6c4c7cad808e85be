"""`rag-monitor recover`: what is readable of a damaged SQLite file, in a new one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.words import LanguageOption, say
from rag_monitor.i18n import ENGLISH, msgid


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
