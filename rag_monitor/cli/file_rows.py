"""Rows of files that commands read: the names of their columns, and those with labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rag_monitor.cli.output import print_problem
from rag_monitor.errors import ConfigurationError, RagMonitorError

if TYPE_CHECKING:
    from rag_monitor.offline.labelled import LabelledRow

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


_REMARKS: Final = 10


def labelled_rows(file: Path, columns: Mapping[str, str]) -> list[LabelledRow]:
    """Every row that could be read, in order; what could not is said on stderr, ten at most singly.

    Args:
        file: See `offline.rows.read_rows`.
        columns: The file's column to the Trace JSON name.

    Raises:
        ConfigurationError: The file is missing, of an unknown kind, or cannot be unpacked.
        RagMonitorError: It has rows, and none of them could be read.
    """
    from rag_monitor.offline.labelled import read_labelled

    rows = list(read_labelled(file, columns))
    errors = [row.row.error for row in rows if row.row.error is not None]
    unread = [passage for row in rows for passage in row.row.unread]
    for problem in (errors + unread)[:_REMARKS]:
        print_problem(problem)
    if errors and len(errors) == len(rows):
        raise RagMonitorError(
            "none of the {count} rows of {file} could be read", count=len(rows), file=file
        )
    if errors:
        print_problem(
            "left out because they cannot be read: {count} of {all} rows",
            count=len(errors),
            all=len(rows),
        )
    return [row for row in rows if row.row.error is None]
