"""Rows of a table that `rag-monitor export` wrote: flat columns beside the whole trace as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from rag_monitor.ingest.trace_encoding import TIMINGS

TIMING_COLUMNS: Final = ("first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms")
TOKEN_COLUMNS: Final = ("input_tokens", "output_tokens")
SCORES_COLUMN: Final = "scores"
TRACE_COLUMN: Final = "trace"
"""All of the trace, as JSON."""

_NOT_OF_A_TRACE: Final = frozenset({*TIMING_COLUMNS, *TOKEN_COLUMNS, SCORES_COLUMN, TRACE_COLUMN})


def restored(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The trace that an exported row holds; of any other table the row with its timings in place.

    Columns win over the JSON beside them: somebody may have mended or emptied them since.
    """
    whole = _whole(row.get(TRACE_COLUMN))
    if whole is None:
        return gathered(row)
    columns = {name: value for name, value in row.items() if name not in _NOT_OF_A_TRACE}
    if columns.get("contexts") == _texts(whole.get("contexts")):
        columns.pop("contexts", None)  # those of the trace have ids and scores, too
    return {
        **whole,
        **columns,
        "timings": _folded(whole.get("timings"), row, TIMING_COLUMNS),
        "usage": _folded(whole.get("usage"), row, TOKEN_COLUMNS),
    }


def gathered(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A table without the whole traces: times and tokens are where Trace JSON has them."""
    fields = dict(row)
    for target, names in (("timings", TIMINGS), ("usage", TOKEN_COLUMNS)):
        beside = fields.get(target)
        numbers = {name: row[name] for name in names if _is_number(row.get(name))}
        if numbers and (beside is None or isinstance(beside, dict)):
            fields[target] = {**(beside or {}), **numbers}
            for name in numbers:
                del fields[name]
    return fields


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def _whole(cell: object) -> Mapping[str, Any] | None:
    if not isinstance(cell, str):
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "trace_id" in value else None


def _texts(contexts: object) -> object:
    if not isinstance(contexts, list):
        return contexts
    return [item.get("content") if isinstance(item, dict) else item for item in contexts]


def _folded(given: object, row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    beside = given if isinstance(given, dict) else {}
    return {**beside, **{name: row[name] for name in names if name in row}}
