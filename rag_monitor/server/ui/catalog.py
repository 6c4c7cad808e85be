"""What metrics, reasons and states are called, and below which value a metric counts as low."""

from __future__ import annotations

from typing import Final

METRICS: Final = {
    "faithfulness": ("Faithfulness", "Share of the answer that its passages support"),
    "answer_supported": ("Answer supported", "Chance that no statement is unsupported"),
    "answer_relevance": ("Answer relevance", "Does it answer the question, without padding?"),
    "answer_relevancy": ("Answer relevancy", "Question against questions made of the answer"),
    "context_relevance": ("Context relevance", "Relevant passages among those retrieved"),
    "context_precision": ("Context precision", "Are the useful passages ranked first?"),
    "context_utilization": ("Context utilization", "Passages the answer actually drew on"),
    "context_recall": ("Context recall", "Key points that the passages cover"),
    "summary_score": ("Summary score", "Questions answered, weighed against length"),
    "refusal_rate": ("Refusal rate", "Answers that decline to answer"),
    "first_byte_ms": ("First byte", "Question received to first piece of the answer"),
    "generation_ms": ("Generation", "Last retrieval to complete answer"),
    "end_to_end_ms": ("End to end", "Question received to complete answer"),
    "retrieval_ms": ("Retrieval", "Time spent in the retriever"),
}
"""Label and one-line explanation, in English; both are translated."""

BAD_BELOW: Final = {"faithfulness": 0.8, "answer_supported": 0.5}
_PASSAGE_BAD_BELOW: Final = 0.5

KINDS: Final = {
    "plugin": "Plugin",
    "knowledge_base": "Knowledge base",
    "workflow": "Workflow",
}
STATES: Final = {
    "firing": "firing",
    "pending": "pending",
    "resolved": "resolved",
    "inactive": "inactive",
}
STATUSES: Final = {
    "ok": "ok",
    "error": "error",
    "cancelled": "cancelled",
    "abandoned": "abandoned",
    "scored": "scored",
    "not_applicable": "not applicable",
    "failed": "failed",
    "suspect": "suspect",
}
NOTES: Final = {
    "embedded_uncorrected": "embedded judge, uncorrected",
    "few_judged": "few judged",
    "few_positives": "few of one kind",
    "incomplete": "incomplete window",
}


def metric_label(metric: str) -> str:
    """The English label; an unknown metric is called by its name."""
    return METRICS.get(metric, (metric, ""))[0]


def metric_help(metric: str) -> str:
    """One English line on what the number says; empty for an unknown metric."""
    return METRICS.get(metric, ("", ""))[1]


def level(metric: str, value: float | None) -> str:
    """`none`, `low` or `fine`: how a score is to be shown."""
    if value is None:
        return "none"
    if metric == "refusal_rate":
        return "low" if value > 0.3 else "fine"
    return "low" if value < BAD_BELOW.get(metric, _PASSAGE_BAD_BELOW) else "fine"
