"""The channel that is always there: the server's log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from rag_monitor.alerting.messages import compose
from rag_monitor.domain.alert import Notification

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """A log channel has nothing to set."""


class LogNotifier:
    """Writes one warning per firing alert and one info per resolved one."""

    max_batch = 50

    def __init__(
        self,
        options: LogOptions | None = None,
        *,
        language: str = "en",
        public_url: str | None = None,
        timezone: str = "UTC",
    ) -> None:
        del options
        self._language = language
        self._public_url = public_url
        self._zone = ZoneInfo(timezone)

    def send(self, batch: Sequence[Notification]) -> None:
        """Log all of the batch."""
        for notification in batch:
            message = compose([notification], self._language, self._public_url, zone=self._zone)
            text = " | ".join((message.title, *message.items[0].lines))
            level = logging.WARNING if message.firing else logging.INFO
            _log.log(level, "alert %s: %s", notification.dedup_key, text)
