"""Answers in events: what of a stream is text of the answer, and when its first came."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk import asgi, wsgi
from rag_monitor.sdk.http_body import answer_in_body
from rag_monitor.testing import InMemoryExporter

PAUSE_S = 0.06
ROLE = b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
WORD = 'data: {"choices":[{"delta":{"content":"二十四"}}]}\n\n'.encode()
REST = 'data: {"choices":[{"delta":{"content":"个月"}}]}\n\ndata: [DONE]\n\n'.encode()


def _exchange(pieces: list[bytes], kind: str = "text/event-stream", encoding: str = "") -> None:
    """An ASGI response in pieces, with a pause before each but the first."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", kind.encode()), (b"content-encoding", encoding.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number, piece in enumerate(pieces):
            await asyncio.sleep(PAUSE_S if number else 0)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"{}"}

    async def send(message: Any) -> None:
        """Nobody reads it."""

    scope = {"type": "http", "path": "/chat", "method": "POST"}
    asyncio.run(asgi.RagMonitorMiddleware(app)(scope, receive, send))


def _pauses_before_text(record: dict[str, Any]) -> int | None:
    """How many of the pauses had passed when the first byte came."""
    first = record["timings"].get("first_byte_ms")
    return None if first is None else int(first / (PAUSE_S * 1000))


@pytest.mark.parametrize(
    ("pieces", "pauses"),
    [
        ([WORD, REST], 0),
        ([ROLE, WORD, REST], 1),
        ([b": ping\n\n", ROLE, WORD, REST], 2),
        ([ROLE[:20], ROLE[20:] + WORD[:10], WORD[10:], REST], 2),
        ([b'event: start\r\ndata: {"id": 1}\r\n\r\n', b"data: 24\r\n\r\n"], 1),
        (['event: status\ndata: 正在检索\n\n'.encode(), b'data: "24"\n\n'], 1),
        ([b'data: {"step": 1}\n\n', b'data: {"step": 2}\n\n'], 0),
        ([b": ping\n\n", ROLE], None),
    ],
)  # fmt: skip
def test_the_first_byte_is_the_first_text_of_the_answer(
    captured: InMemoryExporter, pieces: list[bytes], pauses: int | None
) -> None:
    _exchange(pieces)

    assert _pauses_before_text(captured.records[0]) == pauses


def test_json_lines_are_timed_by_their_text_too(captured: InMemoryExporter) -> None:
    lines = [b'{"type": "sources", "content": "p"}\n', b'{"response": "24"}\n', b'{"done": true}\n']
    _exchange(lines, "application/x-ndjson")

    (record,) = captured.records
    assert (record["answer"], _pauses_before_text(record)) == ("24", 1)


def test_a_compressed_stream_is_timed_by_its_text(captured: InMemoryExporter) -> None:
    _exchange([gzip.compress(piece) for piece in (ROLE, ROLE, WORD, REST)], encoding="gzip")

    (record,) = captured.records
    assert (record["answer"], _pauses_before_text(record)) == ("二十四个月", 2)


def test_a_stream_that_cannot_be_read_is_timed_by_its_first_piece(
    captured: InMemoryExporter,
) -> None:
    _exchange([b"\x0b\x00", b"\x80"], encoding="br")

    (record,) = captured.records
    assert (record.get("answer"), _pauses_before_text(record)) == (None, 0)


def test_a_text_that_is_called_events_is_timed_by_its_first_piece(
    captured: InMemoryExporter,
) -> None:
    _exchange(["二十四".encode(), "个月".encode()])

    (record,) = captured.records
    assert (record["answer"], _pauses_before_text(record)) == ("二十四个月", 0)


def test_wsgi_streams_are_timed_by_their_text(captured: InMemoryExporter) -> None:
    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        yield ROLE
        time.sleep(PAUSE_S)
        yield WORD

    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/chat"}
    body = wsgi.RagMonitorMiddleware(app)(environ, lambda *_: None)
    list(body)
    body.close()  # type: ignore[attr-defined]

    assert _pauses_before_text(captured.records[0]) == 1


def test_a_traced_generator_of_events_is_timed_by_their_text(captured: InMemoryExporter) -> None:
    @rm.trace
    def answer(question: str) -> Iterator[str]:
        yield ROLE.decode()
        time.sleep(PAUSE_S)
        yield WORD.decode()
        yield REST.decode()

    list(answer("多久?"))

    (record,) = captured.records
    assert (record["answer"], _pauses_before_text(record)) == ("二十四个月", 1)


@dataclass
class ServerSentEvent:
    """As FastAPI's and sse-starlette's."""

    data: Any
    event: str | None = None


def test_events_that_a_framework_will_write_are_read(captured: InMemoryExporter) -> None:
    @rm.trace
    def answer(question: str) -> Iterator[Any]:
        yield {"event": "start", "data": '{"id": 1}'}
        time.sleep(PAUSE_S)
        yield {"event": "message", "data": '{"content": "24 "}'}
        yield ServerSentEvent("months")
        yield ServerSentEvent({"content": "."})
        yield ServerSentEvent('{"content": "passage"}', "sources")

    list(answer("How long?"))

    (record,) = captured.records
    assert (record["answer"], _pauses_before_text(record)) == ("24 months.", 1)


def _sse(*events: tuple[str, object]) -> bytes:
    return "".join(
        f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n" for name, data in events
    ).encode()


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (  # OpenAI's Responses API
            _sse(
                ("response.created", {"type": "response.created", "response": {"id": "r"}}),
                ("", {"type": "response.reasoning_summary_text.delta", "delta": "I think"}),
                ("", {"type": "response.function_call_arguments.delta", "delta": '{"a'}),
                ("", {"type": "response.output_text.delta", "delta": "24 "}),
                ("", {"type": "response.output_text.delta", "delta": "months"}),
                ("", {"type": "response.output_text.done", "text": "24 months"}),
            ),
            "24 months",
        ),
        (  # Vercel's AI SDK
            _sse(
                ("", {"type": "reasoning-delta", "id": "0", "delta": "think"}),
                ("", {"type": "text-delta", "id": "1", "delta": "24"}),
                ("", {"type": "text-end", "id": "1"}),
            ),
            "24",
        ),
        (  # AG-UI
            _sse(
                ("", {"type": "TOOL_CALL_ARGS", "delta": "{}"}),
                ("", {"type": "TEXT_MESSAGE_CONTENT", "delta": "24"}),
            ),
            "24",
        ),
        (  # Coze
            _sse(
                ("conversation.message.delta", {"type": "answer", "content": "二十"}),
                ("conversation.message.delta", {"type": "answer", "content": "四"}),
                ("conversation.message.completed", {"type": "answer", "content": "二十四"}),
                ("conversation.message.completed", {"type": "follow_up", "content": "还有?"}),
                ("done", "[DONE]"),
            ),
            "二十四",
        ),
        (  # an application's own
            _sse(
                ("", {"type": "status", "content": "正在检索"}),
                ("", {"type": "sources", "content": [{"id": 1, "text": "passage"}]}),
                ("", {"type": "final", "content": "24"}),
            ),
            "24",
        ),
        (_sse(("", {"code": 0, "message": "success", "data": {"answer": "24"}})), "24"),
        (_sse(("", {"code": 0, "message": "success", "data": "24"})), "24"),
        (_sse(("", {"code": 0, "payload": {"reply": "24"}})), None),
        (_sse(("", {"error": {"message": "no"}})), None),
        (ROLE, ""),
        (b'data: 24\n\ndata: {"content": "cut he', "24"),
        (b'{"response": "a\xe2\x80\xa8b"}\n{"response": "c"}\n', "a\u2028bc"),
        (b'{"code": 200, "message": "success", "data": {"answer": "24"}}', "24"),
        (b'{"code": 200, "message": "success", "data": "24"}', "24"),
        (b'{"message": "24", "data": [{"text": "passage"}]}', "24"),
    ],
)
def test_what_is_sent_beside_the_answer_is_no_part_of_it(body: bytes, answer: str | None) -> None:
    assert answer_in_body(body) == answer


def _asked(query_string: bytes, body: bytes = b"", **options: Any) -> str | None:
    """What a GET, or a POST of a form, was found to ask."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"24"})

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        """Nobody reads it."""

    scope = {"type": "http", "path": "/chat", "method": "GET", "query_string": query_string}
    with InMemoryExporter(app="asked", interval_s=0.05) as exporter:
        middleware = asgi.RagMonitorMiddleware(app, paths=["/chat"], **options)
        asyncio.run(middleware(scope, receive, send))
        question = exporter.records[0].get("question")
    return question if isinstance(question, str) else None


@pytest.mark.parametrize(
    ("query_string", "body", "options", "question"),
    [
        (b"session=1&question=%E4%BF%9D%E4%BF%AE%3F+now", b"", {}, "保修? now"),
        (b"", b"question=How+long%3F&k=5", {}, "How long?"),
        (b"question=url", b'{"question": "body"}', {}, "body"),
        (b"question=url", b'{"k": 5}', {}, "url"),
        (b"q=short", b"", {"question_keys": ["q"]}, "short"),
        (b"q=short", b"", {}, None),
        (b"question=%ff%fd", b"", {}, None),
        (b"&".join([b"a=1"] * 1_001) + b"&question=x", b"", {}, None),
        (b"", b"\xff=\xfe", {}, None),
        (b"question=url", b"", {"question": lambda _: "never asked"}, "url"),
    ],
)
def test_a_question_stands_in_the_address_or_a_form(
    query_string: bytes, body: bytes, options: dict[str, Any], question: str | None
) -> None:
    assert _asked(query_string, body, **options) == question


def test_wsgi_addresses_are_read_too(captured: InMemoryExporter) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [b"24"]

    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/chat",
        "QUERY_STRING": "question=%E4%BF%9D%E4%BF%AE",
    }
    body = wsgi.RagMonitorMiddleware(app, paths=["/chat"])(environ, lambda *_: None)
    list(body)
    body.close()  # type: ignore[attr-defined]

    assert captured.records[0]["question"] == "保修"


NAMED = [
    'event: thought\ndata: {"reply": "", "thought": "hm"}\n\n',
    'data: {"reply": "24 ", "content": "no"}\n\n',
    'data: {"reply": "months"}\n\ndata: {"content": "no"}\n\n',
]


def test_named_keys_hold_the_answer_of_a_response(captured: InMemoryExporter) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in NAMED:
            await asyncio.sleep(PAUSE_S)
            await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"{}"}

    async def send(message: Any) -> None:
        """Nobody reads it."""

    scope = {"type": "http", "path": "/chat", "method": "POST"}
    asyncio.run(asgi.RagMonitorMiddleware(app, answer_keys=["reply"])(scope, receive, send))

    (record,) = captured.records
    assert (record["answer"], _pauses_before_text(record)) == ("24 months", 2)


def test_a_named_field_is_found_in_the_events_of_a_generator(captured: InMemoryExporter) -> None:
    @rm.trace(answer="reply")
    def answer(question: str) -> Iterator[str]:
        yield from NAMED

    list(answer("How long?"))

    assert captured.records[0]["answer"] == "24 months"


@pytest.mark.parametrize("place", ["reply", "data.reply"])
def test_a_named_field_is_found_in_a_response_object(
    captured: InMemoryExporter, place: str
) -> None:
    flask = pytest.importorskip("flask")
    body = {"answer": "no", "reply": "好"}

    @rm.trace(answer=place)
    def answer(question: str) -> Any:
        return flask.jsonify(body if place == "reply" else {"data": body}), 201

    with flask.Flask("app").app_context():
        answer("How long?")

    assert captured.records[0]["answer"] == "好"


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b'{"answer": "no", "data": {"reply": "24"}}', "24"),
        (b'{"answer": "no"}', None),
        (b'{"data.reply": "24"}', "24"),
        (b'{"data": [1]}', None),
        (b'{"data": {"reply": ""}}\n{"data": {"reply": "24"}}\n', "24"),
        (b"plain text", "plain text"),
    ],
)
def test_named_keys_are_found_in_bodies(body: bytes, answer: str | None) -> None:
    assert answer_in_body(body, keys=("data.reply",)) == answer
