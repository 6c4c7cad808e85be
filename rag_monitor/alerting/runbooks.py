"""What to do about an alert: the rule's own runbook, or the section of ours on its kind.

Ours is the page `/runbooks` of the monitor itself, so that it opens wherever the monitor does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rag_monitor.domain.alert import Alert
from rag_monitor.i18n import msgid

MONITOR: Final = "monitor"
"""The section on alerts about the monitor."""

_AS_DROP: Final = msgid("Follow the steps under Drop.")
SECTIONS: Final[Mapping[str, Sequence[str]]] = {
    "drop": (
        msgid(
            "If a new release went out: open Compare and hold it against the one before. "
            "Roll back first if users are hurt."
        ),
        msgid("If none did: open the example traces. The fault of each names the stage."),
        msgid(
            "If it was judged by different judges (different_judges): the judge changed, not the "
            "application. Wait until it has judged both windows."
        ),
    ),
    "threshold": (
        _AS_DROP,
        msgid("If the metric was never inside the limit: set the limit anew."),
    ),
    "change": (
        msgid("The message names the minute in which quality began to slip."),
        msgid(
            "Look for what changed then: documents added, other traffic, a model behind an alias."
        ),
    ),
    "burn_rate": (
        msgid("The period's allowance of bad answers is spent too fast."),
        msgid("If the severity is page: follow the steps under Drop. If it is ticket: plan it."),
    ),
    "error_rate": (
        msgid("Open the traces with status error: the message of the error names what failed."),
        msgid("Check whether the model, the vector store or a plugin is down or limits requests."),
    ),
    "no_data": (
        msgid("Check that the application is up."),
        msgid("Run rag-monitor doctor beside it: it says whether the SDK reaches the monitor."),
        msgid("If the pause was meant: silence the rule for that time."),
    ),
    "traffic": (
        msgid("Fewer: check what sends people to the application, and whether it answers."),
        msgid("More: see in the trace list who asks what; a loop or a crawler asks alike."),
        msgid("Watch error rate and latency, and the judging budget, while it lasts."),
    ),
    "judge_failures": (
        msgid("The judge does not answer, so scores are missing. Open the page Judges."),
        msgid("Check key, quota and address of its model; rag-monitor doctor tries them."),
        msgid("Traces that were given up: rag-monitor tasks parked, then rag-monitor tasks retry."),
    ),
    "suspect": (
        msgid("Answers or passages address the judge (prompt injection). Open the flagged traces."),
        msgid("If passages do it: clean or remove their document."),
    ),
    "hit_rate": (
        msgid(
            "Look for what changed about the plugin, knowledge base or workflow: its name, its "
            "address, its permission, or the router's description of it."
        ),
        msgid('If it follows the time of day: set baseline = "last_week".'),
    ),
    "latency": (
        msgid("The page of the application shows which part grew: first byte, generation or "
              "retrieval."),
        msgid("Compare with the numbers of the back end behind that part."),
    ),
    "budget": (
        msgid("Judging spent today's budget: fewer traces are judged, and intervals get wider."),
        msgid("Raise the budget, or lower the sampling rate."),
    ),
    MONITOR: (
        msgid("These alerts are about no application. Run rag-monitor doctor first."),
        msgid("Then read the log of the process that the alert names."),
    ),
}  # fmt: skip
"""What to do, step by step, by kind of rule; English, to be translated."""


def runbook_url(section: str = "", own: str = "", base: str = "") -> str:
    """The page to follow.

    Args:
        section: A key of `SECTIONS`; another: the whole page.
        own: What the rule names, which goes before all else.
        base: Where people open the monitor; empty: the path alone, for its own pages.
    """
    if own:
        return own
    return f"{base.rstrip('/')}/runbooks" + (f"#{section}" if section in SECTIONS else "")


def runbook_of(alert: Alert) -> str:
    """The page to follow for an alert, for the monitor's own pages."""
    return runbook_url(_section(alert), alert.runbook_url)


def runbook_link(alert: Alert, public_url: str | None) -> str | None:
    """The same for messages, which are read elsewhere; see `outside_url`."""
    return outside_url(_section(alert), alert.runbook_url, public_url)


def outside_url(section: str, own: str, public_url: str | None) -> str | None:
    """The page to follow, from outside the monitor.

    Args:
        section: As in `runbook_url`.
        own: As in `runbook_url`.
        public_url: Where people open the monitor; None: that is not known, and only what the rule
            names can be linked.
    """
    return runbook_url(section, own, public_url or "") if own or public_url else None


def _section(alert: Alert) -> str:
    return alert.kind.value if alert.kind else ""
