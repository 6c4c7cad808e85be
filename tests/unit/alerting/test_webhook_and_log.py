"""The webhook against a real server, and the log."""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rag_monitor.alerting.notifiers import build, build_all
from rag_monitor.alerting.notifiers.log import LogNotifier
from rag_monitor.alerting.notifiers.notifier import DeliveryError
from rag_monitor.alerting.notifiers.webhook import WebhookNotifier, WebhookOptions
from rag_monitor.errors import ConfigurationError
from rag_monitor.testing import ManualClock
from tests.unit.alerting.fakes import notification
from tests.unit.outbound.receiver import Answer, Receiver, answer, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def _webhook(receiver: Receiver, **options: object) -> WebhookNotifier:
    return WebhookNotifier(
        WebhookOptions(url=receiver.url, allow_private=True, **options),  # type: ignore[arg-type]
        public_url="https://monitor.example/",
        clock=ManualClock(),
    )


def test_the_webhook_carries_every_number_and_a_link_per_trace(receiver: Receiver) -> None:
    _webhook(receiver).send([notification()])

    sent = receiver.requests[0].json
    (alert,) = sent["alerts"]
    assert alert["dedup_key"] == "a1:firing"
    assert (alert["value"], alert["lower"], alert["upper"]) == (0.71, 0.66, 0.76)
    assert (alert["baseline"], alert["judged"], alert["baseline_judged"]) == (0.93, 212, 340)
    assert alert["worst_traces"][0]["url"] == f"https://monitor.example/traces/{'a' * 32}"


def test_the_webhook_says_what_its_interval_and_its_numbers_are(receiver: Receiver) -> None:
    slow = notification()
    finding = replace(slow.alert.finding, level=0.999, unit="ms")
    slow = replace(slow, alert=replace(slow.alert, finding=finding))

    _webhook(receiver).send([slow, notification(key="a2:firing")])

    latency, score = receiver.requests[0].json["alerts"]
    assert (latency["level"], latency["unit"]) == (0.999, "ms")
    assert score["unit"] is None


def test_the_signature_covers_time_and_body(receiver: Receiver) -> None:
    _webhook(receiver, secret="shared", headers={"Authorization": "Bearer t"}).send(
        [notification()]
    )

    (seen,) = receiver.requests
    moment, digest = (
        part.split("=")[1] for part in seen.headers["x-ragmonitor-signature"].split(",")
    )
    expected = hmac.new(b"shared", moment.encode() + b"." + seen.body, hashlib.sha256)
    assert hmac.compare_digest(digest, expected.hexdigest())
    assert seen.headers["authorization"] == "Bearer t"


def test_the_same_batch_has_the_same_delivery_id(receiver: Receiver) -> None:
    webhook = _webhook(receiver)
    webhook.send([notification()])
    webhook.send([notification()])
    webhook.send([notification(key="other:firing")])

    ids = [seen.headers["x-ragmonitor-delivery"] for seen in receiver.requests]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize(
    "says",
    [
        answer(status=500),
        answer(status=404),
        answer(status=302, Location="http://169.254.169.254/"),
        Answer(body=b"<html>log in</html>", headers={"Content-Type": "text/html"}),
    ],
)
def test_an_answer_that_is_no_yes_is_a_failure(receiver: Receiver, says: Answer) -> None:
    receiver.says = says

    with pytest.raises(DeliveryError):
        _webhook(receiver).send([notification()])
    assert len(receiver.requests) == 1


def test_a_rate_limit_says_how_long_to_wait(receiver: Receiver) -> None:
    receiver.says = answer(status=429, Retry_After="17")

    with pytest.raises(DeliveryError) as caught:
        _webhook(receiver).send([notification()])
    assert caught.value.retry_after_s == 17.0


def test_a_slow_receiver_is_given_up(receiver: Receiver) -> None:
    receiver.hangs = threading.Event()

    with pytest.raises(DeliveryError, match="within"):
        _webhook(receiver, timeout_s=0.1).send([notification()])


def test_lone_surrogates_and_control_characters_do_not_break_a_message(receiver: Receiver) -> None:
    _webhook(receiver).send([notification(app="a\ud800\u202eb\x00")])

    assert receiver.requests[0].json["alerts"]


def test_the_log_says_it_in_the_configured_language(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        LogNotifier(language="zh").send([notification(), notification(event="resolved")])

    assert "触发" in caplog.records[0].getMessage()
    assert "从 0.93 降到 0.71" in caplog.records[0].getMessage()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_line_break_in_a_name_cannot_forge_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    LogNotifier().send([notification(app="x\nWARNING forged\r\nline")])

    assert "\n" not in caplog.records[0].getMessage()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, r"notifiers\.ops\.kind: must be one of"),
        ({"kind": "pigeon"}, "must be one of"),
        ({"kind": "webhook"}, r"notifiers\.ops\.url"),
        ({"kind": "webhook", "url": "https://a.example", "secrte": "x"}, "did you mean 'secret'"),
        ({"kind": "webhook", "url": "http://127.0.0.1/"}, r"notifiers\.ops\.url.*allow_private"),
        ({"kind": "webhook", "url": "file:///x"}, r"notifiers\.ops\.url"),
        ({"kind": "webhook", "url": "https://a.example", "timeout_s": "x"}, "timeout_s"),
        ({"kind": "log", "language": "fr"}, "en or zh"),
    ],
)
def test_a_wrong_configuration_is_named_with_its_key(
    config: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build(config, channel="ops")


def test_without_channels_there_is_the_log() -> None:
    assert list(build_all({})) == ["log"]
    assert list(build_all({"a": {"kind": "log"}})) == ["a"]
