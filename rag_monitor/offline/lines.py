"""The scores file of an evaluation: written line by line, read back to go on or to compare."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, Protocol

from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command
from rag_monitor.offline.rows import BadRow, raw_rows

_DANGEROUS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def guarded(value: object) -> str:
    """A cell's text; what a spreadsheet would run begins with an apostrophe (OWASP, CSV injection).

    Numbers stay numbers: only text is guarded.
    """
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    text = str(value)
    return f"'{text}" if text.startswith((*_DANGEROUS, "'")) else text


def unguarded(cell: str) -> str:
    """The text behind a cell that `guarded` wrote."""
    return cell.removeprefix("'")


KINDS: Final = (".jsonl", ".csv", ".parquet")
RESUMABLE: Final = (".jsonl", ".csv")
_OTHER: Final = ("flagged", "not_applicable", "failed", "suspect")
_REASONS: Final = ("not_applicable", "failed", "suspect")
_REPORTED: Final = "reported"
_ABOUT: Final = (_REPORTED, "input", "judge", "settings", "detail", "question")
"""What other tools report, of what a line was made, by whom, with which settings, what was said
when it failed, and the question."""
_ROW_GROUP: Final = 2_000

Line = Mapping[str, Any]


class LineWriter(Protocol):
    """Where finished lines go."""

    def write(self, line: Line) -> None:
        """Append one line; nothing of it is lost when the process is killed afterwards."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...


def open_lines(path: Path, metrics: Sequence[str], *, append: bool = False) -> LineWriter:
    """A writer of the kind that the file's name says.

    Raises:
        ConfigurationError: Another kind of file, or one that cannot be appended to.
    """
    check_kind(path)
    if append and path.suffix not in RESUMABLE:
        raise ConfigurationError(
            "--resume can go on with {kinds} files only", kinds=" or ".join(RESUMABLE)
        )
    if path.suffix == ".parquet":
        return _Parquet(path, metrics)
    about = _about(path) if append else _ABOUT
    newline = "" if path.suffix == ".csv" else "\n"
    stream = path.open("a" if append else "w", encoding="utf-8", newline=newline)
    fresh = not append or path.stat().st_size == 0
    if path.suffix != ".csv":
        return _Jsonl(stream)
    return _Csv(stream, metrics, header=fresh, about=about)


def _about(path: Path) -> Sequence[str]:
    """The columns of `_ABOUT` that the file to go on with has: older ones have fewer."""
    if path.suffix != ".csv":
        return _ABOUT
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header = next(csv.reader(stream), None)
    return _ABOUT if header is None else [name for name in _ABOUT if name in header]


def check_kind(path: Path) -> None:
    """Refuse a kind of file that cannot be written.

    Raises:
        ConfigurationError: The file is none of `KINDS`.
    """
    if path.suffix not in KINDS:
        raise ConfigurationError(
            "--output writes {kinds} files, not {suffix}",
            kinds=", ".join(KINDS),
            suffix=path.suffix or path,
        )


class _Jsonl:
    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, line: Line) -> None:
        text = json.dumps(line, ensure_ascii=False)
        # Half a surrogate pair is text to Python and an error to every encoder.
        self._stream.write(text.encode("utf-8", "replace").decode() + "\n")
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()


class _Csv:
    def __init__(
        self, stream: IO[str], metrics: Sequence[str], *, header: bool, about: Sequence[str]
    ) -> None:
        self._stream = stream
        self._metrics = tuple(metrics)
        self._about = tuple(about)
        self._rows = csv.writer(stream, lineterminator="\n")
        if header:
            self._rows.writerow(["id", *self._metrics, *_OTHER, *self._about])

    def write(self, line: Line) -> None:
        cells = [line["id"], *(line["scores"][name] for name in self._metrics), line["flagged"]]
        line = _folded(line)
        cells += [line.get(name) for name in (*_REASONS, *self._about)]
        written = [guarded(cell).encode("utf-8", "replace").decode() for cell in cells]
        self._rows.writerow(written)
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()


class _Parquet:
    def __init__(self, path: Path, metrics: Sequence[str]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ConfigurationError(
                "Parquet files need pyarrow: {command}", command=install_command("parquet")
            ) from None
        self._arrow = pyarrow
        self._metrics = tuple(metrics)
        self._schema = pyarrow.schema(
            [("id", pyarrow.string())]
            + [(name, pyarrow.float64()) for name in self._metrics]
            + [("flagged", pyarrow.bool_())]
            + [(name, pyarrow.string()) for name in (*_REASONS, *_ABOUT)]
        )
        self._writer = pyarrow.parquet.ParquetWriter(path, self._schema)
        self._rows: list[dict[str, Any]] = []

    def write(self, line: Line) -> None:
        folded = _folded(line)
        names = ("id", *_ABOUT, "flagged", *_REASONS)
        self._rows.append({name: folded.get(name) for name in names} | line["scores"])
        if len(self._rows) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, self._schema))
            self._rows.clear()

    def close(self) -> None:
        self._flush()
        self._writer.close()


def _folded(line: Line) -> Line:
    """The line with its objects as the JSON that a cell holds."""
    objects = {name: line.get(name) or {} for name in (*_REASONS, _REPORTED)}
    return {**line, **{name: json.dumps(o, ensure_ascii=False) for name, o in objects.items()}}


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a scores file, whatever kind it is.

    Raises:
        ConfigurationError: The file is missing or not one that `evaluate --output` wrote.
    """
    if not path.exists():
        raise ConfigurationError("there is no file {path}", path=path)
    check_kind(path)
    csv.field_size_limit(sys.maxsize)
    yield from _raw_csv(path) if path.suffix == ".csv" else _raw(path)


def _raw(path: Path) -> Iterator[Line]:
    for row in raw_rows(path):
        if isinstance(row, BadRow):
            raise ConfigurationError(
                "{path}, line {number}: {reason}",
                path=path.name,
                number=row.number + 1,
                reason=row.reason,
            )
        fields = row.fields
        if path.suffix == ".parquet":
            fields = _unfolded(fields)
        if not isinstance(fields.get("scores"), Mapping):
            raise _foreign(path)
        absent = {"flagged": None, **dict.fromkeys(_ABOUT)}
        yield {**absent, **{name: {} for name in (*_REASONS, _REPORTED)}, **fields}


def _raw_csv(path: Path) -> Iterator[Line]:
    if not path.exists():
        raise ConfigurationError("there is no file {path}", path=path)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.DictReader(stream)
        if rows.fieldnames is not None and "id" not in rows.fieldnames:
            raise _foreign(path)
        for row in rows:
            cells = {name: unguarded(cell or "") or None for name, cell in row.items() if name}
            numbers = {n: _cell_number(n, c) for n, c in cells.items()}
            yield _unfolded({**numbers, "id": cells.get("id")})


def _cell_number(name: str, cell: str | None) -> Any:
    if cell is None or name in (*_REASONS, *_ABOUT):
        return cell
    if name == "flagged":
        return cell == "True"
    try:
        return float(cell)
    except ValueError:
        return cell


def _unfolded(fields: Mapping[str, Any]) -> dict[str, Any]:
    others = {"id", "flagged", *_ABOUT, *_REASONS}
    return {
        "id": fields.get("id"),
        **{name: fields.get(name) for name in _ABOUT},
        "scores": {name: value for name, value in fields.items() if name not in others},
        "flagged": fields.get("flagged"),
        **{name: json.loads(fields.get(name) or "{}") for name in (*_REASONS, _REPORTED)},
    }


def _foreign(path: Path) -> ConfigurationError:
    return ConfigurationError("{path} is not a file that `evaluate --output` wrote", path=path.name)


def scores_of(line: Line) -> tuple[Score, ...]:
    """The scores behind a line; verdicts are not kept in it."""
    return tuple(_score(line, name, value) for name, value in line["scores"].items())


def _score(line: Line, name: str, value: object) -> Score:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = float(value) if is_number else None  # type: ignore[arg-type]
    flagged = line["flagged"] if name == "answer_supported" else None
    if number is not None and math.isfinite(number):
        return Score(metric=name, status=ScoreStatus.SCORED, value=number, flagged=flagged)
    for status in (ScoreStatus.NOT_APPLICABLE, ScoreStatus.SUSPECT):
        if name in line[status.value]:
            return Score(metric=name, status=status, reason=line[status.value][name])
    reason = line["failed"].get(name, "no_value")
    return Score(metric=name, status=ScoreStatus.FAILED, reason=reason, detail=line["detail"])


def drop_broken_end(path: Path) -> None:
    """Cut a last line that an interruption left unfinished."""
    with path.open("rb+") as stream:
        size = stream.seek(0, 2)
        place = size
        while place > 0:
            step = min(65_536, place)
            stream.seek(place - step)
            newline = stream.read(step).rfind(b"\n")
            if newline >= 0:
                stream.truncate(place - step + newline + 1)
                return
            place -= step
        stream.truncate(0)
