"""What may be a mistake in a rule that can work: it watches what nobody has seen yet."""

from __future__ import annotations

from collections.abc import Collection

from rag_monitor.domain.alert import AlertRule
from rag_monitor.i18n import Message
from rag_monitor.spelling import did_you_mean


def warnings_of(rule: AlertRule, apps: Collection[str]) -> list[str]:
    """Sentences about a rule that will stay silent until something changes.

    Args:
        rule: A rule that has passed `check_rule`.
        apps: The applications that have sent traces to its project.
    """
    if rule.app == "*" or rule.app in apps:
        return []
    return [
        Message(
            "app: no stored trace is of an application called {app!r}{meant}; the rule finds "
            "nothing until one comes",
            app=rule.app,
            meant=did_you_mean(rule.app, apps),
        )
    ]
