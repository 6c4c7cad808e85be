"""What commands that judge a file share: the judge, its rows, what went wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_monitor.cli.words import chosen, say
from rag_monitor.errors import EverythingRefused, QuotaExhausted
from rag_monitor.i18n import msgid, translate
from rag_monitor.judges.judge import Judge

JudgeName = Annotated[
    str, typer.Option("--judge", help="Judge to ask; `rag-monitor doctor` shows the configured.")
]
RowsFile = Annotated[
    Path, typer.Argument(help="Rows: .jsonl, .json, .csv (also .gz), .xlsx, .parquet.")
]


def create_judge(settings: Any, name: str | None = None) -> Judge:
    """The judge called `name` (default: the configured one), with the configured options.

    Raises:
        UnknownJudge: No judge of that name.
        ConfigurationError: Its options are not usable.
    """
    from rag_monitor.judges.factory import check_judges, make_judge

    check_judges(settings.judges, settings.store.budgets)
    return make_judge(name or settings.judge, settings.judges)


@contextmanager
def refusals_told(name: str, *, resumable: bool = False) -> Iterator[None]:
    """Say of a judge whose server refuses everything what to fix.

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
            msgid(
                "{refusal}; nothing more was asked: top up the account of [judges.{judge}], or "
                "raise its limit"
            )
            if isinstance(error.__cause__, QuotaExhausted)
            else msgid(
                "{refusal}; nothing more was asked: fix the key, the model's name, the address or"
                " the credit of [judges.{judge}]"
            )
        )
        refusal = translate(error, chosen()).rstrip(".。")
        message = say(text, refusal=refusal, judge=name)
        if resumable:
            hint = say("go on afterwards with --resume")
            message = say("{one}; {other}", one=message, other=hint)
        raise EverythingRefused(message) from None
