"""Robots in keyword mode take our messages, and say what to set when they do not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from rag_monitor.alerting.notifiers import build
from rag_monitor.alerting.notifiers.notifier import DeliveryError
from tests.unit.alerting.fakes import notification
from tests.unit.outbound.receiver import Receiver, answer, receiving

TAKEN = {
    "dingtalk": answer({"errcode": 0, "errmsg": "ok"}),
    "feishu": answer({"code": 0, "msg": "success"}),
    "lark": answer({"code": 0, "msg": "success"}),
}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def _send(kind: str, receiver: Receiver, **options: str) -> None:
    config = {"kind": kind, "url": receiver.url, "allow_private": True, **options}
    build(config, channel="ops", public_url=None, timezone="UTC").send([notification()])


def _texts(kind: str, body: bytes) -> list[str]:
    """The parts in which the robot looks for its keyword."""
    payload = json.loads(body)
    if kind == "dingtalk":
        return [payload["markdown"]["title"], payload["markdown"]["text"]]
    (post,) = payload["content"]["post"].values()
    return [post["title"]]


@pytest.mark.parametrize("keyword", ["监控", "RAG alert", "*prod*"])
@pytest.mark.parametrize("kind", TAKEN)
def test_every_message_holds_the_keyword_to_the_letter(
    kind: str, keyword: str, receiver: Receiver
) -> None:
    receiver.says = TAKEN[kind]
    _send(kind, receiver, keyword=keyword)

    assert all(keyword in text for text in _texts(kind, receiver.requests[0].body))


@pytest.mark.parametrize("kind", TAKEN)
def test_without_a_keyword_and_with_one_that_is_there_the_message_is_the_same(
    kind: str, receiver: Receiver
) -> None:
    receiver.says = TAKEN[kind]
    _send(kind, receiver)
    _send(kind, receiver, keyword="FIRING")

    first, second = (_texts(kind, request.body) for request in receiver.requests)
    assert first == second


@pytest.mark.parametrize(
    ("kind", "refusal"),
    [
        ("dingtalk", {"errcode": 310000, "errmsg": "keywords not in content"}),
        ("dingtalk", {"errcode": 310000, "errmsg": "关键词不匹配"}),
        ("feishu", {"code": 19024, "msg": "Key Words Not Found"}),
    ],
)
def test_a_robot_that_misses_its_keyword_names_the_setting(
    kind: str, refusal: dict[str, object], receiver: Receiver
) -> None:
    receiver.says = answer(refusal)

    with pytest.raises(DeliveryError, match=r'set keyword = "…"'):
        _send(kind, receiver)


def test_other_refusals_do_not_name_it(receiver: Receiver) -> None:
    receiver.says = answer({"errcode": 310000, "errmsg": "sign not match"})

    with pytest.raises(DeliveryError, match=r"sign not match$"):
        _send("dingtalk", receiver)
