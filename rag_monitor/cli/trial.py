"""`rag-monitor doctor --notify`: does a message arrive?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from rag_monitor.alerting.dispatcher import TEST_NAME, make_test_messages
from rag_monitor.alerting.notifiers.notifier import Notifier
from rag_monitor.cli.words import say
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.i18n import msgid
from rag_monitor.spelling import did_you_mean

EVERY = "all"


def wanted(channels: Mapping[str, Notifier], name: str) -> list[str]:
    """The channels that are meant.

    Raises:
        ConfigurationError: There is none of that name.
    """
    if name == EVERY and EVERY not in channels:
        return list(channels)
    if name in channels:
        return [name]
    raise ConfigurationError(
        "--notify {name}: there is no such channel{meant}; configured: {names}",
        name=name,
        meant=did_you_mean(name, channels),
        names=", ".join(channels),
    )


def send_trial(channel: Notifier, name: str) -> str:
    """Send a test alert and its end through one channel; what to look for there.

    Raises:
        RagMonitorError: The channel did not take one of them, with its own words.
    """
    for notification in make_test_messages(DEFAULT_PROJECT, name, datetime.now(UTC)):
        try:
            channel.send([notification])
        except RagMonitorError as error:
            event, reason = notification.event, error
            text = msgid("the {event} message: {reason}")
            raise RagMonitorError(text, event=event, reason=reason) from error
    text = msgid("took an alert {name} and its resolution; look whether both arrived")
    return say(text, name=TEST_NAME)
