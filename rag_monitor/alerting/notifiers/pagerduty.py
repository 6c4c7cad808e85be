"""PagerDuty Events API v2: one incident per alert, closed when it resolves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rag_monitor.alerting.incidents.wording import sentences
from rag_monitor.alerting.messages import compose, sentence_of
from rag_monitor.alerting.notifiers.notifier import DeliveryError
from rag_monitor.alerting.notifiers.transport import (
    HttpChannel,
    HttpOptions,
    decode,
    encode,
    excerpt,
    post,
)
from rag_monitor.alerting.plain_text import plain
from rag_monitor.domain.alert import Notification, Severity

_URL: Final = "https://events.pagerduty.com/v2/enqueue"
_MAX_SUMMARY: Final = 1024
_SEVERITIES: Final = {Severity.PAGE: "critical", Severity.TICKET: "warning"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerDutyOptions(HttpOptions):
    """The integration's routing key."""

    url: str = field(default=_URL, repr=False)
    routing_key: str = field(repr=False)


class PagerDutyNotifier(HttpChannel[PagerDutyOptions]):
    """Triggers and resolves incidents; the alert's id is the incident's key."""

    max_batch = 1

    def send(self, batch: Sequence[Notification]) -> None:
        """Send each event; raises DeliveryError unless PagerDuty says success."""
        for notification in batch:
            reply = post(self._options, encode(self._event(notification)))
            if decode(reply).get("status") != "success":
                raise DeliveryError("PagerDuty did not say success: {reply}", reply=excerpt(reply))

    def _event(self, notification: Notification) -> dict[str, Any]:
        alert, finding = notification.alert, notification.alert.finding
        incident = notification.incident
        message = compose([notification], self._language, self._public_url, zone=self._zone)
        summary = f"{message.title}: {sentence_of(alert, self._language, self._zone)}"
        return {
            "routing_key": self._options.routing_key,
            "event_action": "resolve" if notification.event == "resolved" else "trigger",
            "dedup_key": alert.id,
            "client": "rag-monitor",
            "payload": {
                "summary": plain(summary, _MAX_SUMMARY),
                "source": plain(alert.app, 200),
                "severity": _SEVERITIES[alert.severity],
                "timestamp": (alert.fired_at or alert.started_at).isoformat(),
                "component": plain(alert.app, 200),
                "group": plain(alert.project, 200),
                "class": plain(alert.rule, 200),
                "custom_details": {
                    "value": finding.value,
                    "interval": [finding.lower, finding.upper],
                    "level": finding.level,
                    "baseline": finding.baseline,
                    "unit": finding.unit or None,
                    "judged": finding.judged,
                    "baseline_judged": finding.baseline_judged,
                    "notes": list(finding.notes),
                    "incident": None if incident is None else incident.id,
                    "story": []
                    if incident is None
                    else sentences(incident, self._language, self._zone),
                },
            },
            "links": [
                {"href": link.url, "text": link.label}
                for item in message.items
                for link in item.links
            ],
        }
