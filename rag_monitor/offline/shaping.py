"""A row of any tool's file as Trace JSON: names, lists in strings, passages, ids, times, scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rag_monitor.ingest.content import answer_in, question_in
from rag_monitor.ingest.trace_encoding import FIELDS
from rag_monitor.ingest.values import structured
from rag_monitor.offline.cells import STRUCTURED, UnreadableField, read_cell, read_string
from rag_monitor.offline.columns import CONTEXT_IDS, rename
from rag_monitor.offline.exported import gathered
from rag_monitor.offline.foreign_scores import gather
from rag_monitor.offline.passages import listed_ids, read_passages, with_ids

_Find = Callable[[object], str | None]
_IN_TEXTS: Final[Mapping[str, _Find]] = {
    "question": question_in, "answer": answer_in, "reference": answer_in,
}  # fmt: skip
"""Fields that may hold objects, and how their text is found in one that is written as a text."""
_NESTED: Final[Mapping[str, _Find]] = {**_IN_TEXTS, "question": partial(question_in, lone=True)}
"""The same of one that is no text."""
_WRAPPERS: Final = frozenset({"input", "inputs", "output", "outputs"})
"""Columns of whole inputs and outputs, which exports write as JSON in a text."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A row with the names and shapes of Trace JSON."""

    fields: Mapping[str, Any]
    unread: tuple[str, ...] = ()
    """Passages that were left out, each with its place and what stands there."""
    error: str | None = None
    """Why the row cannot be used; `fields` are as far as it was read."""


def shaped(raw: Mapping[str, Any], names: Mapping[str, str], *, cells: bool = False) -> Shaped:
    """`raw` as Trace JSON has it.

    Args:
        raw: As the file has it.
        names: See `columns.names_with`.
        cells: Texts are those of a table's cells, where text stands for everything.
    """
    opened = {
        name: inner
        for name, value in raw.items()
        if name in _WRAPPERS and (inner := _object_in(value)) is not None
    }
    fields = _unnested(rename(raw, names), rename(opened, names), names)
    read = read_cell if cells else _read
    try:
        fields = {
            name: read(name, value) if isinstance(value, str) else value
            for name, value in fields.items()
        }
        if isinstance(fields.get("contexts"), str) and "contexts" not in raw:
            fields["contexts"] = [fields["contexts"]]  # a column of texts, under another name
        fields, unread = _with_passages(fields)
    except UnreadableField as error:
        return Shaped(fields, error=str(error))
    return Shaped(gather(gathered(fields)), tuple(unread))


def _object_in(value: Any) -> Mapping[str, Any] | None:
    """The object that a text is the JSON of; None: the value is no such text."""
    inner = structured(value) if isinstance(value, str) else None
    return inner if isinstance(inner, Mapping) else None


def _unnested(
    fields: dict[str, Any], opened: Mapping[str, Any], names: Mapping[str, str]
) -> dict[str, Any]:
    """The row with what objects in it hold: `{"inputs": {"question": …}, "outputs": {…}}`.

    An object in a text counts where it holds what is looked for; else the text is what was said.
    """
    for name in _NESTED:
        inner = opened.get(name, fields.get(name))
        find = (_IN_TEXTS if name in opened else _NESTED)[name]
        if not isinstance(inner, Mapping):
            continue
        inner_rows = find(inner)
        if inner_rows is None:
            continue
        beside = {} if name == "reference" else rename(inner, names)
        fields = {**{k: v for k, v in beside.items() if k in FIELDS}, **fields, name: inner_rows}
    return fields


def _read(name: str, value: str) -> Any:
    return read_string(name, value) if name in STRUCTURED else value


def _with_passages(fields: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    unread: list[str] = []
    if fields.get("contexts") is not None:
        fields["contexts"], unread = read_passages(fields["contexts"])
    ids = fields.pop(CONTEXT_IDS, None)
    if ids is not None:
        fields["contexts"] = with_ids(fields.get("contexts"), ids)
    if fields.get("relevant_ids") is not None:
        fields["relevant_ids"] = listed_ids(fields["relevant_ids"])
    if isinstance(fields.get("retrievals"), list):
        fields["retrievals"] = [_retrieval(item, unread) for item in fields["retrievals"]]
    return fields, unread


def _retrieval(item: Any, unread: list[str]) -> Any:
    if not isinstance(item, Mapping) or item.get("documents") is None:
        return item
    documents, left_out = read_passages(item["documents"], "documents")
    unread += left_out
    return {**item, "documents": documents}
