"""What commands that judge a file share: the judge, its rows, what went wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_monitor.cli.words import chosen, said
from rag_monitor.errors import EverythingRefused
from rag_monitor.judges.judge import Judge

JudgeName = Annotated[
    str, typer.Option("--judge", help="Judge to ask; `rag-monitor doctor` shows the configured.")
]
RowsFile = Annotated[Path, typer.Argument(help="Rows: .jsonl, .json, .csv (also .gz), .parquet.")]


def create_judge(settings: Any, name: str | None = None) -> Judge:
    """The judge called `name` (default: the configured one), with the configured options.

    Raises:
        UnknownJudge: No judge of that name.
        ConfigurationError: Its options are not usable.
    """
    from rag_monitor.judges.budgeted import check_budgets
    from rag_monitor.judges.configured import check_tables, make_judge

    check_tables(settings.judges)
    check_budgets(settings.store.budgets, settings.judges)
    return make_judge(name or settings.judge, settings.judges)


@contextmanager
def refusals_told(name: str, *, resumable: bool = False) -> Iterator[None]:
    """Say of a judge whose server refuses everything what to mend.

    Args:
        name: What the command line calls the judge.
        resumable: The command can go on with what it has written.

    Raises:
        EverythingRefused: As it came, with words on what to do.
    """
    try:
        yield
    except EverythingRefused as error:
        text = (
            "{refusal}; nothing more was asked: mend the key, the model's name, the address or the"
            " credit in [judges.{judge}]"
        )
        message = said(text, chosen(), refusal=error, judge=name)
        if resumable:
            hint = said("go on afterwards with --resume", chosen())
            message = said("{one}; {other}", chosen(), one=message, other=hint)
        raise EverythingRefused(message) from None
