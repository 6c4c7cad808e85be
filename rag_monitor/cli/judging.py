"""What commands that judge a file share: the judge, its rows, what went wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
    from rag_monitor.judges.configured import make_judge

    return make_judge(name or settings.judge, settings.judges)
