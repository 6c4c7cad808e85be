"""What people call the metrics: on pages, in reports and in messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import HIT_RATE_METRIC, REFUSAL_METRIC, SATISFACTION_METRIC
from rag_monitor.domain.session_outcome import (
    ABANDONED_RATE,
    COMPLAINT_RATE,
    GOAL_REACHED_RATE,
    REPEATED_QUESTION_RATE,
    RESOLVED_RATE,
)
from rag_monitor.i18n import Message, msgid, translate

METRIC_NAMES: Final[Mapping[str, str]] = {
    "faithfulness": msgid("Faithfulness"),
    "answer_supported": msgid("Answer supported"),
    "answer_relevance": msgid("Answer relevance"),
    "answer_relevancy": msgid("Answer relevancy"),
    "context_relevance": msgid("Context relevance"),
    "context_sufficiency": msgid("Context sufficiency"),
    "context_precision": msgid("Context precision"),
    "context_utilization": msgid("Context utilization"),
    "context_recall": msgid("Context recall"),
    "citation_precision": msgid("Citation precision"),
    "citation_recall": msgid("Citation recall"),
    "citation_validity": msgid("Citation validity"),
    "summary_score": msgid("Summary score"),
    "refusal_rate": msgid("Refusal rate"),
    "satisfaction_rate": msgid("Satisfaction rate"),
    "resolved_rate": msgid("Resolved sessions"),
    "session_faithfulness": msgid("Faithfulness of the worst turn"),
    "session_faithfulness_mean": msgid("Faithfulness of sessions"),
    "repeated_question_rate": msgid("Sessions with a repeated question"),
    "complaint_rate": msgid("Sessions with a complaint"),
    "abandoned_rate": msgid("Abandoned sessions"),
    "goal_reached_rate": msgid("Sessions that served their user"),
    "session_turns": msgid("Turns per session"),
    "first_byte_ms": msgid("First byte"),
    "generation_ms": msgid("Generation"),
    "end_to_end_ms": msgid("End to end"),
    "retrieval_ms": msgid("Retrieval"),
    "fault:none": msgid("Share without a fault"),
    "fault:knowledge_gap": msgid("Share missing from the knowledge base"),
    "fault:missed_retrieval": msgid("Share missed by the retriever"),
    "fault:bad_ranking": msgid("Share ranked too low"),
    "fault:invented": msgid("Share of invented answers"),
    "fault:contradicted": msgid("Share that contradicts its passages"),
    "fault:off_topic": msgid("Share off topic"),
    "fault:incomplete": msgid("Share of incomplete answers"),
    "fault:needless_refusal": msgid("Share refused needlessly"),
    "fault:wrong_citation": msgid("Share with a wrong citation"),
    "fault:stale_source": msgid("Share from an outdated source"),
    "fault:conflicting_sources": msgid("Share with conflicting sources"),
    "fault:wrong_route": msgid("Share wrongly routed"),
    "fault:backend_error": msgid("Share with a back-end error"),
}
"""Of the metrics of live traffic, times and shares of faults included; to be translated where they
are shown."""

ERROR_SHARE: Final = "error_share"
"""What pages call the share of traces that failed: no rollup has this name."""
_SHARES: Final = frozenset(
    {
        *(REFUSAL_METRIC, SATISFACTION_METRIC, ERROR_SHARE),
        *(RESOLVED_RATE, REPEATED_QUESTION_RATE, COMPLAINT_RATE, ABANDONED_RATE, GOAL_REACHED_RATE),
        *FAULT_METRICS,
        *HitKind,
    }
)
_IN_A_SENTENCE: Final = re.compile(rf" ?(?<![\w./-])({'|'.join(METRIC_NAMES)})(?![\w./-]) ?")
"""A metric standing alone: an application may be called `faithfulness-test`."""


_SPACE_IN_CHINESE: Final = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")


def is_share(metric: str) -> bool:
    """Whether the number says how many of all, in percent, and not how good they are.

    What a hit-rate rule has for a metric is a kind of what is called.
    """
    return metric in _SHARES or metric.startswith(f"{HIT_RATE_METRIC}:")


def with_display_names(sentence: str, language: str, *, own_name: bool = True) -> str:
    """The sentence with metrics called as on the pages.

    Args:
        sentence: In either language.
        language: Of the names, `en` or `zh`.
        own_name: In Chinese the metric's own name stays beside it, in parentheses.
    """

    def name(match: re.Match[str]) -> str:
        label = translate(Message(METRIC_NAMES[match[1]]), language)
        if language == "zh" and own_name:
            return f"{label}（{match[1]}）"  # Chinese has no spaces around its words
        return match[0].replace(match[1], label)

    spoken = _IN_A_SENTENCE.sub(name, sentence)
    return _SPACE_IN_CHINESE.sub("", spoken) if language == "zh" and not own_name else spoken
