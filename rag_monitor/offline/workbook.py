"""Rows of an Excel workbook: those of its first sheet, streamed."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any, Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command

KINDS: Final = (".xlsx", ".xlsm")
_LARGEST: Final = 2**30
"""Bytes unpacked: a workbook is a zip file, and texts are held in memory."""


def read_workbook(path: Path) -> Iterator[Mapping[str, Any] | str]:
    """The rows below the first line that is not empty, which holds the names of the columns.

    Raises:
        ConfigurationError: It cannot be read, is too large, or openpyxl is missing.
    """
    try:
        import openpyxl
    except ImportError:
        raise ConfigurationError(
            "Excel files need openpyxl: {command}", command=install_command("xlsx")
        ) from None
    _check_size(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise _unreadable(path, error) from None
    try:
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # some programs write wrong ones
        yield from _rows(sheet.iter_rows(values_only=True))
    finally:
        book.close()


def _check_size(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        raise _unreadable(path, error) from None
    if size > _LARGEST:
        raise ConfigurationError(
            "{path} is larger than {largest:,} bytes unpacked; save it as .csv",
            path=path.name,
            largest=_LARGEST,
        )


def _unreadable(path: Path, error: Exception) -> ConfigurationError:
    return ConfigurationError("cannot read {path} as a workbook: {reason}", path=path, reason=error)


def _rows(lines: Iterator[tuple[Any, ...]]) -> Iterator[Mapping[str, Any] | str]:
    header: list[str] | None = None
    for line in lines:
        if all(cell is None for cell in line):
            continue
        if header is None:
            header = ["" if cell is None else str(cell).strip() for cell in line]
        else:
            yield _row(header, line)


def _row(header: list[str], line: tuple[Any, ...]) -> Mapping[str, Any] | str:
    named = [*header, *[""] * (len(line) - len(header))]
    fields = {}
    for column, cell in zip(named, line, strict=False):
        if cell is None or cell == "":
            continue
        if not column:
            return "more cells than the header has columns"
        fields[column] = cell.isoformat() if isinstance(cell, date | time) else cell
    return fields
