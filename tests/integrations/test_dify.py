"""Dify's Service API, spoken by a fake server as its documentation describes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("httpx", reason="needs httpx")

import httpx

from rag_monitor_dify import AsyncDifyClient, DifyClient, DifyError
from tests.integrations.captured import ANSWER, PASSAGES, QUESTION, Captured, check_story, hits
from tests.integrations.readme import run_example

WORDS = [word if n == 0 else f" {word}" for n, word in enumerate(ANSWER.split(" "))]
IDS = {"task_id": "t", "message_id": "m", "conversation_id": "conv-1"}
USAGE = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127}


def resources() -> list[dict[str, Any]]:
    found = [
        {"position": n, "dataset_id": "d", "dataset_name": "manuals", "document_id": "x",
         "segment_id": i, "score": 1.0 / n, "content": text}
        for n, (i, text) in enumerate(PASSAGES.items(), start=1)
    ]  # fmt: skip
    return found[::-1]


def said(kind: str = "message") -> Iterator[dict[str, Any]]:
    for word in WORDS:
        yield {"event": kind, "answer": word, **IDS}


def chat_events() -> Iterator[dict[str, Any]]:
    yield from said()
    metadata = {"usage": USAGE, "retriever_resources": resources()}
    yield {"event": "message_end", "metadata": metadata, **IDS}


def agent_events() -> Iterator[dict[str, Any]]:
    thought = {"event": "agent_thought", "id": "th", "tool": "calculator;dataset_d", **IDS}
    yield {**thought, "observation": ""}
    yield {**thought, "observation": '{"calculator": "720"}'}
    yield from said("agent_message")
    yield {"event": "message", "answer": ANSWER, **IDS}
    metadata = {"usage": USAGE, "retriever_resources": resources()}
    yield {"event": "message_end", "metadata": metadata, **IDS}


def node(kind: str, number: int, node_type: str, title: str, **data: Any) -> dict[str, Any]:
    known = {"id": f"run-{number}", "node_id": str(number), "node_type": node_type, "title": title}
    return {"event": kind, "data": {**known, **data}, **IDS}


def flow_events() -> Iterator[dict[str, Any]]:
    yield {"event": "workflow_started", "data": {"id": "w", "inputs": {}}, **IDS}
    yield node("node_started", 1, "knowledge-retrieval", "Search")
    result = [
        {"content": text, "title": i, "metadata": {
            "dataset_name": "manuals", "segment_id": i, "score": 0.9, "position": 1}}
        for i, text in PASSAGES.items()
    ]  # fmt: skip
    yield node("node_finished", 1, "knowledge-retrieval", "Search", status="succeeded",
               elapsed_time=0.25, inputs={"query": "warranty"},
               outputs={"result": result})  # fmt: skip
    yield node("node_started", 2, "tool", "calculator")
    yield node("node_finished", 2, "tool", "calculator", status="failed", error="no number")
    yield node("node_started", 3, "llm", "Answer")
    yield from said()
    yield node("node_finished", 3, "llm", "Answer", status="succeeded", elapsed_time=0.5,
               process_data={"model_name": "fake-1"})  # fmt: skip
    yield {"event": "message_end", "metadata": {"usage": USAGE}, **IDS}
    finished = {"status": "succeeded", "outputs": {"answer": ANSWER}, "total_tokens": 127}
    yield {"event": "workflow_finished", "data": finished, **IDS}


def failing_events() -> Iterator[dict[str, Any]]:
    yield next(iter(said()))
    yield {"event": "error", "status": 400, "code": "provider_quota_exceeded", "message": "no"}


class Dify:
    """A server that answers with given events."""

    def __init__(self, events: Callable[[], Iterator[dict[str, Any]]] = chat_events) -> None:
        self.events = events
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: Any) -> Any:
        body = json.loads(request.content)
        self.requests.append({"path": request.url.path, **body})
        if request.headers["authorization"] != "Bearer app-key":
            return httpx.Response(401, json={"code": "unauthorized", "message": "wrong key"})
        if body["response_mode"] == "blocking":
            metadata = {"usage": USAGE, "retriever_resources": resources()}
            reply = {"event": "message", "mode": "chat", "answer": ANSWER, "metadata": metadata}
            return httpx.Response(200, json={**reply, **IDS})
        lines = "event: ping\n\n" + "".join(f"data: {json.dumps(e)}\n\n" for e in self.events())
        return httpx.Response(200, content=lines.encode())


def client(server: Dify, key: str = "app-key", **settings: Any) -> DifyClient:
    http = httpx.Client(transport=httpx.MockTransport(server))
    return DifyClient("http://dify/v1", key, http=http, **settings)


def check(captured: Captured, *, streamed: bool) -> None:
    trace = captured.trace
    check_story(trace, streamed=streamed)
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (120, 7)
    assert (trace.session_id, trace.user_id) == ("conv-1", "u-7")


def test_a_streamed_chat_is_a_trace_with_its_citations(captured: Captured) -> None:
    events = list(client(Dify()).stream(QUESTION, "u-7"))

    assert events == list(chat_events())
    check(captured, streamed=True)
    trace = captured.trace
    assert hits(trace) == [("knowledge_base", "manuals", True)]
    assert trace.hits[0].items == 2
    assert trace.hits[0].latency_ms is None, "citations tell no duration"
    assert trace.timings.retrieval_ms is None


def test_a_blocking_chat_is_a_trace(captured: Captured) -> None:
    server = Dify()
    reply = client(server).ask(QUESTION, "u-7", conversation_id="conv-1")

    assert reply["answer"] == ANSWER
    assert server.requests[0]["conversation_id"] == "conv-1"
    check(captured, streamed=False)


async def test_the_async_client_is_the_same(captured: Captured) -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(Dify())) as http:
        asking = AsyncDifyClient("http://dify/v1", "app-key", http=http)
        assert len([event async for event in asking.stream(QUESTION, "u-7")]) == len(WORDS) + 1
        await asking.ask(QUESTION, "u-7")

    streamed, whole = captured.traces
    check_story(streamed, streamed=True)
    check_story(whole, streamed=False)


def test_tools_of_an_agent_are_plugin_hits_and_the_closing_answer_is_not_said_twice(
    captured: Captured,
) -> None:
    list(client(Dify(agent_events)).stream(QUESTION, "u-7"))

    check(captured, streamed=True)
    assert hits(captured.trace) == [
        ("plugin", "calculator", True),
        ("knowledge_base", "manuals", True),
    ]


def test_nodes_of_a_chatflow_are_hits_and_its_retrieval_is_complete(captured: Captured) -> None:
    list(client(Dify(flow_events), app="flow").stream(QUESTION, "u-7"))

    check(captured, streamed=True)
    trace = captured.trace
    (retrieval,) = trace.retrievals
    assert retrieval.query == "warranty"
    assert retrieval.latency_ms == pytest.approx(250, abs=20)
    assert trace.model == "fake-1"
    assert hits(trace) == [
        ("knowledge_base", "manuals", True),
        ("plugin", "calculator", False),
        ("workflow", "Answer", True),
    ]


def test_a_failure_inside_the_stream_is_raised_and_recorded(captured: Captured) -> None:
    with pytest.raises(DifyError, match="no") as caught:
        list(client(Dify(failing_events)).stream(QUESTION, "u-7"))

    assert (caught.value.code, caught.value.status) == ("provider_quota_exceeded", 400)
    trace = captured.trace
    assert (trace.status, trace.answer, trace.question) == ("error", WORDS[0], QUESTION)


@pytest.mark.parametrize("mode", ["stream", "ask"])
def test_a_refused_request_is_an_error(captured: Captured, mode: str) -> None:
    with pytest.raises(DifyError, match="wrong key"):
        list(getattr(client(Dify(), key="other"), mode)(QUESTION, "u-7"))

    assert captured.trace.status == "error"


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("mode", ["stream", "ask"])
def test_a_page_in_place_of_the_api_is_told_with_how_to_mend_it(
    captured: Captured, mode: str, status: int
) -> None:
    web = httpx.MockTransport(lambda _: httpx.Response(status, html="<html>Dify</html>"))
    dify = DifyClient("http://dify", "app-key", http=httpx.Client(transport=web))

    with pytest.raises(DifyError, match=rf"HTTP {status}, text/html.*base_url.*/v1") as caught:
        list(getattr(dify, mode)(QUESTION, "u-7"))

    assert caught.value.status == status
    assert (captured.trace.status, captured.trace.answer or None) == ("error", None)


async def test_the_async_client_tells_a_page_too(captured: Captured) -> None:
    web = httpx.MockTransport(lambda _: httpx.Response(200, html="<html>Dify</html>"))
    async with httpx.AsyncClient(transport=web) as http:
        dify = AsyncDifyClient("http://dify", "app-key", http=http)
        with pytest.raises(DifyError, match="base_url"):
            await dify.ask(QUESTION, "u-7")
        with pytest.raises(DifyError, match="base_url"):
            [event async for event in dify.stream(QUESTION, "u-7")]

    assert [trace.status for trace in captured.traces] == ["error", "error"]


def test_an_abandoned_stream_keeps_what_was_said(captured: Captured) -> None:
    events = client(Dify()).stream(QUESTION, "u-7")
    next(events)
    events.close()

    assert (captured.trace.status, captured.trace.answer) == ("abandoned", WORDS[0])


def test_an_unknown_kind_says_which_there_are() -> None:
    with pytest.raises(ValueError, match="chat, completion, workflow"):
        DifyClient("http://dify/v1", "k", kind="agent")


def test_the_readme_example_records_a_trace(captured: Captured) -> None:
    http = httpx.Client(transport=httpx.MockTransport(Dify()))
    run_example("dify", http=http, api_key="app-key")

    check(captured, streamed=True)
