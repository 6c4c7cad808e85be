"""What metrics, reasons and states are called, and below which value a metric counts as low."""

from __future__ import annotations

from typing import Final

from rag_monitor.metrics import names

_HELP: Final = {
    "faithfulness": "Share of the answer that its passages support",
    "answer_supported": "Chance that no statement is unsupported",
    "answer_relevance": "Does it answer the question, without padding?",
    "answer_relevancy": "Question against questions made of the answer",
    "context_relevance": "Relevant passages among those retrieved",
    "context_precision": "Are the useful passages ranked first?",
    "context_utilization": "Passages the answer actually drew on",
    "context_recall": "Key points that the passages cover",
    "summary_score": "Questions answered, weighed against length",
    "refusal_rate": "Answers that decline to answer",
    "first_byte_ms": "Question received to first piece of the answer",
    "generation_ms": "Last retrieval to complete answer",
    "end_to_end_ms": "Question received to complete answer",
    "retrieval_ms": "Time spent in the retriever",
}
METRICS: Final = {name: (names.METRIC_NAMES[name][0], text) for name, text in _HELP.items()} | {
    "error_share": ("Errors", "Share of traces that failed")
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
REASONS: Final = {
    "app_gone": "the app sends nothing any more",
    "budget_exhausted": "the budget is spent",
    "changed_word": "a word was exchanged for another",
    "contexts_unknown": "the passages are not known",
    "contradiction": "it says the opposite of a passage",
    "date_mismatch": "a date is not in the passage",
    "derived_number": "follows by arithmetic from the passage",
    "empty_answer": "there is no answer",
    "inferred": "inferred by the judge",
    "injection_plea": "it tries to influence the judge",
    "input_too_long": "longer than the judge can read",
    "judge_behind": "the judge did not get to it in time",
    "judge_error": "the judge failed",
    "judge_output_invalid": "the judge's reply cannot be read",
    "judge_refused": "the judge's server refuses us: key, model name, address or credit",
    "judge_timeout": "the judge took too long",
    "judge_unavailable": "the judge cannot be reached",
    "languages_differ": "it is in another language than what it is compared with",
    "low_label_mass": "the judge answered neither yes nor no",
    "name_not_found": "a name is not in the passage",
    "negation": "one says what the other denies",
    "no_answer": "there is no answer",
    "no_contexts": "nothing was retrieved",
    "no_embedder": "this judge has no embedding model",
    "no_entities": "there are no names, dates or quantities",
    "no_generator": "this judge writes no questions",
    "no_key_phrases": "there are no key phrases",
    "no_key_points": "no key points are labelled",
    "no_question": "there is no question",
    "no_statements": "it makes no statement",
    "no_traces": "no traces",
    "not_covered": "no passage says this",
    "nothing_stated": "it makes no statement",
    "number_mismatch": "a number is not in the passage",
    "opposite": "it says the opposite of a passage",
    "refusal": "the answer declines",
    "refusal_on_empty_contexts": "declined, as nothing was retrieved",
    "refusal_rule": "the answer declines",
    "reply_cut": "the model thought, and had no room left for its reply",
    "reply_withheld": "a content filter, or the model itself, declined to judge it",
    "request_refused": "the judge refused the request",
    "rule_removed": "the rule was removed",
    "says_nothing": "it says nothing",
    "series_mismatch": "another model or series",
    "supported": "a passage says this",
    "unit_mismatch": "a unit was changed",
    "unknown_judge": "the judge is not known",
    "unsupported_aspect": "this judge cannot tell",
    "verdict_invalid": "the judge's verdict is invalid",
    "verbatim": "it stands in the passage word for word",
    "verdict_missing": "the judge left it out",
    "year_mismatch": "another year",
}
"""Machine words of scores, verdicts and findings, as people say them."""
DRAWN: Final = {
    "always": "every trace is judged",
    "base_rate": "base rate",
    "stratum": "rate of its stratum",
    "error": "it failed",
    "uncertain": "the quick score is unsure",
    "new_release": "new release",
    "feedback": "somebody marked it",
    "forced": "somebody asked for it",
    "budget": "the budget is nearly spent",
}
RULES: Final = {
    "answer supported drop": "answer supported drop",
    "context precision drop": "context precision drop",
    "end-to-end latency": "end-to-end latency",
    "faithfulness drop": "faithfulness drop",
    "hit rate drop": "hit rate drop",
    "judge failures": "judge failures",
    "no data": "no data",
    "suspect share": "suspect share",
}
"""The names of shipped rules, to be translated where they are shown."""
RULE_KINDS: Final = {
    "threshold": "threshold",
    "drop": "drop",
    "change": "change",
    "burn_rate": "burn rate",
    "no_data": "no data",
    "judge_failures": "judge failures",
    "suspect": "suspect texts",
    "hit_rate": "hit rate",
    "latency": "latency",
    "budget": "budget",
}
SEVERITIES: Final = {"page": "page", "ticket": "ticket"}
THANKS: Final = {
    "estimates": "Thank you. Your mark counts in the estimates.",
    "check": "Thank you. Your mark is recorded and checks the judge. "
    "Only marks on answers drawn for people count in the estimates.",
    "kept": "Thank you. Your mark is recorded.",
}
"""What a mark does, by what the address says after it was made."""
SCOPES: Final = {
    "ingest": "send traces",
    "read": "read",
    "write": "make changes",
    "admin": "administer",
}
AGREEMENT: Final = {
    "auroc": "AUROC",
    "balanced_accuracy": "Balanced accuracy",
    "f1": "F1",
    "kappa": "Cohen's κ",
    "ece": "Calibration error",
    "brier": "Brier score",
}


SINGULAR: Final = {
    "{n} calls": "{n} call",
    "{n} items": "{n} item",
    "{n} more alerts fire": "{n} more alert fires",
    "{n} apps are left out: only the newest are shown.": "{n} app is left out: only the newest are "
    "shown.",
    "{n} quiet apps are left out.": "{n} quiet app is left out.",
    "{n} rules watch": "{n} rule watches",
    "{n} traces wait to be judged, the oldest for {age}": "{n} trace waits to be judged, for {age}",
    "{n} traces wait for the judge they were drawn for, the oldest for {age}": "{n} trace waits "
    "for the judge it was drawn for, for {age}",
}
"""How English says a sentence when `n` is 1; Chinese has no such forms."""


def metric_label(metric: str) -> str:
    """The English label; an unknown metric is called by its name.

    What a hit-rate rule has for a metric is a kind of what is called.
    """
    return METRICS.get(metric, (KINDS.get(metric, metric), ""))[0]


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
