"""The record our SDK puts on a root span: Trace JSON with one abbreviation.

Passages are the bulk of a trace, and what reached the model is mostly what was retrieved. So a
record may say `"contexts": {"retrievals": [0, 2]}` instead of repeating the documents of these
retrievals (numbered from 0, in the order given).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_monitor.errors import MalformedPayload


def reference_contexts(retrievals: Sequence[int]) -> dict[str, list[int]]:
    """The abbreviation for all documents of these retrievals."""
    return {"retrievals": list(retrievals)}


def resolve_contexts(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record as plain Trace JSON; itself when nothing is abbreviated.

    Raises:
        MalformedPayload: A reference points to nothing.
    """
    contexts = record.get("contexts")
    if not isinstance(contexts, Mapping):
        return record
    numbers, retrievals = contexts.get("retrievals"), record.get("retrievals")
    if not isinstance(numbers, list) or not isinstance(retrievals, list):
        raise MalformedPayload("`contexts` must be a list, or name retrievals of this record")
    documents: list[Any] = []
    for number in numbers:
        documents += _documents(retrievals, number)
    return {**record, "contexts": documents}


def _documents(retrievals: list[Any], number: object) -> list[Any]:
    if type(number) is int and 0 <= number < len(retrievals):
        retrieval = retrievals[number]
        documents = retrieval.get("documents", []) if isinstance(retrieval, Mapping) else None
        if isinstance(documents, list):
            return documents
    raise MalformedPayload(
        "`contexts.retrievals` names {number!r}, which is no retrieval here", number=number
    )
