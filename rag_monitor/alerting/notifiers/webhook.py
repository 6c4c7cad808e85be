"""A generic webhook: one JSON object, signed with HMAC-SHA256.

`X-RagMonitor-Signature: t=<unix seconds>,v1=<hex>` where hex is HMAC-SHA256 of `<t>.<body>` with
the shared secret. Check it with a constant-time comparison and refuse times that are minutes away.
`X-RagMonitor-Delivery` is stable for the same batch; `dedup_key` for the same announcement.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from rag_monitor.alerting.incidents.wording import next_url, sentences
from rag_monitor.alerting.messages import alert_url, compose, summary_of, trace_url
from rag_monitor.alerting.notifiers.notifier import DeliveryError
from rag_monitor.alerting.notifiers.transport import HttpChannel, SignedOptions, encode, post
from rag_monitor.alerting.runbooks import runbook_link
from rag_monitor.domain.alert import Notification
from rag_monitor.domain.incident import Story


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions(SignedOptions):
    """Where to post, and with what."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further request headers, such as an Authorization."""


class WebhookNotifier(HttpChannel[WebhookOptions]):
    """Posts the alerts as data; any 2xx means taken, unless the body says otherwise."""

    max_batch = 50

    def send(self, batch: Sequence[Notification]) -> None:
        """Post the batch; raises DeliveryError unless the receiver took it."""
        body = encode(self._payload(batch))
        headers = dict(self._options.headers)
        keys = "\n".join(notification.dedup_key for notification in batch)
        headers["X-RagMonitor-Delivery"] = hashlib.sha256(keys.encode()).hexdigest()[:32]
        if self._options.secret:
            moment = int(self._clock.now().timestamp())
            headers["X-RagMonitor-Signature"] = sign(self._options.secret, moment, body)
        reply = post(self._options, body, headers)
        if reply.headers.get("content-type", "").startswith("text/html"):
            # A login page or a proxy's error page, not a receiver.
            raise DeliveryError("the answer is an HTML page, not a webhook receiver")

    def _payload(self, batch: Sequence[Notification]) -> dict[str, Any]:
        message = compose(batch, self._language, self._public_url, zone=self._zone)
        return {
            "version": 1,
            "project": batch[0].project,
            "title": message.title,
            "firing": message.firing,
            "alerts": [self._alert(notification) for notification in batch],
        }

    def _alert(self, notification: Notification) -> dict[str, Any]:
        alert, finding = notification.alert, notification.alert.finding
        base = self._public_url
        return {
            "dedup_key": notification.dedup_key,
            "event": notification.event,
            "id": alert.id,
            "rule": alert.rule,
            "app": alert.app,
            "state": alert.state.value,
            "severity": alert.severity.value,
            "started_at": _iso(alert.started_at),
            "fired_at": _iso(alert.fired_at),
            "resolved_at": _iso(alert.resolved_at),
            "acknowledged_by": alert.acknowledged_by,
            "summary": summary_of(alert, self._language, self._zone),
            "value": finding.value,
            "lower": finding.lower,
            "upper": finding.upper,
            "level": finding.level,
            "baseline": finding.baseline,
            "unit": finding.unit or None,
            "judged": finding.judged,
            "baseline_judged": finding.baseline_judged,
            "notes": list(finding.notes),
            "worst_traces": [
                {"trace_id": trace_id, "url": trace_url(base, trace_id) if base else None}
                for trace_id in finding.worst_traces
            ],
            "url": alert_url(base, alert.id) if base else None,
            "runbook_url": runbook_link(alert, base),
            "incident": self._incident(notification),
        }

    def _incident(self, notification: Notification) -> dict[str, Any] | None:
        """What the alert is a part of, in sentences and as data; without texts of traces."""
        incident, base = notification.incident, self._public_url
        if incident is None:
            return None
        return {
            "id": incident.id,
            "began_at": _iso(incident.began_at),
            "alerts": [part.id for part in incident.alerts],
            "sentences": sentences(incident, self._language, self._zone),
            "next_url": next_url(incident, base) if base else None,
            "story": None if incident.story is None else _story(incident.story, base),
        }


def _story(story: Story, base: str | None) -> dict[str, Any]:
    return {
        "since": _iso(story.since),
        "first": story.first,
        "judged": story.judged,
        "judged_before": story.judged_before,
        "faults": [asdict(growth) for growth in story.growths],
        "concentrations": [asdict(place) for place in story.concentrations],
        "examples": [
            {
                "trace_id": example.trace_id,
                "url": trace_url(base, example.trace_id) if base else None,
                "fault": example.fault,
                "probability": example.probability,
            }
            for example in story.examples
        ],
    }


def sign(secret: str, moment: int, body: bytes) -> str:
    """The value of the signature header at Unix second `moment`."""
    digest = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256)
    return f"t={moment},v1={digest.hexdigest()}"


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
