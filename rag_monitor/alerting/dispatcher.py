"""Delivers queued messages, at least once, every channel on its own.

One thread per channel: a channel that hangs delays nobody else. Messages of one channel that are
due together go out grouped. After a failure the channel rests, with growing pauses; a
message that has failed too often is kept as dead, counted, and visible.
"""

from __future__ import annotations

import logging
import random
import uuid
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from rag_monitor import telemetry
from rag_monitor.alerting.notifiers.notifier import DeliveryError, Notifier
from rag_monitor.alerting.options import DeliveryOptions
from rag_monitor.domain.alert import Alert, AlertState, Finding, Notification, Severity
from rag_monitor.domain.clock import Clock
from rag_monitor.errors import NotificationError, StoreUnavailable
from rag_monitor.i18n import Message
from rag_monitor.outbound.retry import backoff_s
from rag_monitor.store.outbox import Outbox

_log = logging.getLogger(__name__)

_BUSY_S = 5.0
"""When a message is looked at again whose channel is still busy with earlier ones."""


class Dispatcher:
    """Sends what is due.

    Args:
        outbox: The queue.
        notifiers: By channel name.
        clock: Limits how long a round takes and dates the retries.
        options: Batches, pauses and limits.
        seed: Makes the jitter repeatable.
    """

    def __init__(
        self,
        outbox: Outbox,
        notifiers: Mapping[str, Notifier],
        clock: Clock,
        options: DeliveryOptions | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        self._outbox = outbox
        self._notifiers = dict(notifiers)
        self._clock = clock
        self._options = options or DeliveryOptions()
        # Spreads retries; nothing secret depends on it.
        self._random = random.Random(seed)  # noqa: S311
        for channel in notifiers:
            # Counters that are there from the start: of one that appears with its first failure,
            # Prometheus sees no increase.
            for outcome in ("sent", "failed", "dead"):
                telemetry.NOTIFICATIONS.labels(channel=channel, outcome=outcome)
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._running: dict[str, Future[int]] = {}

    def deliver_due(self, now: datetime | None = None) -> int:
        """Send what is due; returns how many messages the channels took within `wait_s`.

        Slow channels go on in the background. Call it from one thread at a time.
        """
        moment = now or self._clock.now()
        due = self._outbox.due(moment, self._options.batch, self._options.lease_s)
        by_channel: dict[str, list[Notification]] = defaultdict(list)
        for notification in due:
            by_channel[notification.channel].append(notification)
        started = [
            future
            for channel, batch in by_channel.items()
            if (future := self._start(channel, batch, moment)) is not None
        ]
        done, _ = wait(started, timeout=self._options.wait_s)
        return sum(future.result() for future in done)

    def close(self) -> None:
        """End the channels' threads; a send in progress ends at its own deadline."""
        for executor in self._threads.values():
            executor.shutdown(wait=True, cancel_futures=True)
        self._threads.clear()
        self._running.clear()

    def _start(
        self, channel: str, batch: Sequence[Notification], now: datetime
    ) -> Future[int] | None:
        notifier = self._notifiers.get(channel)
        if notifier is None:
            for notification in batch:
                self._bury(notification, f"no channel {channel!r} is configured")
            return None
        running = self._running.get(channel)
        if running is not None and not running.done():
            for notification in batch:
                self._outbox.failed(
                    notification,
                    "the channel is busy with earlier messages",
                    now + timedelta(seconds=_BUSY_S),
                )
            return None
        executor = self._threads.get(channel)
        if executor is None:
            executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"notify-{channel}")
            self._threads[channel] = executor
        future = executor.submit(self._deliver, channel, notifier, tuple(batch), now)
        self._running[channel] = future
        return future

    def _deliver(
        self, channel: str, notifier: Notifier, batch: Sequence[Notification], now: datetime
    ) -> int:
        sent = 0
        began = self._clock.monotonic()
        groups = deque(_groups(batch, notifier.max_batch))
        while groups:
            if self._clock.monotonic() - began > self._options.round_s:
                self._postpone(groups, "not reached in this round", now)
                break
            group = groups.popleft()
            try:
                notifier.send(group)
            except Exception as error:  # noqa: BLE001 - a notifier's own fault is retried, too
                if not _unacceptable(error):
                    self._fail(channel, [group, *groups], error, now)
                    break
                if len(group) == 1:
                    self._bury(group[0], str(error))
                else:
                    # One of them is refused for what it says: find it, deliver the others.
                    groups.extendleft([item] for item in reversed(group))
            else:
                sent += self._mark_sent(channel, group)
        return sent

    def _mark_sent(self, channel: str, group: Sequence[Notification]) -> int:
        telemetry.NOTIFICATIONS.labels(channel=channel, outcome="sent").inc(len(group))
        for notification in group:
            try:
                self._outbox.sent(notification)
            except StoreUnavailable as error:
                telemetry.NOTIFICATIONS.labels(channel=channel, outcome="unmarked").inc()
                _log.warning("sent %s but could not mark it: %s", notification.dedup_key, error)
            except Exception:  # noqa: BLE001 - it is out, and goes out again under the same key
                telemetry.NOTIFICATIONS.labels(channel=channel, outcome="unmarked").inc()
                _log.exception("sent %s but could not mark it", notification.dedup_key)
        return len(group)

    def _fail(
        self,
        channel: str,
        groups: Sequence[Sequence[Notification]],
        error: Exception,
        now: datetime,
    ) -> None:
        """The first group failed; the rest waits with it, so that they go out together."""
        text = str(error) if isinstance(error, NotificationError) else repr(error)
        if not isinstance(error, NotificationError):
            _log.error("channel %r failed", channel, exc_info=error)
        else:
            _log.warning("channel %r did not take a message: %s", channel, text)
        telemetry.NOTIFICATIONS.labels(channel=channel, outcome="failed").inc()
        attempts = max(notification.attempts for notification in groups[0])
        until = now + timedelta(seconds=self._pause(attempts, error))
        for notification in groups[0]:
            if notification.attempts >= self._options.max_attempts:
                self._bury(notification, text)
            else:
                self._outbox.failed(notification, text, until)
        self._postpone(groups[1:], f"waits behind: {text}", until)

    def _postpone(
        self, groups: Iterable[Sequence[Notification]], reason: str, not_before: datetime
    ) -> None:
        for group in groups:
            for notification in group:
                self._outbox.failed(notification, reason, not_before)

    def _bury(self, notification: Notification, reason: str) -> None:
        telemetry.NOTIFICATIONS.labels(channel=notification.channel, outcome="dead").inc()
        telemetry.dropped("notify", "dead")
        _log.error(
            "gave up on %s for channel %r: %s",
            notification.dedup_key,
            notification.channel,
            reason,
        )
        self._outbox.dead(notification, reason)

    def _pause(self, attempts: int, error: Exception) -> float:
        """Exponential with jitter; what the channel itself asked for is a lower limit."""
        options = self._options
        draw = self._random.random
        pause = backoff_s(attempts, options.retry_base_s, options.retry_max_s, draw)
        requested = error.retry_after_s if isinstance(error, DeliveryError) else None
        return max(pause, requested or 0.0)


def _unacceptable(error: Exception) -> bool:
    return isinstance(error, DeliveryError) and error.permanent


def _groups(batch: Sequence[Notification], size: int) -> list[Sequence[Notification]]:
    """Messages that go out as one: of one project, oldest first, at most `size`."""
    by_project: dict[str, list[Notification]] = defaultdict(list)
    for notification in batch:
        by_project[notification.project].append(notification)
    return [
        group[start : start + size]
        for group in by_project.values()
        for start in range(0, len(group), size)
    ]


TEST_NAME: Final = "rag-monitor-test"
"""Rule and app of the alert; no rule of that name is kept anywhere."""


def make_test_messages(
    project: str, channel: str, now: datetime
) -> tuple[Notification, Notification]:
    """The two messages, to be sent one after the other.

    The second ends what the first began, so that a channel with incidents of its own (PagerDuty,
    Alertmanager) is left as it was. Each call makes new keys: receivers that drop repeats take it.
    """
    alert = Alert(
        id=uuid.uuid4().hex,
        project=project,
        rule=TEST_NAME,
        app=TEST_NAME,
        state=AlertState.FIRING,
        severity=Severity.TICKET,
        since=now,
        started_at=now,
        fired_at=now,
        finding=Finding(
            active=True,
            summary=Message(
                "This is a test of the channel. Nothing is wrong, and nothing needs doing."
            ),
        ),
    )
    ended = replace(alert, state=AlertState.RESOLVED, resolved_at=now)
    firing, resolved = (
        Notification(
            dedup_key=f"{alert.id}:{event}",
            project=project,
            channel=channel,
            alert=shown,
            event=event,
            created_at=now,
        )
        for event, shown in (("firing", alert), ("resolved", ended))
    )
    return firing, resolved
