"""Where it says what to do about an alert: the rule's own page, or the shipped one on its kind."""

from __future__ import annotations

from typing import Final

from rag_monitor.domain.alert import Alert

_PAGES: Final = {
    "en": "https://github.com/rag-monitor/rag-monitor/blob/main/docs/runbooks.md",
    "zh": "https://github.com/rag-monitor/rag-monitor/blob/main/docs/zh/runbooks.md",
}
"""By language; each kind of rule has a section that is called by it."""
MONITOR: Final = "the-monitor-itself"
"""The section on alerts about the monitor."""


def runbook_url(section: str = "", own: str = "", language: str = "en") -> str:
    """The page to follow.

    Args:
        section: A kind of rule, or `MONITOR`; empty: the whole page.
        own: What the rule names, which goes before all else.
        language: Of the shipped page.
    """
    if own:
        return own
    page = _PAGES.get(language, _PAGES["en"])
    return f"{page}#{section}" if section else page


def runbook_of(alert: Alert, language: str = "en") -> str:
    """The page to follow for an alert."""
    return runbook_url(alert.kind.value if alert.kind else "", alert.runbook_url, language)
