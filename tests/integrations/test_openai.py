"""The OpenAI client, the real package against a fake transport."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("openai", reason="needs openai")

import httpx
import openai
from openai import AsyncOpenAI, OpenAI

import rag_monitor as rm
import rag_monitor_openai
from tests.integrations.captured import ANSWER, PASSAGES, QUESTION, Captured, check_story, hits
from tests.integrations.readme import run_example

WORDS = [word if n == 0 else f" {word}" for n, word in enumerate(ANSWER.split(" "))]
USAGE = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127}


def chat_reply() -> dict[str, Any]:
    message = {"role": "assistant", "content": ANSWER}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "fake-1",
            "choices": [choice], "usage": USAGE}  # fmt: skip


def chat_events() -> Iterator[dict[str, Any]]:
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake-1"}
    for word in ["", *WORDS]:
        yield {**base, "choices": [{"index": 0, "delta": {"content": word}}]}
    yield {**base, "choices": [], "usage": USAGE}


def response(status: str) -> dict[str, Any]:
    text = {"type": "output_text", "text": ANSWER, "annotations": []}
    message = {"id": "m", "type": "message", "role": "assistant", "status": status,
               "content": [text]}  # fmt: skip
    usage = {"input_tokens": 120, "output_tokens": 7, "total_tokens": 127,
             "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    return {"id": "r", "object": "response", "created_at": 1, "model": "fake-1", "tools": [],
            "status": status, "output": [message], "usage": usage, "tool_choice": "auto",
            "parallel_tool_calls": True}  # fmt: skip


def response_events() -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "sequence_number": 0, "response": response("in_progress")}
    for number, word in enumerate(WORDS, start=1):
        yield {"type": "response.output_text.delta", "sequence_number": number, "delta": word,
               "item_id": "m", "output_index": 0, "content_index": 0, "logprobs": []}  # fmt: skip
    yield {"type": "response.completed", "sequence_number": 99, "response": response("completed")}


def with_another_choice(event: dict[str, Any]) -> dict[str, Any]:
    """The event with a second choice before its first."""
    choices = []
    for choice in event["choices"]:
        name = "message" if "message" in choice else "delta"
        choices = [choice | {"index": 1, name: choice[name] | {"content": "another"}}, choice]
    return event | {"choices": choices}


def serve(request: httpx.Request) -> httpx.Response:
    body = json.loads(request.content)
    if body["model"] == "broken":
        return httpx.Response(500, json={"error": {"message": "out of memory"}})
    chat = request.url.path.endswith("/chat/completions")
    if not body.get("stream"):
        reply = chat_reply() if chat else response("completed")
        return httpx.Response(200, json=with_another_choice(reply) if body.get("n") else reply)
    events = chat_events() if chat else response_events()
    if body.get("n"):
        events = map(with_another_choice, events)
    lines = "".join(f"event: {e.get('type', 'x')}\ndata: {json.dumps(e)}\n\n" for e in events)
    if chat:
        lines = lines.replace("event: x\n", "")
    return httpx.Response(
        200, content=lines + "data: [DONE]\n\n", headers={"content-type": "text/event-stream"}
    )


@pytest.fixture
def client() -> Iterator[OpenAI]:
    http = httpx.Client(transport=httpx.MockTransport(serve))
    with OpenAI(api_key="none", base_url="http://test/v1", http_client=http, max_retries=0) as made:
        yield made


@pytest.fixture
def instrumented(captured: Captured) -> Iterator[Captured]:
    rag_monitor_openai.instrument()
    yield captured
    rag_monitor_openai.uninstrument()


def search(question: str) -> list[dict[str, str]]:
    return [{"id": i, "content": text} for i, text in PASSAGES.items()]


def retrieve() -> None:
    with rm.retrieval(knowledge_base="manuals") as found:
        found.documents = search(QUESTION)
    with rm.plugin("calculator"):
        pass


def message(model: str = "fake") -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": QUESTION}]}


def check(captured: Captured, *, streamed: bool) -> None:
    trace = captured.trace
    check_story(trace, streamed=streamed, model="fake-1")
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (120, 7)
    assert hits(trace) == [("knowledge_base", "manuals", True), ("plugin", "calculator", True)]
    assert (trace.timings.first_token_ms is not None) is streamed


def test_a_chat_completion_is_the_generation(instrumented: Captured, client: OpenAI) -> None:
    with rm.trace("chat", question=QUESTION):
        retrieve()
        client.chat.completions.create(**message())

    check(instrumented, streamed=False)


def test_a_streamed_completion_tells_its_first_token(
    instrumented: Captured, client: OpenAI
) -> None:
    @rm.trace
    def answer(question: str) -> Iterator[str]:
        retrieve()
        for piece in client.chat.completions.create(**message(), stream=True):
            if piece.choices:
                yield piece.choices[0].delta.content or ""

    assert "".join(answer(QUESTION)) == ANSWER

    check(instrumented, streamed=True)


@pytest.mark.parametrize("streamed", [False, True])
def test_of_two_choices_the_first_is_the_generation(
    instrumented: Captured, client: OpenAI, streamed: bool
) -> None:
    with rm.trace("ask", question=QUESTION):
        reply = client.chat.completions.create(**message(), n=2, stream=streamed)
        if streamed:
            list(reply)

    assert instrumented.trace.answer == ANSWER


@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_replies_that_the_client_parses_are_the_generation(
    instrumented: Captured, client: OpenAI, kind: str
) -> None:
    with rm.trace("chat", question=QUESTION):
        retrieve()
        if kind == "chat":
            client.chat.completions.parse(**message())
        else:
            client.responses.parse(model="fake", input=QUESTION)
    check(instrumented, streamed=False)

    instrumented.clear()
    http = httpx.AsyncClient(transport=httpx.MockTransport(serve))
    async with AsyncOpenAI(api_key="none", base_url="http://test/v1", http_client=http) as later:
        with rm.trace("chat", question=QUESTION):
            retrieve()
            if kind == "chat":
                await later.chat.completions.parse(**message())
            else:
                await later.responses.parse(model="fake", input=QUESTION)
    check(instrumented, streamed=False)


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_the_clients_own_stream_helpers_tell_their_first_token(
    instrumented: Captured, client: OpenAI, kind: str
) -> None:
    with rm.trace("chat", question=QUESTION):
        retrieve()
        if kind == "chat":
            with client.chat.completions.stream(**message()) as events:
                list(events)
        else:
            with client.responses.stream(model="fake", input=QUESTION) as events:
                list(events)

    assert instrumented.trace.answer == ANSWER
    assert instrumented.trace.timings.first_token_ms is not None


async def test_async_streams_are_the_same(instrumented: Captured) -> None:
    http = httpx.AsyncClient(transport=httpx.MockTransport(serve))
    client = AsyncOpenAI(api_key="none", base_url="http://test/v1", http_client=http)

    @rm.trace
    async def answer(question: str) -> Any:
        retrieve()
        async for piece in await client.chat.completions.create(**message(), stream=True):
            yield piece.choices[0].delta.content if piece.choices else ""

    async with client:
        assert "".join([piece async for piece in answer(QUESTION)]) == ANSWER

    check(instrumented, streamed=True)


def test_a_response_is_the_generation(instrumented: Captured, client: OpenAI) -> None:
    with rm.trace("chat", question=QUESTION):
        retrieve()
        client.responses.create(model="fake", input=QUESTION)

    check(instrumented, streamed=False)


def test_a_streamed_response_tells_its_first_token(instrumented: Captured, client: OpenAI) -> None:
    @rm.trace
    def answer(question: str) -> Iterator[str]:
        retrieve()
        for event in client.responses.create(model="fake", input=question, stream=True):
            yield event.delta if event.type == "response.output_text.delta" else ""

    assert "".join(answer(QUESTION)) == ANSWER

    check(instrumented, streamed=True)


def test_a_failing_call_raises_as_before_and_is_an_error(
    instrumented: Captured, client: OpenAI
) -> None:
    def answer() -> None:
        with rm.trace("chat", question=QUESTION):
            retrieve()
            client.chat.completions.create(**message("broken"))

    with pytest.raises(openai.InternalServerError):
        answer()

    trace = instrumented.trace
    assert trace.status == "error"
    assert trace.error.startswith("InternalServerError")
    assert [d.id for d in trace.contexts] == list(PASSAGES)


def test_an_abandoned_stream_closes_its_step(instrumented: Captured, client: OpenAI) -> None:
    def start() -> str:
        stream = client.chat.completions.create(**message(), stream=True)
        with stream:
            return next(p.choices[0].delta.content for p in stream if p.choices[0].delta.content)

    with rm.trace("chat", question=QUESTION):
        start()

    assert instrumented.trace.answer == WORDS[0]


def test_outside_a_trace_and_after_uninstrument_calls_pass_untouched(
    captured: Captured, client: OpenAI
) -> None:
    before = openai.resources.chat.completions.Completions.create
    rag_monitor_openai.instrument()
    rag_monitor_openai.instrument()
    assert client.chat.completions.create(**message()).choices[0].message.content == ANSWER
    rag_monitor_openai.uninstrument()

    assert openai.resources.chat.completions.Completions.create is before
    assert captured.traces == []


def test_the_readme_example_records_a_trace(captured: Captured, client: OpenAI) -> None:
    try:
        names = run_example("openai", client=client, search=search)
        assert names["answer"](QUESTION) == ANSWER
    finally:
        rag_monitor_openai.uninstrument()

    trace = captured.trace
    check_story(trace, streamed=False, model="fake-1")
    assert hits(trace) == [("knowledge_base", "manuals", True)]


def test_a_returned_stream_ends_its_trace_when_it_is_closed(
    captured: Captured, client: OpenAI
) -> None:
    @rm.trace
    def answer(question: str) -> Any:
        return client.chat.completions.create(**message(), stream=True)

    with answer(QUESTION) as stream:
        pieces = iter(stream)
        seen = [next(pieces).choices[0].delta.content or "" for _ in range(3)]
        assert captured.traces == []

    assert (captured.trace.status, captured.trace.answer) == ("abandoned", "".join(seen))
    assert stream.response.is_closed


async def test_a_returned_async_stream_ends_its_trace_when_it_is_closed(
    captured: Captured,
) -> None:
    http = httpx.AsyncClient(transport=httpx.MockTransport(serve))
    async_client = AsyncOpenAI(api_key="none", base_url="http://test/v1", http_client=http)

    @rm.trace
    async def answer(question: str) -> Any:
        return await async_client.chat.completions.create(**message(), stream=True)

    async with await answer(QUESTION) as stream:
        pieces = aiter(stream)
        seen = [(await anext(pieces)).choices[0].delta.content or "" for _ in range(3)]
    await async_client.close()

    assert (captured.trace.status, captured.trace.answer) == ("abandoned", "".join(seen))
    assert stream.response.is_closed


def test_a_returned_response_is_the_answer(captured: Captured, client: OpenAI) -> None:
    @rm.trace
    def answer(question: str) -> Any:
        return client.responses.create(model="fake-1", input=question)

    answer(QUESTION)

    assert captured.trace.answer == ANSWER
