"""Delivery: at least once, every channel on its own, nothing lost in silence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import pytest

from rag_monitor import telemetry
from rag_monitor.alerting.dispatcher import Dispatcher
from rag_monitor.alerting.notifiers.notifier import DeliveryError, Notifier
from rag_monitor.alerting.options import DeliveryOptions
from rag_monitor.domain.alert import Notification
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.alerting.fakes import FakeOutbox, notification

Make = Callable[..., Dispatcher]


class _Channel:
    """Takes what it is given, or raises what the test says."""

    def __init__(self, max_batch: int = 50) -> None:
        self.max_batch = max_batch
        self.sends: list[list[str]] = []
        self.error: Exception | None = None
        self.gate: threading.Event | None = None
        self.entered = threading.Event()

    def send(self, batch: Sequence[Notification]) -> None:
        self.entered.set()
        if self.gate is not None:
            self.gate.wait(20)
        if self.error is not None:
            raise self.error
        self.sends.append([item.dedup_key for item in batch])


@pytest.fixture
def outbox() -> FakeOutbox:
    return FakeOutbox()


@pytest.fixture
def make(outbox: FakeOutbox, clock: ManualClock) -> Iterator[Make]:
    made: list[Dispatcher] = []

    def build(notifiers: dict[str, Notifier], **options: float) -> Dispatcher:
        dispatcher = Dispatcher(
            outbox,
            notifiers,
            clock,
            DeliveryOptions(**options),
            seed=7,  # type: ignore[arg-type]
        )
        made.append(dispatcher)
        return dispatcher

    yield build
    for dispatcher in made:
        dispatcher.close()


def _some(count: int, channel: str = "ops") -> list[Notification]:
    return [notification(key=f"a{n}:firing", channel=channel) for n in range(count)]


def test_what_is_due_together_goes_out_as_one_message(make: Make, outbox: FakeOutbox) -> None:
    channel = _Channel()
    outbox.put(*_some(3))

    assert make({"ops": channel}).deliver_due(EPOCH) == 3

    assert channel.sends == [["a0:firing", "a1:firing", "a2:firing"]]
    assert outbox.waiting == []


def test_a_burst_is_grouped_to_what_fits_and_all_are_named(make: Make, outbox: FakeOutbox) -> None:
    channel = _Channel(max_batch=50)
    outbox.put(*_some(500))

    make({"ops": channel}).deliver_due(EPOCH)

    assert len(channel.sends) == 10
    assert sum(map(len, channel.sends)) == 500


def test_a_channel_that_is_down_hears_everything_once_it_is_back(
    make: Make, outbox: FakeOutbox
) -> None:
    channel = _Channel(max_batch=2)
    channel.error = DeliveryError("HTTP 503")
    dispatcher = make({"ops": channel})
    outbox.put(*_some(5))
    now = EPOCH
    while now < EPOCH + timedelta(hours=1):
        dispatcher.deliver_due(now)
        now += timedelta(seconds=2)
    assert len(outbox.waiting) == 5
    longest = max((at - now).total_seconds() for at, _ in outbox.waiting)
    assert longest <= 45.0

    channel.error = None
    dispatcher.deliver_due(now + timedelta(seconds=60))

    assert outbox.waiting == []
    assert [len(send) for send in channel.sends] == [2, 2, 1]


def test_pauses_grow_with_jitter(make: Make, outbox: FakeOutbox) -> None:
    channel = _Channel()
    channel.error = DeliveryError("no")
    dispatcher = make({"ops": channel})
    outbox.put(*_some(1))
    now, pauses = EPOCH, []
    for _ in range(8):
        dispatcher.deliver_due(now)
        until = outbox.waiting[0][0]
        pauses.append((until - now).total_seconds())
        now = until

    expected = [2.0, 4.0, 8.0, 16.0, 32.0, 45.0, 45.0, 45.0]
    assert all(0.5 * e <= p <= e for p, e in zip(pauses, expected, strict=True))
    assert len(set(pauses)) == 8


def test_a_channel_that_asks_for_a_rest_gets_it(make: Make, outbox: FakeOutbox) -> None:
    channel = _Channel()
    channel.error = DeliveryError("HTTP 429", retry_after_s=300.0)
    outbox.put(*_some(1))

    make({"ops": channel}).deliver_due(EPOCH)

    assert outbox.waiting[0][0] == EPOCH + timedelta(seconds=300)


def test_one_hung_channel_delays_nobody_else(make: Make, outbox: FakeOutbox) -> None:
    hung, well = _Channel(), _Channel()
    hung.gate = threading.Event()
    outbox.put(*_some(1, "hung"), *_some(1, "well"))
    dispatcher = make({"hung": hung, "well": well}, wait_s=0.05)

    dispatcher.deliver_due(EPOCH)
    assert hung.entered.wait(5)
    assert well.sends == [["a0:firing"]]

    outbox.put(
        notification(key="b:firing", channel="hung"), notification(key="b:firing", channel="well")
    )
    dispatcher.deliver_due(EPOCH)
    assert well.sends == [["a0:firing"], ["b:firing"]]
    assert outbox.errors[-1][0] == "the channel is busy with earlier messages"

    hung.gate.set()
    dispatcher.close()
    assert hung.sends == [["a0:firing"]]


def test_a_message_is_given_up_after_too_many_attempts_and_counted(
    make: Make, outbox: FakeOutbox
) -> None:
    channel = _Channel()
    channel.error = DeliveryError("HTTP 500")
    dispatcher = make({"ops": channel}, max_attempts=3)
    outbox.put(*_some(1))
    counter = telemetry.NOTIFICATIONS.labels(channel="ops", outcome="dead")
    before = counter._value.get()
    for hour in range(3):
        dispatcher.deliver_due(EPOCH + timedelta(hours=hour))

    ((buried, reason),) = outbox.buried
    assert buried.dedup_key == "a0:firing"
    assert reason == "HTTP 500"
    assert counter._value.get() == before + 1
    assert outbox.waiting == []


def test_a_channels_counters_are_there_before_its_first_failure(make: Make) -> None:
    make({"quiet": _Channel()})

    for outcome in ("sent", "failed", "dead"):
        labels = {"channel": "quiet", "outcome": outcome}
        found = telemetry.REGISTRY.get_sample_value("rag_monitor_notifications_total", labels)
        assert found == 0


def test_a_message_refused_for_what_it_says_does_not_take_its_group_with_it(
    make: Make, outbox: FakeOutbox
) -> None:
    class Picky(_Channel):
        def send(self, batch: Sequence[Notification]) -> None:
            if any(item.dedup_key == "a1:firing" for item in batch):
                raise DeliveryError("HTTP 400: invalid_payload", permanent=True)
            super().send(batch)

    channel = Picky(max_batch=3)
    outbox.put(*_some(5))

    assert make({"ops": channel}).deliver_due(EPOCH) == 4

    assert [item.dedup_key for item, _ in outbox.buried] == ["a1:firing"]
    assert channel.sends == [["a0:firing"], ["a2:firing"], ["a3:firing", "a4:firing"]]


def test_a_channel_nobody_configured_is_told_and_not_retried(
    make: Make, outbox: FakeOutbox
) -> None:
    outbox.put(*_some(1, "gone"))

    assert make({}).deliver_due(EPOCH) == 0

    assert "no channel 'gone'" in outbox.buried[0][1]


def test_a_notifier_with_a_fault_is_retried_not_lost(make: Make, outbox: FakeOutbox) -> None:
    channel = _Channel()
    channel.error = KeyError("x")
    outbox.put(*_some(1))

    make({"ops": channel}).deliver_due(EPOCH)

    assert outbox.errors[0][0] == "KeyError('x')"
    assert len(outbox.waiting) == 1


def test_a_message_that_cannot_be_marked_goes_out_again_under_the_same_key(
    make: Make, outbox: FakeOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = _Channel()
    dispatcher = make({"ops": channel}, lease_s=60.0)
    outbox.put(*_some(1))

    def broken(item: Notification) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(outbox, "sent", broken)
        dispatcher.deliver_due(EPOCH)
    dispatcher.deliver_due(EPOCH + timedelta(seconds=61))

    assert channel.sends == [["a0:firing"], ["a0:firing"]]
    assert outbox.waiting == []


def test_a_round_ends_before_its_lease(make: Make, outbox: FakeOutbox, clock: ManualClock) -> None:
    class Slow(_Channel):
        def send(self, batch: Sequence[Notification]) -> None:
            super().send(batch)
            clock.advance(30)

    channel = Slow(max_batch=1)
    outbox.put(*_some(4))

    assert make({"ops": channel}).deliver_due(EPOCH) == 2
    assert [error for error, _ in outbox.errors] == ["not reached in this round"] * 2
