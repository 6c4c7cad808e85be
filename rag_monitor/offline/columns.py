"""What other tools and tables call their columns, and what Trace JSON calls them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from rag_monitor.ingest.schema_fields import FIELDS
from rag_monitor.ingest.trace_encoding import TIMINGS

CONTEXT_IDS: Final = "context_ids"
"""Ids of the passages in a column of their own."""

COLUMN_NAMES: Mapping[str, str] = {
    # Ragas 0.2 and later
    "user_input": "question",
    "response": "answer",
    "retrieved_contexts": "contexts",
    "retrieved_context_ids": CONTEXT_IDS,
    "reference_context_ids": "relevant_ids",
    # DeepEval
    "input": "question",
    "actual_output": "answer",
    "expected_output": "reference",
    "retrieval_context": "contexts",
    # Ragas 0.1, TruLens and common exports
    "ground_truth": "reference",
    "ground_truths": "reference",
    "query_text": "question",
    # Labels and predictions
    "prediction": "predicted",
    "predicted_label": "predicted",
    "y_pred": "predicted",
    "true_label": "label",
    "y_true": "label",
}
"""Columns of other systems and what Trace JSON calls them; of several that mean one field the first
of these with something in it is taken, and a column of our own name wins."""

_OWN: Final = frozenset({*FIELDS, *TIMINGS, CONTEXT_IDS})
_NEXT_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+")


def names_with(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """`COLUMN_NAMES` and what a user says of the file, which wins."""
    given = columns or {}
    return {**given, **{name: ours for name, ours in COLUMN_NAMES.items() if name not in given}}


def name_of(column: str, names: Mapping[str, str]) -> str:
    """What Trace JSON calls a column; `Retrieval Context` and `retrievalContext` are one name."""
    known = names.get(column)
    if known is not None or column in _OWN:
        return known or column
    folded = _NEXT_WORD.sub("_", column.strip()).lower()
    return names.get(folded, folded if folded in _OWN else column)


def rename(raw: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """`raw` with Trace JSON names, without what tables write into cells that are empty.

    What has no place keeps its own name.
    """
    fields = {name: value for name, value in raw.items() if not _is_gap(value)}
    order = {column: place for place, column in enumerate(names)}
    others = [name for name in fields if name_of(name, names) != name]
    for name in sorted(others, key=lambda name: order.get(name, len(order))):
        target = name_of(name, names)
        if fields.get(target) is None:
            fields[target] = fields.pop(name)
    return fields


def _is_gap(value: object) -> bool:
    """Whether a table has nothing here: NaN is how data frames say so."""
    return isinstance(value, float) and math.isnan(value)
