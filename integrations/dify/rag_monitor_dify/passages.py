"""Dify's citations and retrieval node outputs as passages, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_KEPT: Final = ("dataset_id", "document_id", "document_name", "data_source_type", "page")


def from_resources(resources: Sequence[Any]) -> list[dict[str, Any]]:
    """`retriever_resources` of a message, sorted by position."""
    objects = [r for r in resources if isinstance(r, Mapping)]
    objects.sort(key=lambda r: r["position"] if isinstance(r.get("position"), int) else 0)
    return [_passage(r, r) for r in objects]


def from_node(results: Sequence[Any]) -> list[dict[str, Any]]:
    """`outputs.result` of a knowledge retrieval node."""
    passages = []
    for result in results:
        if isinstance(result, Mapping):
            metadata = result.get("metadata")
            passages.append(_passage(result, metadata if isinstance(metadata, Mapping) else {}))
    return passages


def _passage(body: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": source.get("segment_id") or source.get("document_id"),
        "content": body.get("content"),
        "score": source.get("score"),
        "knowledge_base": str(source.get("dataset_name") or source.get("dataset_id") or "dify"),
        "metadata": {k: source[k] for k in _KEPT if source.get(k) is not None},
    }
