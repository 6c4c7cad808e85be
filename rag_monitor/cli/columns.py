"""The option `--columns`: what a file calls its columns, and what we call them."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_monitor.errors import ConfigurationError

ColumnsOption = Annotated[
    str | None,
    typer.Option("--columns", help="Columns of the file: theirs=ours, comma-separated."),
]


def parse_columns(text: str | None) -> dict[str, str]:
    """`frage=question,antwort=answer` as a mapping.

    Raises:
        ConfigurationError: A part is not a pair.
    """
    columns = {}
    for pair in (part.strip() for part in (text or "").split(",")):
        if not pair:
            continue
        theirs, sign, ours = pair.partition("=")
        if not sign or not theirs.strip() or not ours.strip():
            raise ConfigurationError(
                "--columns {pair!r}: write it as theirs=ours, e.g. frage=question", pair=pair
            )
        columns[theirs.strip()] = ours.strip()
    return columns
