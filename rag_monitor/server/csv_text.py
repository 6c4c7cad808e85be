"""Tables as CSV for spreadsheets. What a spreadsheet would take for a formula is quoted."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What begins a formula (OWASP, CSV injection), also in full width."""
_BLANKS: Final = " \n\u3000"
"""What some spreadsheets skip before it."""


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table with a head; texts that begin like a formula get an apostrophe before them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([safe_cell(row.get(column)) for column in columns])
    return out.getvalue()


def safe_cell(value: object) -> object:
    """The value; a text that a spreadsheet might run gets an apostrophe before it."""
    if value is None:
        return ""
    if isinstance(value, str) and _would_run(value.lstrip("'")):
        return "'" + value
    return value


def unquoted(cell: str) -> str:
    """The text that `safe_cell` made this cell of.

    >>> [unquoted(safe_cell(text)) for text in ("=1", "'=1", "'tis", " -")]
    ['=1', "'=1", "'tis", ' -']
    """
    return cell[1:] if cell.startswith("'") and _would_run(cell.lstrip("'")) else cell


def _would_run(text: str) -> bool:
    return text.startswith(_STARTS) or text.lstrip(_BLANKS).startswith(_STARTS)


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose inner objects are columns of their own: `useful.value`."""
    flattened: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flattened |= {f"{name}.{inner}": item for inner, item in flat(value).items()}
        else:
            flattened[name] = value
    return flattened
