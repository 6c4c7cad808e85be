"""What interfaces wrap around an answer, in a handler's result and in a span's output."""

from __future__ import annotations

import json
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.ingest.content import answer_in, question_in
from rag_monitor.sdk.http_body import answer_in_body
from rag_monitor.testing import InMemoryExporter

SAID = "晚上十点关门。"
REPLIES: dict[str, Any] = {
    "code_and_data": {"code": 0, "message": "success", "data": {"answer": SAID, "sources": []}},
    "data_is_the_text": {"code": 200, "msg": "ok", "data": SAID},
    "success_and_result": {"success": True, "message": "done", "result": {"answer": SAID}},
    "code_as_text": {"code": "0", "message": "成功", "data": {"回答": SAID, "参考资料": ["x"]}},
    "chinese_names": {"回答": SAID, "耗时": 3},
    "gateway": {"statusCode": 200, "headers": {"Content-Type": "application/json"},
                "body": json.dumps({"answer": SAID}, ensure_ascii=False)},
    "gateway_with_a_charset": {"statusCode": 200, "headers": {"Content-Type": "x/y; charset=gbk"},
                               "body": json.dumps({"code": 0, "data": {"answer": SAID}})},
    "feishu": {"msg_type": "text", "content": json.dumps({"text": SAID})},
    "dingtalk": {"msgtype": "text", "text": {"content": SAID}},
}  # fmt: skip
WITHOUT: list[Any] = [
    {"code": 0, "message": "success", "data": {"items": []}},
    {"code": 500, "message": "internal error"},
    {"success": False, "message": "no such user"},
    {"code": 0, "data": None, "message": "系统繁忙"},
]


def _returned(captured: InMemoryExporter, result: Any) -> Any:
    @rm.trace
    def handle(question: str) -> Any:
        return result

    assert handle("q") is result
    return captured.records[0].get("answer")


@pytest.mark.parametrize("name", REPLIES)
def test_that_a_handler_returns(captured: InMemoryExporter, name: str) -> None:
    assert _returned(captured, REPLIES[name]) == SAID


@pytest.mark.parametrize("name", REPLIES)
def test_on_a_span(name: str) -> None:
    assert answer_in(json.dumps(REPLIES[name])) == SAID


@pytest.mark.parametrize("reply", WITHOUT)
def test_how_a_call_went_is_no_answer(captured: InMemoryExporter, reply: Any) -> None:
    assert _returned(captured, reply) is None
    assert answer_in_body(json.dumps(reply).encode()) is None
    assert answer_in(json.dumps(reply)) is None


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ([SAID, [{"content": "p"}]], SAID),
        ([SAID, {"sources": []}], SAID),
        ({"messages": [["user", "q"], ["assistant", SAID]]}, SAID),
        ([["human", "q"], ["ai", SAID]], SAID),
        ([SAID, "another"], None),
        ([["a", "b"], ["c", "d"]], None),
    ],
)
def test_tuples_on_a_span(output: Any, answer: str | None) -> None:
    assert answer_in(json.dumps(output)) == answer


def test_pairs_of_roles_and_texts_are_messages() -> None:
    assert question_in(json.dumps({"messages": [["system", "s"], ["user", "q?"]]})) == "q?"


def _events(*data: object) -> str:
    return "".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in data)


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (_events({"answer": "晚上"}, {"answer": "十点关门。"}) + "data: [DONE]\n\n", SAID),
        (_events({"choices": [{"delta": {"content": "晚上"}}]},
                 {"choices": [{"delta": {"content": "十点关门。"}}]}), SAID),
        ("event: sources\ndata: [{\"text\": \"p\"}]\n\ndata: 晚上\n\ndata: 十点关门。\n\n", SAID),
        ('{"token": "晚上"}\n{"token": "十点关门。"}\n{"type": "done", "content": "x"}', SAID),
        (_events({"type": "text-delta", "delta": "晚上"}, {"type": "text-delta",
                                                           "delta": "十点关门。"}), SAID),
        (_events({"event": "ping"}, {"event": "ping"}), None),
        ('{"a": 1}\n{"b": 2}', None),
        ("data: is what\nan engineer wants", "data: is what\nan engineer wants"),
    ],
)  # fmt: skip
def test_a_stream_on_a_span(output: str, answer: str | None) -> None:
    assert answer_in(output) == answer
