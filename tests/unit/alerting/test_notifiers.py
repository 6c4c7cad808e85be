"""Every channel against a server that plays its API: good, busy, a no inside 200, slow, dead."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from rag_monitor.alerting.messages import compose
from rag_monitor.alerting.notifiers import KINDS, build, build_all
from rag_monitor.alerting.notifiers.dingtalk import DingTalkNotifier, DingTalkOptions
from rag_monitor.alerting.notifiers.feishu import FeishuNotifier, FeishuOptions
from rag_monitor.alerting.notifiers.notifier import DeliveryError, Notifier
from rag_monitor.domain.alert import Finding
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.alerting.fakes import notification
from tests.unit.outbound.receiver import Answer, Receiver, answer, receiving

GOOD = {
    "webhook": answer(),
    "slack": Answer(body=b"ok", headers={"Content-Type": "text/html"}),
    "feishu": answer({"code": 0, "msg": "success", "data": {}}),
    "dingtalk": answer({"errcode": 0, "errmsg": "ok"}),
    "wecom": answer({"errcode": 0, "errmsg": "ok"}),
    "pagerduty": answer({"status": "success", "dedup_key": "a1"}, status=202),
    "alertmanager": Answer(body=b""),
}
NO_INSIDE_200 = [
    ("slack", Answer(body=b"no_service")),
    ("slack", Answer(body=b'{"ok": false, "error": "ok"}')),
    (
        "feishu",
        answer({"code": 19021, "msg": "sign match fail or timestamp is not within one hour"}),
    ),
    ("feishu", answer({"code": 19024, "msg": "Key Words Not Found"})),
    ("feishu", answer({"StatusCode": 9499, "StatusMessage": "too many request"})),
    ("dingtalk", answer({"errcode": 310000, "errmsg": "sign not match"})),
    (
        "dingtalk",
        answer({"errcode": 130101, "errmsg": "send too fast, exceed 20 times per minute"}),
    ),
    ("wecom", answer({"errcode": 45009, "errmsg": "api freq out of limit"})),
    ("wecom", answer({"errcode": 93000, "errmsg": "invalid webhook url"})),
    ("pagerduty", answer({"status": "invalid event", "errors": ["x"]}, status=202)),
    *((kind, Answer(body=b"<html>log in</html>")) for kind in ("feishu", "dingtalk", "wecom")),
    *((kind, answer([])) for kind in ("feishu", "dingtalk", "wecom", "pagerduty")),
    *((kind, answer({})) for kind in ("feishu", "dingtalk", "wecom", "pagerduty")),
    *((kind, answer({"errcode": False, "code": False})) for kind in ("feishu", "dingtalk")),
]
EVIL = (
    '<at user_id="all">all</at> @all @channel <!channel> <!here|x> <@U123> <@userid> '
    "![x](http://evil.example/a.png) [click](http://evil.example) `code` *b* {{ .X }} \n\r# head"
)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def _make(kind: str, receiver: Receiver, timezone: str = "UTC", **options: Any) -> Notifier:
    config: dict[str, Any] = {
        "kind": kind,
        "url": receiver.url,
        "allow_private": True,
        **({"routing_key": "R"} if kind == "pagerduty" else {}),
        **options,
    }
    return build(config, channel="ops", public_url="https://monitor.example", timezone=timezone)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def test_there_is_a_channel_of_every_kind() -> None:
    assert set(KINDS) == {*GOOD, "lark", "log", "email"}


@pytest.mark.parametrize("kind", GOOD)
def test_a_message_that_was_taken_is_a_success_with_its_numbers(
    kind: str, receiver: Receiver
) -> None:
    receiver.says = GOOD[kind]

    _make(kind, receiver).send([notification()])

    text = receiver.requests[0].body.decode()
    assert "fell from 0.93 to 0.71" in text
    assert f"https://monitor.example/traces/{'a' * 32}" in text


@pytest.mark.parametrize("kind", sorted({*GOOD} - {"webhook"}))
@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("zh", "的忠实度（faithfulness）从 0.93 降到 0.71"),
        ("en", "Faithfulness of bank-faq fell from 0.93 to 0.71"),
    ],
)
def test_messages_call_a_metric_as_the_pages_do(
    kind: str, language: str, said: str, receiver: Receiver
) -> None:
    receiver.says = GOOD[kind]

    _make(kind, receiver, language=language).send([notification()])

    assert any(said in text for text in _strings(receiver.requests[0].json))


def test_the_data_of_the_webhook_keeps_the_metrics_own_name(receiver: Receiver) -> None:
    _make("webhook", receiver, language="zh").send([notification()])

    (alert,) = receiver.requests[0].json["alerts"]
    assert alert["summary"] == "bank-faq 的 faithfulness 从 0.93 降到 0.71"


@pytest.mark.parametrize(("kind", "says"), NO_INSIDE_200)
def test_a_no_inside_an_http_yes_is_a_failure(kind: str, says: Answer, receiver: Receiver) -> None:
    receiver.says = says

    with pytest.raises(DeliveryError):
        _make(kind, receiver).send([notification()])


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("status", [302, 403, 404, 500, 503])
def test_an_http_no_is_a_failure_that_is_tried_again(
    kind: str, status: int, receiver: Receiver
) -> None:
    receiver.says = Answer(
        status=status, body=GOOD[kind].body, headers={"Location": "http://169.254.169.254/"}
    )

    with pytest.raises(DeliveryError) as caught:
        _make(kind, receiver).send([notification()])
    assert not caught.value.permanent
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("kind", GOOD)
def test_a_rate_limit_is_respected(kind: str, receiver: Receiver) -> None:
    receiver.says = answer(status=429, Retry_After="30")

    with pytest.raises(DeliveryError) as caught:
        _make(kind, receiver).send([notification()])
    assert caught.value.retry_after_s == 30.0


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("86400", 3600.0),
        ("Fri, 31 Dec 2199 23:59:59 GMT", 3600.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("-5", None),
        ("inf", None),
        ("soon", None),
    ],
)
def test_a_rate_limit_may_be_a_date_and_holds_for_an_hour_at_most(
    asked: str, seconds: float | None, receiver: Receiver
) -> None:
    receiver.says = answer(status=429, Retry_After=asked)

    with pytest.raises(DeliveryError) as caught:
        _make("slack", receiver).send([notification()])
    assert caught.value.retry_after_s == seconds


@pytest.mark.parametrize(
    ("kind", "code"), [("feishu", 11232), ("dingtalk", 130101), ("wecom", 45009)]
)
def test_a_robot_that_is_busy_is_left_alone_for_a_minute(
    kind: str, code: int, receiver: Receiver
) -> None:
    receiver.says = answer({"code" if kind == "feishu" else "errcode": code, "errmsg": "busy"})

    with pytest.raises(DeliveryError) as caught:
        _make(kind, receiver).send([notification()])
    assert caught.value.retry_after_s == 60.0


@pytest.mark.parametrize("kind", GOOD)
def test_a_message_the_channel_cannot_read_is_not_sent_for_ever(
    kind: str, receiver: Receiver
) -> None:
    receiver.says = Answer(status=400, body=b"invalid_payload")

    with pytest.raises(DeliveryError) as caught:
        _make(kind, receiver).send([notification()])
    assert caught.value.permanent


@pytest.mark.parametrize("kind", GOOD)
def test_a_channel_that_hangs_is_given_up(kind: str, receiver: Receiver) -> None:
    receiver.hangs = threading.Event()

    with pytest.raises(DeliveryError, match="within"):
        _make(kind, receiver, timeout_s=0.05).send([notification()])


@pytest.mark.parametrize("kind", GOOD)
def test_a_dead_channel_is_an_error_that_does_not_show_the_token(
    kind: str, receiver: Receiver
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/robot/send?access_token=s3cret"
    notifier = _make(kind, receiver, url=url)

    with pytest.raises(DeliveryError) as caught:
        notifier.send([notification()])
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["slack", "feishu", "dingtalk", "wecom"])
@pytest.mark.parametrize("count", [1, 12])
def test_traced_text_mentions_nobody_and_links_nowhere(
    kind: str, count: int, receiver: Receiver
) -> None:
    receiver.says = GOOD[kind]
    finding = Finding(active=True, summary=EVIL, notes=(EVIL,), worst_traces=("a" * 32,))
    batch = [
        notification(key=f"a{n}:firing", app=EVIL, rule_name=EVIL, finding=finding)
        for n in range(count)
    ]

    _make(kind, receiver).send(batch)

    payload = receiver.requests[0].json
    parsed = [
        text for text in _parsed_by(kind, payload) if not text.startswith("https://monitor.example")
    ]
    assert parsed
    for text in parsed:
        for danger in ("<at", "<!", "<@", "@all", "@channel", "![", "http://evil", "](http://"):
            assert danger not in text
    assert not payload.get("at", {}).get("isAtAll")
    assert payload.get("link_names") in (None, False)


def _parsed_by(kind: str, payload: dict[str, Any]) -> Iterator[str]:
    """The strings that the channel reads as markup."""
    if kind != "slack":
        yield from _strings(payload)
        return
    yield payload["text"]
    for block in payload["blocks"]:
        for element in [block.get("text"), *block.get("elements", [])]:
            if element and element["type"] != "plain_text":
                yield element["text"]


@pytest.mark.parametrize("kind", ["slack", "feishu", "dingtalk", "wecom", "alertmanager"])
def test_a_full_batch_names_every_alert_within_the_size_limit(
    kind: str, receiver: Receiver
) -> None:
    receiver.says = GOOD[kind]
    notifier = _make(kind, receiver)
    batch = [
        notification(key=f"k{n}:firing", app=f"应用-{n:03}-end", rule_name="忠实度下降" * 20)
        for n in range(notifier.max_batch)
    ]

    notifier.send(batch)

    (seen,) = receiver.requests
    text = json.dumps(seen.json, ensure_ascii=False)
    assert all(f"应用-{n:03}" in text for n in range(len(batch)))
    if kind == "wecom":
        assert len(seen.json["markdown"]["content"].encode()) <= 4096
    elif kind == "slack":
        assert len(seen.json["blocks"]) <= 50
        assert all(len(b["text"]["text"]) <= 3000 for b in seen.json["blocks"] if "text" in b)
    elif kind != "alertmanager":
        assert len(seen.body) <= 20_000


def test_one_long_message_fits_wecom(receiver: Receiver) -> None:
    receiver.says = GOOD["wecom"]
    finding = Finding(active=True, summary="忠" * 5000, notes=("备" * 500,) * 9)

    _make("wecom", receiver).send([notification(finding=finding)])

    assert len(receiver.requests[0].json["markdown"]["content"].encode()) <= 4096


def test_feishu_is_signed_as_feishu_wants_it(receiver: Receiver) -> None:
    receiver.says = GOOD["feishu"]
    FeishuNotifier(
        FeishuOptions(url=receiver.url, allow_private=True, secret="S"), clock=ManualClock()
    ).send([notification()])

    sent = receiver.requests[0].json
    moment = str(int(EPOCH.timestamp()))
    expected = hmac.new(f"{moment}\nS".encode(), digestmod=hashlib.sha256).digest()
    assert sent["timestamp"] == moment
    assert sent["sign"] == base64.b64encode(expected).decode()


def test_dingtalk_is_signed_in_the_query(receiver: Receiver) -> None:
    receiver.says = GOOD["dingtalk"]
    DingTalkNotifier(
        DingTalkOptions(url=receiver.url + "?access_token=t", allow_private=True, secret="SEC"),
        clock=ManualClock(),
    ).send([notification()])

    query = parse_qs(urlsplit(receiver.requests[0].path).query)
    moment = str(int(EPOCH.timestamp() * 1000))
    expected = hmac.new(b"SEC", f"{moment}\nSEC".encode(), hashlib.sha256).digest()
    assert query["access_token"] == ["t"]
    assert query["timestamp"] == [moment]
    assert query["sign"] == [base64.b64encode(expected).decode()]


def test_pagerduty_keeps_one_incident_per_alert(receiver: Receiver) -> None:
    receiver.says = GOOD["pagerduty"]
    notifier = _make("pagerduty", receiver)
    for event in ("firing", "repeat", "resolved"):
        notifier.send([notification(key=f"a1:{event}", event=event)])

    sent = [(seen.json["event_action"], seen.json["dedup_key"]) for seen in receiver.requests]
    assert sent == [("trigger", "a1"), ("trigger", "a1"), ("resolve", "a1")]
    assert receiver.requests[0].json["payload"]["severity"] == "critical"


def test_alertmanager_gets_the_last_word_about_each_alert(receiver: Receiver) -> None:
    receiver.says = GOOD["alertmanager"]
    _make("alertmanager", receiver).send(
        [
            notification(),
            notification(key="a2:firing"),
            notification(key="a1:resolved", event="resolved"),
        ]
    )

    (seen,) = receiver.requests
    assert seen.path == "/hook/api/v2/alerts"
    alerts = {item["labels"]["alert_id"]: item for item in seen.json}
    assert alerts["a1"]["endsAt"] == EPOCH.isoformat()
    assert alerts["a2"]["endsAt"] > EPOCH.isoformat()
    assert alerts["a1"]["labels"]["rule"] == "faithfulness drop"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("[FIRING · page]", "fell from 0.93 to 0.71", "since 2026-01-05 12:00:00 UTC")),
        ("zh", ("[触发 · 紧急]", "从 0.93 降到 0.71", "开始于 2026-01-05 12:00:00 UTC")),
    ],
)
def test_messages_speak_both_languages(language: Any, words: tuple[str, ...]) -> None:
    message = compose([notification()], language)
    text = "\n".join((message.title, *message.items[0].lines))

    for word in words:
        assert word in text


@pytest.mark.parametrize("kind", GOOD)
def test_times_in_messages_are_in_the_configured_zone(kind: str, receiver: Receiver) -> None:
    receiver.says = GOOD[kind]
    finding = Finding(active=True, summary="has fallen since 2026-01-05 11:40 UTC")

    _make(kind, receiver, timezone="Asia/Shanghai").send([notification(finding=finding)])

    text = receiver.requests[0].body.decode()
    assert "since 2026-01-05 19:40 Asia/Shanghai" in text
    assert " UTC" not in text


def test_the_log_tells_times_in_the_configured_zone(caplog: pytest.LogCaptureFixture) -> None:
    channels = build_all({}, timezone="Asia/Shanghai")

    channels["log"].send([notification()])

    assert "since 2026-01-05 20:00:00 Asia/Shanghai" in caplog.text


@pytest.mark.parametrize(
    ("language", "title"),
    [("en", "5 alerts: FIRING 3, RESOLVED 2"), ("zh", "5 条告警：触发 3、已恢复 2")],
)
def test_a_group_says_how_many(language: Any, title: str) -> None:
    batch = [notification(event=event) for event in ["firing"] * 3 + ["resolved"] * 2]

    assert compose(batch, language).title == title


@pytest.mark.parametrize("kind", ["slack", "feishu", "dingtalk", "wecom"])
def test_a_group_links_to_the_alerts_once(kind: str, receiver: Receiver) -> None:
    receiver.says = GOOD[kind]
    batch = [notification(key=f"a{n}:firing", app=f"app-{n}") for n in range(12)]

    _make(kind, receiver).send(batch)

    text = receiver.requests[0].body.decode()
    assert text.count("/alerts") == 1
    assert all(f"app-{n}" in text for n in range(12))


@pytest.mark.parametrize(
    ("note", "words"),
    [("rule_removed", "rule was removed"), ("app_gone", "application is gone")],
)
def test_a_resolution_says_why_when_it_was_not_the_metric(note: str, words: str) -> None:
    finding = Finding(active=False, notes=(note,))
    message = compose([notification(event="resolved", finding=finding)])

    assert words in "\n".join(message.items[0].lines)


def test_without_a_public_url_the_traces_are_named() -> None:
    (item,) = compose([notification()]).items

    assert item.links == ()
    assert any("a" * 32 in line for line in item.lines)
