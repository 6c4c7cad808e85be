"""What metrics, reasons and states are called."""

from __future__ import annotations

from typing import Final

from rag_monitor.alerting.alert_actions import AlertAction
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.i18n import msgid
from rag_monitor.metrics import names

_HELP: Final = {
    "faithfulness": msgid("Share of the answer that its passages support"),
    "answer_supported": msgid("Chance that no statement is unsupported"),
    "answer_relevance": msgid("Does it answer the question, without padding?"),
    "answer_relevancy": msgid("Question against questions made of the answer"),
    "context_relevance": msgid("Relevant passages among those retrieved"),
    "context_sufficiency": msgid("Chance that the passages hold a complete answer"),
    "context_precision": msgid("Are the useful passages ranked first?"),
    "context_utilization": msgid("Passages the answer actually drew on"),
    "context_recall": msgid("Key points that the passages cover"),
    "citation_precision": msgid("Citations that support what they stand with"),
    "citation_recall": msgid("Statements that the passages they cite support"),
    "citation_validity": msgid("Citations of passages that exist"),
    "summary_score": msgid("Questions answered, weighed against length"),
    "refusal_rate": msgid("Answers that decline to answer"),
    "satisfaction_rate": msgid("Rated answers that satisfied their users"),
    "resolved_rate": msgid("The last answer was good, and nobody had to ask again or complained"),
    "session_faithfulness": msgid("Of the least faithful answer of each session"),
    "session_faithfulness_mean": msgid("Mean over the answers of each session"),
    "repeated_question_rate": msgid("Somebody asked for the same thing again"),
    "complaint_rate": msgid("Somebody said that an answer was bad"),
    "abandoned_rate": msgid("Nobody stayed for the end of the last answer"),
    "goal_reached_rate": msgid("Whether the user got what they came for, as a judge says"),
    "session_turns": msgid("Questions of a session"),
    "first_byte_ms": msgid("Question received to first piece of the answer"),
    "generation_ms": msgid("Last retrieval to complete answer"),
    "end_to_end_ms": msgid("Question received to complete answer"),
    "retrieval_ms": msgid("Time spent in the retriever"),
}
_OF_FAULTS: Final = msgid("Share of judged traces; each counts by how probable the fault is")
METRICS: Final = {name: (names.METRIC_NAMES[name], text) for name, text in _HELP.items()} | {
    names.ERROR_SHARE: (msgid("Errors"), msgid("Share of traces that failed")),
    **{name: (names.METRIC_NAMES[name], _OF_FAULTS) for name in FAULT_METRICS},
}
"""Label and one-line explanation, in English; both are translated."""

KINDS: Final = {
    "plugin": msgid("Plugin"),
    "knowledge_base": msgid("Knowledge base"),
    "workflow": msgid("Workflow"),
}
STATES: Final = {
    "firing": msgid("firing"),
    "pending": msgid("pending"),
    "resolved": msgid("resolved"),
    "inactive": msgid("inactive"),
}
RULE_STATES: Final = {
    "firing": STATES["firing"],
    "pending": STATES["pending"],
    "cannot_tell": msgid("cannot tell"),
    "ok": msgid("quiet"),
}
"""How a rule stands on an app, the most urgent first."""
STATUSES: Final = {
    "ok": msgid("ok"),
    "error": msgid("error"),
    "cancelled": msgid("cancelled"),
    "abandoned": msgid("abandoned"),
    "scored": msgid("scored"),
    "not_applicable": msgid("not applicable"),
    "failed": msgid("failed"),
    "suspect": msgid("suspect"),
}
DRAWN: Final = {
    "always": msgid("every trace is judged"),
    "base_rate": msgid("base rate"),
    "stratum": msgid("rate of its stratum"),
    "error": msgid("it failed"),
    "uncertain": msgid("the quick score is unsure"),
    "new_release": msgid("new release"),
    "feedback": msgid("somebody marked it"),
    "forced": msgid("somebody asked for it"),
    "budget": msgid("the budget is nearly spent"),
}
RULE_KINDS: Final = {
    "threshold": msgid("threshold"),
    "drop": msgid("drop"),
    "change": msgid("change"),
    "burn_rate": msgid("burn rate"),
    "error_rate": msgid("error rate"),
    "no_data": msgid("no data"),
    "traffic": msgid("traffic"),
    "judge_failures": msgid("judge failures"),
    "suspect": msgid("suspect texts"),
    "hit_rate": msgid("hit rate"),
    "latency": msgid("latency"),
    "budget": msgid("budget"),
}
THE_MONITOR: Final = msgid("The monitor itself")
RUNBOOK_INTRODUCTION: Final = msgid(
    "What to do about an alert. Begin with its incident: it says what broke first, which fault "
    "grew and where."
)
ROLES: Final = {
    "primary": msgid("primary"),
    "cheap": msgid("cheap"),
    "fallback": msgid("fallback"),
}
PARKED: Final = {
    "worker_lost_thrice": msgid("three workers were lost with it"),
    "unsavable": msgid("its scores cannot be saved"),
}
SEVERITIES: Final = {"page": msgid("page"), "ticket": msgid("ticket")}
THANKS: Final = {
    "estimates": msgid("Thank you. Your mark counts in the estimates."),
    "check": msgid(
        "Thank you. Your mark is recorded and checks the judge. "
        "Only marks on answers drawn for people count in the estimates."
    ),
    "kept": msgid("Thank you. Your mark is recorded."),
}
"""What a mark does, by what the address says after it was made."""
SCOPES: Final = {
    "ingest": msgid("send traces"),
    "read": msgid("read"),
    "write": msgid("make changes"),
    "admin": msgid("administer"),
}
AGREEMENT: Final = {
    "auroc": msgid("AUROC"),
    "balanced_accuracy": msgid("Balanced accuracy"),
    "f1": msgid("F1"),
    "kappa": msgid("Cohen's κ"),
    "ece": msgid("Calibration error"),
    "brier": msgid("Brier score"),
}
STATUS_TITLES: Final = (
    msgid("Bad Request"),
    msgid("Forbidden"),
    msgid("Not Found"),
    msgid("Method Not Allowed"),
    msgid("Request Timeout"),
    msgid("Request Entity Too Large"),
    msgid("Unsupported Media Type"),
    msgid("Unprocessable Entity"),
    msgid("Unprocessable Content"),
    msgid("Content Too Large"),
    msgid("Unauthorized"),
    msgid("Too Many Requests"),
    msgid("Service Unavailable"),
)
"""Titles of the pages of problems: `http.HTTPStatus` has them, its releases under two names."""


def metric_label(metric: str) -> str:
    """The English label; an unknown metric is called by its name.

    What a hit-rate rule has for a metric is a kind of what is called.
    """
    return METRICS.get(metric, (KINDS.get(metric, metric), msgid("")))[0]


def metric_help(metric: str) -> str:
    """One English line on what the number says; empty for an unknown metric."""
    return METRICS.get(metric, (msgid(""), msgid("")))[1]


ALERT_ACTIONS: Final = {
    AlertAction.ACKNOWLEDGE: msgid("Acknowledge"),
    AlertAction.SNOOZE_1H: msgid("Snooze 1 h"),
    AlertAction.SNOOZE_8H: msgid("Snooze 8 h"),
    AlertAction.SNOOZE_MORNING: msgid("Snooze until tomorrow 9:00"),
}
"""What the buttons say, in English."""
