"""Alertmanager API v2: hands alerts to an Alertmanager that routes, groups and silences itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rag_monitor.alerting.incidents.wording import sentences
from rag_monitor.alerting.messages import (
    alert_url,
    app_url,
    compose,
    sentence_of,
    trace_url,
)
from rag_monitor.alerting.notifiers.transport import HttpChannel, HttpOptions, encode, post
from rag_monitor.alerting.plain_text import plain
from rag_monitor.alerting.runbooks import runbook_link
from rag_monitor.domain.alert import Notification
from rag_monitor.errors import ConfigurationError

_PATH = "/api/v2/alerts"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertmanagerOptions(HttpOptions):
    """Its base URL, such as `http://alertmanager:9093`."""

    valid_for_s: float = 604_800.0
    """How long an alert stands there unless it is resolved; must be above every rule's repeat."""


class AlertmanagerNotifier(HttpChannel[AlertmanagerOptions]):
    """Posts the alerts; Alertmanager answers with an empty 200 or says what it refused."""

    max_batch = 100

    def __init__(
        self,
        options: AlertmanagerOptions,
        *,
        language: str = "en",
        public_url: str | None = None,
        timezone: str = "UTC",
    ) -> None:
        super().__init__(options, language=language, public_url=public_url, timezone=timezone)
        if options.valid_for_s <= 0:
            raise ConfigurationError(
                "valid_for_s: must be above 0, not {valid_for_s:g}: every alert would be over "
                "when it arrives",
                valid_for_s=options.valid_for_s,
            )
        base = options.url.rstrip("/")
        self._url = base if base.endswith(_PATH) else base + _PATH

    def send(self, batch: Sequence[Notification]) -> None:
        """Post the batch; raises DeliveryError unless Alertmanager took it."""
        # The last word about an alert counts: a firing and a resolved one may be sent together.
        newest = {notification.alert.id: notification for notification in batch}
        post(self._options, encode([self._alert(item) for item in newest.values()]), url=self._url)

    def _alert(self, notification: Notification) -> dict[str, Any]:
        alert = notification.alert
        message = compose([notification], self._language, self._public_url, zone=self._zone)
        fired_at = alert.fired_at or alert.started_at
        if notification.event == "resolved":
            ends_at = alert.resolved_at or notification.created_at
        else:
            ends_at = notification.created_at + timedelta(seconds=self._options.valid_for_s)
        content: dict[str, Any] = {
            "labels": {
                "alertname": "RagMonitor",
                "rule": plain(alert.rule, 200),
                "app": plain(alert.app, 200),
                "project": plain(alert.project, 200),
                "severity": alert.severity.value,
                "alert_id": alert.id,
            },
            "annotations": {
                "summary": message.title,
                "description": sentence_of(alert, self._language, self._zone),
                "traces": " ".join(self._traces(notification)),
                **self._story(notification),
            },
            "startsAt": fired_at.isoformat(),
            "endsAt": ends_at.isoformat(),
        }
        runbook = runbook_link(alert, self._public_url)
        if runbook is not None:
            content["annotations"]["runbook_url"] = runbook
        if self._public_url:
            content["generatorURL"] = alert_url(self._public_url, alert.id)
            content["annotations"]["dashboard_url"] = app_url(self._public_url, alert.app)
        return content

    def _traces(self, notification: Notification) -> list[str]:
        base = self._public_url
        traces = notification.alert.finding.worst_traces
        return [trace_url(base, trace_id) for trace_id in traces] if base else []

    def _story(self, notification: Notification) -> dict[str, str]:
        """Annotations about the incident, and none where there is none."""
        incident = notification.incident
        if incident is None:
            return {}
        story = " ".join(f"{line}." for line in sentences(incident, self._language, self._zone))
        return {"incident": incident.id, "story": story}
