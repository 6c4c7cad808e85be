"""Scores of other tools in the columns of a file: kept beside ours, never taken for them.

A column is one when it bears a metric's name or says that it is a score. Years, counts and prices
are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final

from rag_monitor.ingest.trace_encoding import FIELDS
from rag_monitor.metrics.rag import METRICS
from rag_monitor.metrics.text.suite import TEXT_METRICS

REPORTED: Final = "reported_scores"
"""Field of Trace JSON for scores of other tools."""

_FOREIGN: Final = frozenset(
    {
        # Ragas
        "answer_similarity", "answer_correctness", "response_relevancy", "semantic_similarity",
        "context_entity_recall", "factual_correctness", "noise_sensitivity", "nv_accuracy",
        "nv_context_relevance", "nv_response_groundedness", "string_present", "harmfulness",
        "id_based_context_precision", "id_based_context_recall", "non_llm_context_recall",
        "non_llm_context_precision_with_reference", "non_llm_string_similarity", "maliciousness",
        "llm_context_precision_with_reference", "llm_context_precision_without_reference",
        # DeepEval, TruLens, Phoenix, Azure
        "contextual_precision", "contextual_recall", "contextual_relevancy", "hallucination",
        "bias", "toxicity", "summarization", "g_eval", "geval", "groundedness", "comprehensiveness",
        "qa_correctness", "relevance", "coherence", "fluency", "similarity", "correctness",
        "conciseness", "helpfulness", "completeness",
    }
)  # fmt: skip
_NAMES: Final = _FOREIGN | {*METRICS, *TEXT_METRICS}
_DETAIL: Final = re.compile(r"\s*\(.*\)$|/v\d+(?=/|$)")
"""What Ragas and MLflow put behind a name: `(mode=f1)`, `/v1`."""
_SCORE: Final = re.compile(r"(?:^|[_./ ])scores?$|^(?:scores?|metrics?)[./]")
_MEASURED: Final = ("metrics_data", "metricsData")
"""DeepEval's list of what it measured on a row."""


def gather(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its foreign scores in `reported_scores`."""
    kept = dict(fields)
    scores: dict[str, float] = {}
    for name in [name for name in fields if _is_score(name)]:
        if (value := _real(kept[name])) is not None:
            scores[name] = value
        if value is not None or kept[name] is None:
            del kept[name]
    for name in _MEASURED:
        scores |= dict(_measured(kept.pop(name, None)))
    if isinstance(kept.get("scores"), Mapping):
        scores |= {name: value for name, given in kept.pop("scores").items()
                  if (value := _real(given)) is not None}  # fmt: skip
    if scores and not isinstance(kept.get(REPORTED), list):
        kept[REPORTED] = {**scores, **(kept.get(REPORTED) or {})}
    return kept


def reported_in(fields: Mapping[str, Any]) -> dict[str, float]:
    """The foreign scores of a row by name."""
    given = fields.get(REPORTED)
    if isinstance(given, Mapping):
        pairs: Any = given.items()
    else:
        pairs = ((item.get("name"), item.get("value")) for item in _objects(given))
    return {str(name): value for name, raw in pairs if (value := _real(raw)) is not None}


def _is_score(column: str) -> bool:
    if column in FIELDS:
        return False
    name = _DETAIL.sub("", column.strip()).lower()
    return "_".join(name.split()) in _NAMES or _SCORE.search(name) is not None


def _measured(value: object) -> Iterator[tuple[str, float]]:
    for item in _objects(value):
        score = _real(item.get("score"))
        if score is not None and item.get("name"):
            yield str(item["name"]), score


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _real(value: object) -> float | None:
    """A finite number, also where a table holds it as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isfinite(value) else None  # type: ignore[arg-type]
