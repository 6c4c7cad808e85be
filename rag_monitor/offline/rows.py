"""Labelled rows from files: JSONL, JSON, CSV, Excel, Parquet, Hugging Face data sets, streamed.

Whatever the file calls its columns, rows come out with the names and shapes of Trace JSON. A row
that cannot be read comes out as a `BadRow` in its place: nothing is lost and the order stays.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.installation import install_command
from rag_monitor.offline import workbook
from rag_monitor.offline.columns import names_with
from rag_monitor.offline.encodings import LOOKED_AT, UTF8_MARK, as_utf8, check_utf8, not_utf8
from rag_monitor.offline.exported import restored
from rag_monitor.offline.shaping import Shaped, shaped
from rag_monitor.offline.wrapped import rows_in, wraps_rows

_GZIP_MAGIC = b"\x1f\x8b"
_LINES = (".jsonl", ".ndjson")
_TABLES = (".csv", ".parquet", *workbook.KINDS)
_OF_CELLS = (".csv", *workbook.KINDS)
_LINES_LOOKED_AT = 51
_SEPARATOR = re.compile(r"\"?sep=([,;|\t])\"?[,;\t]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """One row, with Trace JSON names."""

    number: int
    """0-based place in the file."""
    fields: Mapping[str, Any]
    unread: tuple[str, ...] = ()
    """Passages that were left out because they cannot be read."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not be read."""

    number: int
    reason: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """As far as it was read."""


def read_rows(path: Path, columns: Mapping[str, str] | None = None) -> Iterator[Row | BadRow]:
    """Rows of `path` one at a time; a file larger than memory is no problem (but for `.json`).

    Args:
        path: `.jsonl`, `.json`, `.csv` (each also gzipped), `.xlsx`, `.parquet`, or the folder of a
            data set saved by Hugging Face `datasets`. A `.json` file may hold JSON lines, too, or
            an object around the rows.
        columns: The file's column to the Trace JSON name, in addition to `COLUMN_NAMES`.

    Raises:
        ConfigurationError: The file is missing, of an unknown kind, cannot be read or unpacked, or
            needs a library that is not installed.
    """
    names = names_with(columns)
    cells = _kind(path) in _OF_CELLS
    for row in raw_rows(path):
        if isinstance(row, BadRow):
            yield row
            continue
        yield row_of(row.number, shaped(row.fields, names, cells=cells))


def row_of(number: int, read: Shaped) -> Row | BadRow:
    """A row with its place; one that cannot be used as what it is."""
    if read.error is not None:
        return BadRow(number, read.error, read.fields)
    return Row(number, read.fields, read.unread)


def at_row(number: int, reason: object) -> Message:
    """What is wrong with a row or left out of it, with its place, from 0; `reason` as it is."""
    return Message("row {number}: {reason}", number=number + 1, reason=reason)


def raw_rows(path: Path) -> Iterator[Row | BadRow]:
    """Rows of `path` as they are, see `read_rows`.

    Raises:
        ConfigurationError: As `read_rows`.
    """
    if not path.exists():
        raise ConfigurationError("there is no file {path}", path=path)
    with readable(path):
        for number, raw in enumerate(_open_rows(path)):
            yield BadRow(number, raw) if isinstance(raw, str) else Row(number, raw)


def holds_lines(path: Path) -> bool:
    """Whether a file is one of JSON lines: by its name, and a `.json` file by its lines.

    A file of a kind nobody knows may be one.

    Raises:
        ConfigurationError: The file cannot be read or unpacked.
    """
    if path.is_dir():
        return False
    kind = _kind(path)
    if kind in _TABLES or (kind == ".json" and not looks_like_lines(path)):
        return False
    return not _is_one_document(path)


def _is_one_document(path: Path) -> bool:
    """Whether the only line of a file is an object around rows.

    Raises:
        ConfigurationError: The file cannot be read or unpacked.
    """
    with readable(path), open_bytes(path) as stream:
        lines = list(islice((line for line in stream if line.strip()), 2))
    return len(lines) == 1 and wraps_rows(_object(lines[0]))


def looks_like_lines(path: Path) -> bool:
    """Whether the first line is an object, or it is broken and most of those after it are.

    One document can never look like that: between two lines of it that are objects there is one
    that is not, and neither its first nor its last line is. The number of lines looked at is odd,
    so that this also holds of a beginning.

    Raises:
        ConfigurationError: The file cannot be read or unpacked.
    """
    with readable(path), open_bytes(path) as stream:
        lines = islice((line for line in stream if line.strip()), _LINES_LOOKED_AT)
        first = next(lines, b"").removeprefix(UTF8_MARK).strip()
        if _is_object(first):
            return True
        if first in (b"[", b"{"):  # a document that is written over many lines, whole or broken
            return False
        objects = [_is_object(line) for line in lines]
    return 2 * sum(objects) > len(objects)


def _is_object(line: bytes) -> bool:
    return line.lstrip().startswith(b"{") and isinstance(_object(line), dict)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say in one sentence what keeps a file from being read.

    Raises:
        ConfigurationError: It cannot be opened, read or unpacked.
    """
    try:
        yield
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError("cannot read {path}: {reason}", path=path, reason=reason) from None


def open_bytes(path: Path) -> IO[bytes]:
    """The text in a file as UTF-8, unpacked where it is gzipped, by content and not by name.

    Raises:
        ConfigurationError: The file is in an encoding that is neither UTF-8 nor marked Unicode.
    """
    with path.open("rb") as probe:
        packed = probe.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    # Where a packed file breaks off, reading it tells.
    with suppress(EOFError, zlib.error), _unpacked(path, packed=packed) as beginning:
        head = beginning.read(LOOKED_AT)
        check_utf8(path.name, head, whole=len(head) < LOOKED_AT)
    return _unpacked(path, packed=packed)


def _unpacked(path: Path, *, packed: bool) -> IO[bytes]:
    return as_utf8(cast("IO[bytes]", gzip.open(path, "rb")) if packed else path.open("rb"))


def _open_rows(path: Path) -> Iterator[Mapping[str, Any] | str]:
    if path.is_dir():
        return _data_set(path)
    kind = _kind(path)
    if kind == ".parquet":
        return _parquet(path)
    if kind == ".csv":
        return _csv(path)
    if kind in workbook.KINDS:
        return workbook.read_workbook(path)
    if kind == ".xls":
        raise ConfigurationError(
            "{path}: save it as .xlsx or .csv; .xls is not read", path=path.name
        )
    if kind not in (*_LINES, ".json"):
        raise ConfigurationError(
            "{path}: unknown kind of file; known are .jsonl, .json, .csv (also .gz), .xlsx, "
            ".parquet and a saved data set folder",
            path=path.name,
        )
    return _jsonl(path) if holds_lines(path) else _json(path)


def _kind(path: Path) -> str:
    """The suffix, without that of gzip."""
    suffixes = path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]
    return suffixes[0] if suffixes else ""


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    try:
        with io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise not_utf8(path.name, error) from None


def _jsonl(path: Path) -> Iterator[Mapping[str, Any] | str]:
    with open_bytes(path) as stream:
        for line in stream:
            if line.strip():
                yield _object(line)


def _object(line: bytes) -> Mapping[str, Any] | str:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return Message("not UTF-8 (byte {byte})", byte=error.start)
    except (ValueError, RecursionError) as error:
        return Message("not valid JSON: {reason}", reason=error)
    return value if isinstance(value, dict) else Message("not a JSON object")


def _json(path: Path) -> Iterator[Mapping[str, Any] | str]:
    with _text(path) as stream:
        try:
            value = json.load(stream)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(
                "{path} is not valid JSON: {reason}", path=path.name, reason=error
            ) from None
    for row in rows_in(value):
        yield row if isinstance(row, dict) else Message("not a JSON object")


def _csv(path: Path) -> Iterator[Mapping[str, Any] | str]:
    csv.field_size_limit(sys.maxsize)
    with _text(path) as stream:
        lines, delimiter = _delimited(stream)
        followed = _Followed(lines)
        table = csv.DictReader(followed, delimiter=delimiter)
        _ = table.fieldnames  # read now, so that only lines of rows are counted
        followed.since = 0
        for row in table:
            if followed.ended:
                yield Message(
                    "a quotation mark opens here and is never closed: the rest of the file is in "
                    "this row (lines: {lines})",
                    lines=followed.since,
                )
                continue
            followed.since = 0
            if None in row:
                yield Message("more cells than the header has columns")
                continue
            yield {name: value for name, value in row.items() if value not in ("", None)}


class _Followed(Iterator[str]):
    """Lines, and whether their reader has asked for more than there are.

    A reader of CSV does so only within a quoted cell: each line that is not within one ends a row.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.ended = False
        self.since = 0
        """Lines read since it was set to 0."""

    def __next__(self) -> str:
        try:
            line = next(self._lines)
        except StopIteration:
            self.ended = True
            raise
        self.since += 1
        return line


def _delimited(stream: IO[str]) -> tuple[Iterator[str], str]:
    """The lines of a table and what parts its cells.

    Where the comma is the decimal sign, a spreadsheet writes semicolons; other exports have tabs or
    bars. A first line such as `sep=;` says it to spreadsheets.
    """
    header = stream.readline()
    declared = _SEPARATOR.fullmatch(header.strip("\ufeff\r\n"))
    if declared is not None:
        return stream, declared[1]
    parted = max((",", ";", "\t", "|"), key=header.count)
    return chain((header,), stream), "," if "," in header else parted


def _parquet(path: Path) -> Iterator[Mapping[str, Any] | str]:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise ConfigurationError(
            "Parquet files need pyarrow: {command}", command=install_command("parquet")
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                yield from map(restored, batch.to_pylist())
    except arrow.ArrowException as error:
        raise ConfigurationError(
            "cannot read {path} as Parquet: {reason}", path=path, reason=error
        ) from None


def _data_set(path: Path) -> Iterator[Mapping[str, Any] | str]:
    """The Arrow files of `Dataset.save_to_disk`, read without the `datasets` library."""
    try:
        import pyarrow as arrow
    except ImportError:
        raise ConfigurationError(
            "saved data sets need pyarrow: {command}", command=install_command("parquet")
        ) from None
    files = sorted(path.rglob("*.arrow"))
    if not files:
        raise ConfigurationError("{path} holds no .arrow file: not a saved data set", path=path)
    for file in files:
        with arrow.memory_map(str(file)) as source, arrow.ipc.open_stream(source) as stream:
            for batch in stream:
                yield from batch.to_pylist()


def count_rows(path: Path) -> int | None:
    """How many rows `read_rows` will give, without decoding them; None when that is as dear.

    Raises:
        ConfigurationError: As `read_rows`.
    """
    if not path.exists():
        raise ConfigurationError("there is no file {path}", path=path)
    kind = _kind(path)
    with readable(path):
        if kind in _LINES and holds_lines(path):
            with open_bytes(path) as lines:
                return sum(1 for line in lines if line.strip())
        if kind == ".csv":
            csv.field_size_limit(sys.maxsize)
            with _text(path) as stream:
                rows, delimiter = _delimited(stream)
                return max(0, sum(1 for row in csv.reader(rows, delimiter=delimiter) if row) - 1)
        if kind == ".parquet" and path.is_file():
            return _parquet_rows(path)
    return None


def _parquet_rows(path: Path) -> int | None:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        return None
    try:
        with parquet.ParquetFile(path) as file:
            return int(file.metadata.num_rows)
    except arrow.ArrowException:
        return None  # reading it says why


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Every non-empty line with its 1-based number; compression is told by content, not by name.

    Raises:
        ConfigurationError: The file cannot be opened or unpacked.
    """
    with readable(path), open_bytes(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line
