"""Asking a live endpoint: JSON, text and streams in the shapes applications use."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from rag_monitor.errors import ConfigurationError
from rag_monitor.ingest.trace_json import decode_trace
from rag_monitor.offline.golden import Answer, Endpoint, EndpointOptions, as_trace, golden_rows
from rag_monitor.offline.rows import BadRow

URL = "http://app.example/ask"


def _ask(
    reply: httpx.Response | Callable[[httpx.Request], httpx.Response], **options: Any
) -> Answer:
    handler = reply if callable(reply) else lambda _: reply
    endpoint = Endpoint(EndpointOptions(url=URL, **options), transport=httpx.MockTransport(handler))
    try:
        return endpoint.ask("保修多久?")
    finally:
        endpoint.close()


def _events(*data: str) -> httpx.Response:
    body = "".join(f"data: {piece}\n\n" for piece in data)
    return httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})


@pytest.mark.parametrize(
    "content",
    [
        {"answer": "24个月"},
        {"response": "24个月"},
        {"data": {"answer": "24个月"}},
        "24个月",
    ],
)
def test_usual_json_replies_are_read_without_options(content: Any) -> None:
    assert _ask(httpx.Response(200, json=content)).text == "24个月"


def test_named_fields_reach_into_the_reply() -> None:
    content = {"choices": [{"message": {"content": "24"}}], "docs": [{"id": 7, "text": "p"}]}

    answer = _ask(
        httpx.Response(200, json=content),
        answer_field="choices.0.message.content",
        contexts_field="docs",
    )

    assert answer.text == "24"
    assert answer.contexts == [{"id": 7, "content": "p"}]


@pytest.mark.parametrize(
    "pieces",
    [
        ['{"delta": "24"}', '{"delta": "个月"}', "[DONE]"],
        [f'{{"choices": [{{"delta": {{"content": "{t}"}}}}]}}' for t in ("24", "个月")],
        ["24", "个月"],
        ['"24"', '"个月"'],
    ],
)  # fmt: skip
def test_streams_are_put_together(pieces: list[str]) -> None:
    answer = _ask(_events(*pieces))

    assert answer.text == "24个月"
    assert answer.streamed
    assert answer.first_byte_ms is not None
    assert answer.error is None


def test_what_a_stream_sends_beside_the_answer_is_no_part_of_it() -> None:
    body = (
        "event: status\ndata: 正在检索\n\n"
        'data: {"type": "sources", "content": "p", "contexts": ["p"]}\n\n'
        'data: {"type": "reasoning-delta", "delta": "hm"}\n\n'
        'data: {"type": "text-delta", "delta": "24"}\n\n'
        'data: {"type": "text-delta", "delta": "个月"}\n\n'
        'event: done\ndata: {"answer": "24个月"}\n\n'
    )
    answer = _ask(httpx.Response(200, text=body, headers={"content-type": "text/event-stream"}))

    assert (answer.text, answer.contexts) == ("24个月", ["p"])


def test_a_named_field_is_read_whatever_the_event_is_called() -> None:
    answer = _ask(_events('{"type": "status", "reply": "24"}'), answer_field="reply")

    assert answer.text == "24"


def test_passages_of_a_stream_are_kept_and_empty_ones_mean_nothing_was_recalled() -> None:
    assert _ask(_events('{"contexts": ["p"]}', '{"delta": "a"}')).contexts == ["p"]
    assert _ask(httpx.Response(200, json={"answer": "a", "contexts": []})).contexts == []
    assert _ask(httpx.Response(200, json={"answer": "a"})).contexts is None


def test_the_question_goes_where_the_endpoint_wants_it() -> None:
    seen: list[Any] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append((json.loads(request.content), request.headers["x-team"]))
        return httpx.Response(200, json={"answer": "a"})

    _ask(
        handler,
        question_field="input.text",
        body={"stream": False, "input": {"lang": "zh"}},
        headers={"x-team": "qa"},
    )

    assert seen == [({"stream": False, "input": {"lang": "zh", "text": "保修多久?"}}, "qa")]


def _broken(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


def _lost(_: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("")


def _slow(_: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("slow")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (httpx.Response(500, text="boom"), "HTTP 500: boom"),
        (httpx.Response(200, json={"other": 1}), "--answer-field"),
        (httpx.Response(200, text="{", headers={"content-type": "application/json"}), "cannot be"),
        (
            _broken,
            "nobody answers at http://app.example/ask (refused); is the application running?",
        ),
        (_lost, "the connection to http://app.example/ask broke off (ReadError)"),
        (_slow, "no answer within"),
    ],
)
def test_whatever_goes_wrong_is_an_answer_with_an_error(reply: Any, said: str) -> None:
    answer = _ask(reply)

    assert answer.text is None
    assert answer.error is not None
    assert said in answer.error


def test_what_is_told_of_an_endpoint_holds_no_secret_of_its_address() -> None:
    options = EndpointOptions(url="http://me:hush@app.example:8000/ask?key=hush")
    endpoint = Endpoint(options, transport=httpx.MockTransport(_broken))

    error = endpoint.ask("q").error or ""
    endpoint.close()

    assert "http://app.example:8000/ask (refused)" in error
    assert "hush" not in error


def test_an_answer_becomes_a_trace_with_the_rows_labels_and_the_tag() -> None:
    row = {
        "id": "q1",
        "question": "q",
        "reference": "24",
        "key_points": ["24"],
        "expected": {"plugin": ["search"]},
        "tags": ["nightly"],
        "answer": "an old answer",
    }
    answer = Answer(text="24 months", contexts=["p"], first_byte_ms=5.0, end_to_end_ms=9.0)
    moment = datetime(2026, 1, 5, tzinfo=UTC)

    first = as_trace(row, answer, app="faq", started_at=moment)
    later = as_trace(row, answer, app="faq", started_at=moment.replace(day=6))
    trace = decode_trace(first)

    assert trace.tags == ("golden", "nightly")
    assert trace.answer == "24 months"
    assert trace.expected is not None
    assert trace.expected.references == ("24",)
    assert trace.expected.plugin == ("search",)
    assert trace.timings.end_to_end_ms == 9.0
    assert decode_trace(later).trace_id != trace.trace_id


def test_a_failed_answer_is_a_failed_trace_without_contexts() -> None:
    trace = decode_trace(as_trace({"question": "q"}, Answer(error="HTTP 500"), app="faq"))

    assert (trace.status, trace.error, trace.contexts) == ("error", "HTTP 500", None)


def test_rows_without_a_question_are_reported_in_their_place(tmp_path: Path) -> None:
    path = tmp_path / "golden.csv"
    path.write_text("user_input,reference\nq,24\n,25\n", encoding="utf-8")

    first, second = golden_rows(path)

    assert first == {"question": "q", "reference": "24"}
    assert isinstance(second, BadRow)


def test_an_address_that_is_not_http_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="--endpoint must begin"):
        Endpoint(EndpointOptions(url="ftp://x"))


def test_the_turns_before_a_question_go_where_the_endpoint_takes_them() -> None:
    sent: list[dict[str, Any]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(200, json={"answer": "Six months."})

    row = {
        "question": "And of the bulb?",
        "history": [{"question": "Warranty of the lamp?", "answer": "24 months."}, {"answer": "x"}],
    }
    told = EndpointOptions(url=URL, history_field="input.messages", question_field="input.text")
    for options in (told, EndpointOptions(url=URL)):
        endpoint = Endpoint(options, transport=httpx.MockTransport(handler))
        earlier = endpoint.history_of(row)
        answer = endpoint.ask("And of the bulb?", earlier)
        trace = decode_trace(as_trace(row, answer, app="faq", history=earlier))
        endpoint.close()
        assert len(trace.history) == (options is told)

    messages = [
        {"role": "user", "content": "Warranty of the lamp?"},
        {"role": "assistant", "content": "24 months."},
    ]
    assert sent == [
        {"input": {"text": "And of the bulb?", "messages": messages}},
        {"question": "And of the bulb?"},
    ]
