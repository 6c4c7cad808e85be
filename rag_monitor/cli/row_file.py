"""Rows of the files that commands send to the monitor: JSON lines, or a table in a `.csv` file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from rag_monitor.errors import ConfigurationError

CSV: Final = ".csv"
Item = TypeVar("Item")


class Row(NamedTuple):
    """One row of a file."""

    number: int
    """Of the row, from 1; in JSON lines blank lines count."""
    line: int
    """Where it ends in the file."""
    value: Any
    """Cells by column, or what the JSON holds; None: it is no JSON."""


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file but blank ones.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix == CSV:
                table = csv.DictReader(file)
                for number, cells in enumerate(table, start=1):
                    yield Row(number, table.line_num, cells)
            else:
                for number, text in enumerate(file, start=1):
                    if text.strip():
                        yield Row(number, number, _json(text))
    except OSError as error:
        raise ConfigurationError(
            "{path} cannot be read: {reason}", path=path, reason=error.strerror
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(
            "{path} is not a table in UTF-8: {reason}", path=path, reason=error
        ) from error


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in lists of at most `size`."""
    batch: list[Item] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
