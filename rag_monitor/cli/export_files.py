"""Reads files that other products exported: JSON lines, whole JSON documents, parquet."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rag_monitor.cli.foreign_exports import READERS, rows_of
from rag_monitor.cli.otlp_rows import BadExport
from rag_monitor.cli.replay import BadRow, Row
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.installation import install_command
from rag_monitor.offline.rows import looks_like_lines, numbered_lines

_PARQUET_MAGIC: Final = b"PAR1"
_BATCH: Final = 500


def read_export(path: Path, form: str, app: str | None) -> Iterator[tuple[int, Row] | BadRow]:
    """OTLP/JSON requests with the line (or row) each came from.

    Args:
        path: `.jsonl`, `.json` (a list, a page or one object), either gzipped, or `.parquet`.
        form: `langfuse` or `phoenix`.
        app: Name of the application.

    Raises:
        ConfigurationError: The file cannot be read, or pyarrow is missing for parquet.
    """
    convert = READERS[form]
    for number, row in _rows(path):
        if isinstance(row, str):
            yield BadRow(number, row)
            continue
        try:
            yield number, convert(row, app)
        except (BadExport, ValueError, OverflowError) as error:
            yield BadRow(number, str(error))


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    if _is_parquet(path):
        yield from _parquet(path)
        return
    for number, line in numbered_lines(path):
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == 1 and not looks_like_lines(path):
                yield from _document(path)
                return
            yield number, Message("not JSON: {reason}", reason=error)
            continue
        for row in rows_of(content):
            yield number, Message("not a JSON object") if row is None else row


def _document(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """A file that is one document over many lines."""
    try:
        data = path.read_bytes()
        content = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        yield 1, Message("neither JSON lines nor one JSON document: {reason}", reason=error)
        return
    for number, row in enumerate(rows_of(content), 1):
        yield number, Message("not a JSON object") if row is None else row


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
    except OSError as error:
        raise ConfigurationError(
            "cannot read {path}: {reason}", path=path, reason=error.strerror or error
        ) from None


def _parquet(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError:
        raise ConfigurationError(
            "{path} is parquet; reading it needs pyarrow: {command}",
            path=path,
            command=install_command("parquet"),
        ) from None
    number = 0
    try:
        with ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (ArrowException, OSError) as error:
        raise ConfigurationError(
            "cannot read {path} as Parquet: {reason}", path=path, reason=error
        ) from None
