"""What stands in a cell or a string where Trace JSON wants a list, an object or a number."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from rag_monitor.errors import RagMonitorError
from rag_monitor.ingest.trace_encoding import TIMINGS
from rag_monitor.offline.columns import CONTEXT_IDS
from rag_monitor.offline.literals import looks_written_by_python, read_literal

_LISTS: Final = ("contexts", CONTEXT_IDS, "key_points", "context_labels", "relevant_ids", "tags")
_TEXTS: Final = frozenset({"id", "question", "answer", "query"})
"""Text, whatever it looks like: an answer may be JSON."""
_CLASSES: Final = frozenset({"label", "predicted"})
_WHOLE: Final = re.compile(r"-?\d+\.0")
"""How tables write a whole number where the column has gaps."""
STRUCTURED: Final = frozenset(
    {*_LISTS, "reference", "timings", "hits", "expected", "retrievals", "usage", "feedback"}
)
"""Fields whose value is a list or an object, also where a string holds it."""
_NUMBERS: Final = frozenset(TIMINGS)
_BRACKETS: Final = ("[", "{")


class UnreadableField(RagMonitorError):  # noqa: N818 - becomes a `BadRow`
    """A field cannot be read as what it must be."""


def read_cell(target: str, value: str) -> Any:
    """A cell of a table as Trace JSON wants its field `target`.

    Lists and objects are JSON, or what Python writes for them, see `literals`; text where a list is
    wanted is a list of one.

    Raises:
        UnreadableField: It begins as a list of texts does, is needed as one, and cannot be read.
    """
    if target.startswith("label_"):
        return int(value) if value in ("0", "1") else value
    if target in _CLASSES:
        return value.removesuffix(".0") if _WHOLE.fullmatch(value) else value
    if target in _TEXTS:
        return value
    if target in _NUMBERS:
        return _number(value)
    if target in STRUCTURED:
        read = read_string(target, value)
        return [read] if isinstance(read, str) and target in _LISTS else read
    return _parsed(target, value) if value.lstrip().startswith(_BRACKETS) else value


def read_string(target: str, value: str) -> Any:
    """The list or object that a string holds; the string itself where it holds none.

    Raises:
        UnreadableField: As `read_cell`.
    """
    read: Any = value
    while isinstance(read, str):  # JSON may stand in JSON
        inner = _parsed(target, read) if read.lstrip().startswith((*_BRACKETS, '"')) else read
        if inner == read:
            break
        read = inner
    if target == "reference" and not _is_texts(read):
        return value  # an answer may be JSON, and so may what it should be
    return value if isinstance(read, str) else read


def _parsed(target: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return _written_by_python(target, value)


def _written_by_python(target: str, value: str) -> Any:
    if looks_written_by_python(value):
        try:
            return read_literal(value)
        except ValueError as error:
            if target not in _LISTS:
                return value
            raise UnreadableField(
                "`{field}` looks like a list of Python or NumPy that cannot be read ({reason}); "
                "write the column as JSON",
                field=target,
                reason=error,
            ) from None
    return value  # "[1] Opening hours" is a passage


def _is_texts(value: object) -> bool:
    listed = isinstance(value, list) and bool(value)
    return listed and all(isinstance(item, str) for item in value)  # type: ignore[attr-defined]


def _number(value: str) -> Any:
    try:
        return float(value)
    except ValueError:
        return value
