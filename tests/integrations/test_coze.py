"""Coze's v3 chat, spoken by a fake server as its documentation describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpx", reason="needs httpx")

import httpx

from rag_monitor.domain.trace import Trace
from rag_monitor_coze import CozeClient, CozeError
from tests.integrations.captured import ANSWER, PASSAGES, QUESTION, Captured, hits
from tests.integrations.readme import run_example

WORDS = [word if n == 0 else f" {word}" for n, word in enumerate(ANSWER.split(" "))]
CHAT = {"id": "chat-1", "conversation_id": "conv-1", "bot_id": "bot-1"}
USAGE = {"token_count": 127, "input_count": 120, "output_count": 7}


def message(kind: str, content: Any, id: str = "x") -> dict[str, Any]:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"id": id, "chat_id": "chat-1", "role": "assistant", "type": kind, "content": text,
            "content_type": "text"}  # fmt: skip


def recall(passages: Any = None) -> dict[str, Any]:
    texts = PASSAGES.items() if passages is None else passages
    chunks = [
        {"slice": text, "score": 0.9, "meta": {
            "dataset": {"id": "7", "name": "manuals"}, "document": {"id": i, "name": "m.pdf"}}}
        for i, text in texts
    ]  # fmt: skip
    data = json.dumps({"chunks": chunks, "ori_req": "secret history", "status_code": 0})
    return message("verbose", {"msg_type": "knowledge_recall", "data": data})


def told(*, failing_tool: bool = False) -> list[dict[str, Any]]:
    call = {"name": "calc-run", "arguments": {"months": 24}, "plugin_name": "calculator"}
    result = {"code": 4000, "error": "no number"} if failing_tool else {"days": 720}
    return [
        recall(),
        message("function_call", call),
        message("tool_response", result),
        message("answer", ANSWER, id="a-1"),
        message("verbose", {"msg_type": "generate_answer_finish", "data": "{}"}),
        message("follow_up", "And batteries?"),
    ]


class Coze:
    """A server that tells messages, streamed or to be pulled."""

    def __init__(self, messages: list[dict[str, Any]] | None = None, **last: Any) -> None:
        self.messages = told() if messages is None else messages
        self.last = {**CHAT, "status": "completed", "usage": USAGE, **last}
        self.looks = 0

    def __call__(self, request: Any) -> Any:
        if request.headers["authorization"] != "Bearer pat":
            return httpx.Response(200, json={"code": 4100, "msg": "token is wrong"})
        if request.url.path.endswith("/message/list"):
            return httpx.Response(200, json={"code": 0, "data": self.messages})
        if request.url.path.endswith("/retrieve"):
            self.looks += 1
            state = {**CHAT, "status": "in_progress"} if self.looks < 2 else self.last
            return httpx.Response(200, json={"code": 0, "data": state})
        if not json.loads(request.content)["stream"]:
            return httpx.Response(200, json={"code": 0, "data": {**CHAT, "status": "created"}})
        lines = "".join(f"event:{n}\ndata:{json.dumps(d)}\n\n" for n, d in self.events())
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, content=lines + 'event:done\ndata:"[DONE]"\n\n', headers=headers)

    def events(self) -> Iterator[tuple[str, Any]]:
        yield "conversation.chat.created", {**CHAT, "status": "created"}
        for told_message in self.messages:
            if told_message["type"] == "answer":
                for word in WORDS:
                    yield "conversation.message.delta", {**told_message, "content": word}
            yield "conversation.message.completed", told_message
        yield f"conversation.chat.{self.last['status']}", self.last


def client(server: Coze, *, known: bool = True) -> CozeClient:
    http = httpx.Client(transport=httpx.MockTransport(server))
    return CozeClient("bot-1", "pat" if known else "other", http=http, poll_s=0.0)


def check(trace: Trace, *, streamed: bool) -> None:
    assert (trace.question, trace.answer, trace.status) == (QUESTION, ANSWER, "ok")
    assert trace.streamed is streamed
    assert [d.content for d in trace.contexts] == list(PASSAGES.values())
    assert [d.id.partition(":")[0] for d in trace.contexts] == list(PASSAGES)
    assert 0 < trace.timings.first_byte_ms <= trace.timings.end_to_end_ms
    assert trace.timings.generation_ms > 0
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (120, 7)
    assert (trace.session_id, trace.user_id) == ("conv-1", "u-7")
    assert {(k, n) for k, n, ok in hits(trace) if ok} == {
        ("plugin", "calculator"),
        ("knowledge_base", "manuals"),
    }


def test_a_streamed_chat_is_a_trace(captured: Captured) -> None:
    list(client(Coze()).stream(QUESTION, "u-7"))

    check(captured.trace, streamed=True)
    (retrieval,) = captured.trace.retrievals
    assert [d.score for d in retrieval.documents] == [0.9, 0.9]
    assert "secret history" not in str(captured.records)


def test_a_pulled_chat_is_a_trace(captured: Captured) -> None:
    server = Coze()
    found = client(server).ask(QUESTION, "u-7")

    assert found == server.messages
    check(captured.trace, streamed=False)
    assert captured.trace.timings.retrieval_ms is None, "a message list tells no durations"


def test_an_empty_recall_is_known_to_be_empty(captured: Captured) -> None:
    list(client(Coze([recall(()), told()[3]])).stream(QUESTION, "u-7"))

    assert captured.trace.contexts == ()
    assert captured.trace.hits[0].items == 0


def test_without_a_recall_contexts_are_unknown(captured: Captured) -> None:
    list(client(Coze([told()[3]])).stream(QUESTION, "u-7"))

    assert captured.trace.contexts is None
    assert captured.trace.retrievals == ()
    assert captured.trace.hits == ()


def test_a_failing_tool_is_a_failed_hit(captured: Captured) -> None:
    list(client(Coze(told(failing_tool=True))).stream(QUESTION, "u-7"))

    assert ("plugin", "calculator", False) in hits(captured.trace)


@pytest.mark.parametrize("mode", ["stream", "ask"])
def test_a_failed_chat_raises_and_is_an_error(captured: Captured, mode: str) -> None:
    server = Coze([], status="failed", last_error={"code": 5000, "msg": "model is gone"})
    with pytest.raises(CozeError, match="model is gone") as caught:
        list(getattr(client(server), mode)(QUESTION, "u-7"))

    assert caught.value.code == 5000
    assert (captured.trace.status, captured.trace.question) == ("error", QUESTION)


@pytest.mark.parametrize("mode", ["stream", "ask"])
def test_a_refused_token_is_an_error(captured: Captured, mode: str) -> None:
    with pytest.raises(CozeError, match="token is wrong"):
        list(getattr(client(Coze(), known=False), mode)(QUESTION, "u-7"))

    assert captured.trace.status == "error"


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("mode", ["stream", "ask"])
def test_a_page_in_place_of_the_api_is_told_with_how_to_mend_it(
    captured: Captured, mode: str, status: int
) -> None:
    web = httpx.MockTransport(lambda _: httpx.Response(status, html="<html>Coze</html>"))
    coze = CozeClient("bot-1", "pat", http=httpx.Client(transport=web))

    with pytest.raises(CozeError, match=rf"HTTP {status}, text/html.*base_url"):
        list(getattr(coze, mode)(QUESTION, "u-7"))

    assert (captured.trace.status, captured.trace.answer or None) == ("error", None)


def test_an_abandoned_stream_keeps_what_was_said(captured: Captured) -> None:
    events = client(Coze()).stream(QUESTION, "u-7")
    for event in events:
        if event.name == "conversation.message.delta":
            break
    events.close()

    assert (captured.trace.status, captured.trace.answer) == ("abandoned", WORDS[0])


def test_the_readme_example_records_a_trace(captured: Captured) -> None:
    http = httpx.Client(transport=httpx.MockTransport(Coze()))
    run_example("coze", http=http, token="pat")

    check(captured.trace, streamed=True)
