"""Labelled rows from files: JSONL, JSON, CSV, Parquet and saved Hugging Face data sets, streamed.

Whatever the file calls its columns, rows come out with the names of Trace JSON. A row that cannot
be read comes out as a `BadRow` in its place, so that nothing is lost and the order stays.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from rag_monitor.errors import ConfigurationError
from rag_monitor.evaluation.encodings import LOOKED_AT, UTF8_MARK, as_utf8, check_utf8, not_utf8
from rag_monitor.evaluation.exported import restored
from rag_monitor.evaluation.literals import looks_written_by_python, read_literal

COLUMN_NAMES: Mapping[str, str] = {
    # Ragas 0.2 and later
    "user_input": "question",
    "response": "answer",
    "retrieved_contexts": "contexts",
    # Ragas 0.1, TruLens and common exports
    "ground_truth": "reference",
    "ground_truths": "reference",
    "query_text": "question",
    "prediction": "predicted",
}
"""Columns of other systems and what Trace JSON calls them; a column of our own name wins."""

_LISTS = ("contexts", "key_points", "context_labels", "relevant_ids", "tags")
_TEXTS = frozenset({"id", "question", "answer", "query", "label", "predicted"})
"""Text, whatever it looks like: an answer may be JSON."""
_JSON_LISTS = ("[", "{")
_GZIP_MAGIC = b"\x1f\x8b"
_LINES = (".jsonl", ".ndjson")
_TABLES = (".csv", ".parquet")
_LINES_LOOKED_AT = 51


@dataclass(frozen=True, slots=True)
class Row:
    """One row, with Trace JSON names."""

    number: int
    """0-based place in the file."""
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not be read."""

    number: int
    reason: str


def read_rows(path: Path, columns: Mapping[str, str] | None = None) -> Iterator[Row | BadRow]:
    """Rows of `path` one at a time; a file larger than memory is no problem (but for `.json`).

    Args:
        path: `.jsonl`, `.json`, `.csv` (each also gzipped), `.parquet`, or the folder of a data
            set saved by Hugging Face `datasets`. A `.json` file may hold JSON lines, too.
        columns: The file's column to the Trace JSON name, in addition to `COLUMN_NAMES`.

    Raises:
        ConfigurationError: The file is missing, of an unknown kind, cannot be read or unpacked, or
            needs a library that is not installed.
    """
    if not path.exists():
        raise ConfigurationError(f"there is no file {path}")
    names = names_with(columns)
    with readable(path):
        for number, raw in enumerate(_open_rows(path, names)):
            if isinstance(raw, str):
                yield BadRow(number, raw)
            else:
                yield Row(number, rename(raw, names))


def names_with(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """`COLUMN_NAMES` and what a user says of the file, which wins."""
    return {**COLUMN_NAMES, **(columns or {})}


def holds_lines(path: Path) -> bool:
    """Whether a file is one of JSON lines: by its name, and a `.json` file by its lines.

    A file of a kind nobody knows may be one.

    Raises:
        ConfigurationError: The file cannot be read or unpacked.
    """
    if path.is_dir():
        return False
    kind = _kind(path)
    if kind != ".json":
        return kind not in _TABLES
    return looks_like_lines(path)


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
        found = [_is_object(line) for line in lines]
    return 2 * sum(found) > len(found)


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
        raise ConfigurationError(f"cannot read {path}: {reason}") from None


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


def rename(raw: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """`raw` with Trace JSON names; a column that already has such a name is never overwritten."""
    fields: dict[str, Any] = {}
    for name, value in raw.items():
        target = names.get(name, name)
        if target != name and target in raw:
            fields[name] = value
        else:
            fields[target] = value
    return fields


def _open_rows(path: Path, names: Mapping[str, str]) -> Iterator[Mapping[str, Any] | str]:
    if path.is_dir():
        return _data_set(path)
    kind = _kind(path)
    if kind == ".parquet":
        return _parquet(path)
    if kind == ".csv":
        return _csv(path, names)
    if kind not in (*_LINES, ".json"):
        raise ConfigurationError(
            f"{path.name}: unknown kind of file; known are .jsonl, .json, .csv (also .gz), "
            ".parquet and a saved data set folder"
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
        return f"not UTF-8 (byte {error.start})"
    except (ValueError, RecursionError) as error:
        return f"not valid JSON: {error}"
    return value if isinstance(value, dict) else "not a JSON object"


def _json(path: Path) -> Iterator[Mapping[str, Any] | str]:
    with _text(path) as stream:
        try:
            value = json.load(stream)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{path.name} is not valid JSON: {error}") from None
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        yield row if isinstance(row, dict) else "not a JSON object"


def _csv(path: Path, names: Mapping[str, str]) -> Iterator[Mapping[str, Any] | str]:
    csv.field_size_limit(sys.maxsize)
    with _text(path) as stream:
        lines, delimiter = _delimited(stream)
        followed = _Followed(lines)
        table = csv.DictReader(followed, delimiter=delimiter)
        _ = table.fieldnames  # read now, so that only lines of rows are counted
        followed.since = 0
        for row in table:
            if followed.ended:
                yield (
                    "a quotation mark opens here and is never closed: the rest of the file is"
                    f" in this row (lines: {followed.since})"
                )
                continue
            followed.since = 0
            if None in row:
                yield "more cells than the header has columns"
                continue
            try:
                fields = {
                    name: _cell(names.get(name, name), value)
                    for name, value in row.items()
                    if value not in ("", None)
                }
            except _BadCell as error:
                yield str(error)
            else:
                yield fields


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

    Where the comma is the decimal sign, a spreadsheet writes semicolons; other exports have tabs.
    """
    header = stream.readline()
    parted = max((",", ";", "\t"), key=header.count)
    return chain((header,), stream), "," if "," in header else parted


class _BadCell(Exception):  # noqa: N818 - becomes a `BadRow`
    """A cell that can only be a list and cannot be read as one."""


def _cell(target: str, value: str) -> Any:
    """A cell as Trace JSON wants its field `target`.

    Lists and objects are JSON in CSV files, or what Python writes for them, see `literals`.

    Raises:
        _BadCell: It begins as a list of texts does, is needed as one, and cannot be read.
    """
    if target.startswith("label_"):
        return int(value) if value in ("0", "1") else value
    if target in _TEXTS:
        return value
    if value.lstrip()[:1] in _JSON_LISTS:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return _written_by_python(target, value)
    return [value] if target in _LISTS else value


def _written_by_python(target: str, value: str) -> Any:
    if looks_written_by_python(value):
        try:
            return read_literal(value)
        except ValueError as error:
            if target not in _LISTS:
                return value
            raise _BadCell(
                f"`{target}` looks like a list of Python or NumPy that cannot be read ({error});"
                " write the column as JSON"
            ) from None
    # "[1] Opening hours" is a passage.
    return [value] if target in _LISTS and value.lstrip().startswith("[") else value


def _parquet(path: Path) -> Iterator[Mapping[str, Any] | str]:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise ConfigurationError(
            'Parquet files need pyarrow: pip install "rag-monitor[parquet]"'
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                yield from map(restored, batch.to_pylist())
    except arrow.ArrowException as error:
        raise ConfigurationError(f"cannot read {path} as Parquet: {error}") from None


def _data_set(path: Path) -> Iterator[Mapping[str, Any] | str]:
    """The Arrow files of `Dataset.save_to_disk`, read without the `datasets` library."""
    try:
        import pyarrow as arrow
    except ImportError:
        raise ConfigurationError(
            'saved data sets need pyarrow: pip install "rag-monitor[parquet]"'
        ) from None
    files = sorted(path.rglob("*.arrow"))
    if not files:
        raise ConfigurationError(f"{path} holds no .arrow file: not a saved data set")
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
        raise ConfigurationError(f"there is no file {path}")
    kind = _kind(path)
    with readable(path):
        if kind in _LINES:
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
