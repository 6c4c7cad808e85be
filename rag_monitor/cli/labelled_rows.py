"""The rows of a labelled file, for commands that hold a judge against labels or another judge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rag_monitor.cli.output import print_problem
from rag_monitor.errors import RagMonitorError

if TYPE_CHECKING:
    from rag_monitor.offline.labelled import LabelledRow

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
