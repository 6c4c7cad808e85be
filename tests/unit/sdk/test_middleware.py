"""One trace per HTTP request, in ASGI and WSGI, without code in the handlers."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import json
import time
import zlib
from collections.abc import Iterable
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk import asgi, wsgi
from rag_monitor.sdk.http_body import answer_in_body, plain_body
from rag_monitor.testing import InMemoryExporter

BODY = json.dumps({"messages": [{"role": "user", "content": "利率?"}]}).encode()


def respond(chunks: list[bytes], content_type: bytes = b"text/event-stream") -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        with rm.retrieval("kb") as found:
            found.documents = ["passage"]
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"Content-Type", content_type)],
            }
        )
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return app


async def call(app: Any, path: str = "/chat", method: str = "POST", fail_at: int = 99) -> list[Any]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": BODY, "more_body": False}

    async def send(message: Any) -> None:
        if len(sent) >= fail_at:
            raise OSError("client gone")
        sent.append(message)

    await app({"type": "http", "path": path, "method": method}, receive, send)
    return sent


async def test_a_streamed_request_becomes_a_trace(captured: InMemoryExporter) -> None:
    events = [
        b'data: {"choices":[{"delta":{"content":"3.4"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"%"}}]}\n\ndata: [DONE]\n\n',
    ]
    sent = await call(asgi.RagMonitorMiddleware(respond(events)))

    assert [m.get("body") for m in sent[1:]] == [*events, b""]
    (record,) = captured.records
    assert (record["question"], record["answer"]) == ("利率?", "3.4%")
    assert (record["status"], record["streamed"]) == ("ok", True)
    assert record["timings"]["first_byte_ms"] <= record["timings"]["end_to_end_ms"]
    assert record["contexts"] == [{"content": "passage", "knowledge_base": "kb"}]


@pytest.mark.parametrize("method", ["OPTIONS", "HEAD"])
async def test_a_browsers_question_about_the_address_is_no_trace(
    captured: InMemoryExporter, method: str
) -> None:
    await call(asgi.RagMonitorMiddleware(respond([b"x"]), paths=["/chat"]), "/chat", method)

    assert captured.records == []


async def test_only_wanted_requests_are_traced(captured: InMemoryExporter) -> None:
    app = asgi.RagMonitorMiddleware(respond([b"x"], b"text/plain"), paths=["/chat"])
    await call(app, "/chat/1", "GET")
    await call(app, "/chatter")
    await call(asgi.RagMonitorMiddleware(respond([b"x"])), "/chat", "GET")

    assert len(captured.records) == 1


async def test_a_client_that_leaves_is_a_cancelled_trace(captured: InMemoryExporter) -> None:
    app = asgi.RagMonitorMiddleware(respond([b"one ", b"two"], b"text/plain"))
    with pytest.raises(OSError, match="gone"):
        await call(app, fail_at=2)

    (record,) = captured.records
    assert (record["status"], record["answer"]) == ("cancelled", "one ")


async def test_a_cancelled_request_is_a_cancelled_trace(captured: InMemoryExporter) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    task = asyncio.create_task(call(asgi.RagMonitorMiddleware(app)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert captured.records[0]["status"] == "cancelled"


async def test_a_decorated_handler_knows_better_than_the_body(captured: InMemoryExporter) -> None:
    @rm.trace
    async def handler(question: str) -> str:
        return "from the handler"

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await handler("from the call")
        await respond([b"from the body"], b"text/plain")(scope, receive, send)

    await call(asgi.RagMonitorMiddleware(app))

    (record,) = captured.records
    assert (record["question"], record["answer"]) == ("from the call", "from the handler")


class StreamingResponse:
    """The shape of Starlette's."""

    def __init__(self, content: Any) -> None:
        self.body_iterator = content


async def test_a_streaming_response_is_watched(captured: InMemoryExporter) -> None:
    async def words() -> Any:
        with rm.retrieval("kb") as found:
            found.documents = ["p"]
        yield "a"
        yield b"b"

    @rm.trace
    async def handler(question: str) -> Any:
        return response

    response = StreamingResponse(words())
    assert await handler("q") is response
    assert captured.records == []
    assert [chunk async for chunk in response.body_iterator] == ["a", b"b"]
    (record,) = captured.records
    assert (record["answer"], record["status"]) == ("ab", "ok")
    assert record["contexts"] == [{"content": "p", "knowledge_base": "kb"}]


async def test_a_streaming_response_nobody_reads_to_its_end_is_cancelled(
    captured: InMemoryExporter,
) -> None:
    async def words() -> Any:
        yield "a"
        yield "b"

    @rm.trace
    def handler(question: str) -> Any:
        return StreamingResponse(words())

    response = handler("q")
    await anext(response.body_iterator)
    await response.body_iterator.aclose()
    handler("never read")

    statuses = [(r["answer"], r["status"]) for r in captured.records]
    assert statuses == [("a", "cancelled"), ("", "cancelled")]


def wsgi_call(app: Any, stop_after: int = 99) -> list[bytes]:
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/chat", "wsgi.input": io.BytesIO(BODY)}
    body = app(environ, lambda *_: None)
    chunks = []
    for chunk in body:
        chunks.append(chunk)
        if len(chunks) >= stop_after:
            break
    body.close()
    return chunks


def wsgi_app(environ: Any, start_response: Any) -> Iterable[bytes]:
    question = json.loads(environ["wsgi.input"].read())["messages"][0]["content"]
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    with rm.retrieval("kb") as found:
        found.documents = [question]
    yield "答".encode()
    yield "案".encode()


def test_wsgi_requests_become_traces(captured: InMemoryExporter) -> None:
    assert wsgi_call(wsgi.RagMonitorMiddleware(wsgi_app)) == ["答".encode(), "案".encode()]

    (record,) = captured.records
    assert (record["question"], record["answer"]) == ("利率?", "答案")
    assert record["contexts"] == [{"content": "利率?", "knowledge_base": "kb"}]
    assert (record["status"], record["streamed"]) == ("ok", True)


def test_a_wsgi_client_that_leaves_is_a_cancelled_trace(captured: InMemoryExporter) -> None:
    wsgi_call(wsgi.RagMonitorMiddleware(wsgi_app), stop_after=1)

    (record,) = captured.records
    assert (record["status"], record["answer"]) == ("cancelled", "答")


def test_a_server_error_is_an_error(captured: InMemoryExporter) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("503 Busy", [])
        return [b"busy"]

    wsgi_call(wsgi.RagMonitorMiddleware(app))

    assert (captured.records[0]["status"], captured.records[0]["error"]) == ("error", "HTTP 503")
    assert captured.records[0].get("answer") is None


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b'{"answer": "a", "sources": []}', "a"),
        (b'{"choices":[{"message":{"content":"c"}}]}', "c"),
        ("纯文本".encode(), "纯文本"),
        (b'data: one\n\ndata:  two\n\n', "one two"),
        (b'event: x\r\ndata: {"text":"t"}\r\n\r\n', "t"),
        (b'{"response":"a"}\n{"response":"b"}\n', "ab"),
        (b"{broken}", "{broken}"),
        (b'{"answer": "cut he', None),
        (b'{"answer": "a", "sources": [', None),
        (b'{"a":1}\n{"answer":"x"}\n{"answer":"cut', "x"),
        (b"[" * 100_000, None),
        (b'{"answer": "a", "points": [' + b"[1]," * 10_000 + b"[1]]}", None),
        (b'{"answer": "a", "sources": ["' + b"x" * 9_000, None),
        (b"[1] says " + b"[so] " * 10_001, "[1] says " + "[so] " * 10_001),
        (b"[see the manual] " * 1_000, "[see the manual] " * 1_000),
        (b"data: is what\nan engineer wants\n", "data: is what\nan engineer wants\n"),
        (b":)", ":)"),
        (b": ping\n\n", ""),
        (b"id: 1\nretry: 5\ndata: one\n\n: ping\n\nda", "one"),
        (b'{"other": 1}', None),
        (b"\xff\xfd", None),
    ],
)  # fmt: skip
def test_answers_are_found_in_bodies(body: bytes, answer: str | None) -> None:
    assert answer_in_body(body) == answer


PAGE = b"<!doctype html>\n<title>Error</title>"


@pytest.mark.parametrize(
    ("status", "body", "answer"),
    [
        (500, PAGE, None),
        (503, b"upstream request timeout", None),
        (500, b'{"answer": "Please try again later."}', "Please try again later."),
        (400, PAGE, None),
        (400, b"\n<HTML><body>no</body></HTML>", None),
        (429, b"Too Many Requests", None),
        (404, b"We sell no such product.", "We sell no such product."),
        (200, b"<html><p>24 months</p></html>", "<html><p>24 months</p></html>"),
    ],
)
def test_the_page_of_an_error_is_no_answer(status: int, body: bytes, answer: str | None) -> None:
    assert answer_in_body(body, status) == answer


def _asgi_exchange(status: int, body: bytes, asked: bytes, inner: Any = None) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if inner is not None:
            inner("from the call")
        start = {"type": "http.response.start", "status": status, "headers": []}
        await send(start)
        await send({"type": "http.response.body", "body": body})

    async def receive() -> Any:
        return {"type": "http.request", "body": asked, "more_body": False}

    async def send(message: Any) -> None:
        """Nobody reads it."""

    scope = {"type": "http", "path": "/chat", "method": "POST"}
    asyncio.run(asgi.RagMonitorMiddleware(app)(scope, receive, send))


def _wsgi_exchange(status: int, body: bytes, asked: bytes, inner: Any = None) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        environ["wsgi.input"].read()
        if inner is not None:
            inner("from the call")
        start_response(f"{status} Said", [])
        return [body]

    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/chat", "wsgi.input": io.BytesIO(asked)}
    answer = wsgi.RagMonitorMiddleware(app)(environ, lambda *_: None)
    list(answer)
    answer.close()  # type: ignore[attr-defined]


@rm.trace
def _answering(question: str) -> str:
    return "no such product"


@pytest.mark.parametrize("exchange", [_asgi_exchange, _wsgi_exchange])
@pytest.mark.parametrize(
    ("status", "body", "asked", "inner", "stored"),
    [
        (422, b'{"detail":[{"type":"missing"}]}', b'{"other": 1}', None, "error"),
        (422, b'{"detail":[{"type":"int"}]}', BODY, None, "error"),
        (400, b"<!doctype html><title>Bad Request</title>", b"{", None, "error"),
        (404, b"", b"", None, "error"),
        (429, b"Too Many Requests", BODY, None, "error"),
        (404, b'{"answer": "no such product"}', BODY, None, "ok"),
        (404, b'{"detail": "x"}', b'{"other": 1}', _answering, "ok"),
        (200, b'{"detail": "x"}', b'{"other": 1}', None, "ok"),
    ],
)
def test_a_request_that_was_refused_without_an_answer_is_an_error(
    captured: InMemoryExporter,
    exchange: Any,
    status: int,
    body: bytes,
    asked: bytes,
    inner: Any,
    stored: str,
) -> None:
    exchange(status, body, asked, inner)

    (record,) = captured.records
    assert record["status"] == stored
    assert record.get("error") == (f"HTTP {status}" if stored == "error" else None)


REPLY = b'{"answer": "3.4%"}'


async def _compressed_asgi(encoding: str, body: bytes) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        headers = [(b"content-type", b"application/json"), (b"Content-Encoding", encoding.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body[:20], "more_body": True})
        await send({"type": "http.response.body", "body": body[20:]})

    await call(asgi.RagMonitorMiddleware(app))


async def _compressed_wsgi(encoding: str, body: bytes) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        environ["wsgi.input"].read()
        start_response("200 OK", [("Content-Type", "text/html"), ("Content-Encoding", encoding)])
        return [body[:20], body[20:]]

    wsgi_call(wsgi.RagMonitorMiddleware(app))


@pytest.mark.parametrize("exchange", [_compressed_asgi, _compressed_wsgi])
@pytest.mark.parametrize(
    ("encoding", "body", "answer"),
    [
        ("gzip", gzip.compress(REPLY, mtime=0), "3.4%"),
        ("GZip", gzip.compress(REPLY, mtime=0), "3.4%"),
        ("deflate", zlib.compress(REPLY), "3.4%"),
        ("identity", REPLY, "3.4%"),
        ("br", b"\x0b\x08\x80{}\x03", None),
        ("gzip", REPLY, None),
    ],
    ids=["gzip", "capitals", "deflate", "plain", "unknown", "not what it says"],
)
async def test_a_compressed_answer_is_read_or_unknown(
    captured: InMemoryExporter, exchange: Any, encoding: str, body: bytes, answer: str | None
) -> None:
    await exchange(encoding, body)

    assert captured.records[0].get("answer") == answer
    assert captured.records[0]["status"] == "ok"


def test_a_compressed_body_is_read_up_to_a_limit_and_as_far_as_it_came() -> None:
    bomb, cut = gzip.compress(b"x" * 50_000_000), gzip.compress(b"24 months, says the manual.")[:-9]

    assert len(plain_body(bomb, "gzip") or b"") == 1_048_576
    assert (plain_body(cut, "gzip") or b"").startswith(b"24 months")


def test_a_body_of_many_members_is_read_to_its_end() -> None:
    members = b"".join(gzip.compress(piece) for piece in (b"one ", b"two ", b"three"))

    assert plain_body(members, "gzip") == b"one two three"
    assert plain_body(members + b"damaged", "gzip") == b"one two three"


async def test_what_a_server_does_to_the_messages_is_not_recorded(
    captured: InMemoryExporter,
) -> None:
    async def receive() -> Any:
        return {"type": "http.request", "body": BODY, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            message["headers"].append((b"content-encoding", b"gzip"))
        else:
            message["body"] = gzip.compress(message["body"])

    app = asgi.RagMonitorMiddleware(respond([REPLY], b"application/json"))
    await app({"type": "http", "path": "/chat", "method": "POST"}, receive, send)

    assert captured.records[0]["answer"] == "3.4%"


@pytest.mark.parametrize("fails", [False, True])
async def test_what_runs_after_the_response_is_no_part_of_the_answer(
    captured: InMemoryExporter, fails: bool
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await respond([REPLY], b"application/json")(scope, receive, send)
        answered.append(time.perf_counter())
        await asyncio.sleep(0.01)
        with rm.retrieval("afterwards") as found:
            found.documents = ["late"]
        if fails:
            raise RuntimeError("audit log failed")

    answered: list[float] = []
    began = time.perf_counter()
    with contextlib.suppress(RuntimeError):
        await call(asgi.RagMonitorMiddleware(app))

    (record,) = captured.records
    assert (record["answer"], record["status"], record.get("error")) == ("3.4%", "ok", None)
    assert record["timings"]["end_to_end_ms"] <= (answered[0] - began) * 1000
    assert [r["knowledge_base"] for r in record["retrievals"]] == ["kb"]
    assert captured.client.stats()["late"] == 1


async def test_a_last_message_the_client_never_got_is_a_cancelled_trace(
    captured: InMemoryExporter,
) -> None:
    with pytest.raises(OSError, match="gone"):
        await call(asgi.RagMonitorMiddleware(respond([])), fail_at=1)

    assert captured.records[0]["status"] == "cancelled"


async def _asked(app: Any, body: bytes) -> None:
    """One ASGI request with `body` in two messages."""
    messages = iter((body[:200_000], body[200_000:]))

    async def receive() -> Any:
        return {"type": "http.request", "body": next(messages), "more_body": True}

    async def send(message: Any) -> None:
        """Nobody reads it."""

    scope = {"type": "http", "path": "/chat", "method": "POST"}
    await asgi.RagMonitorMiddleware(app)(scope, receive, send)


@pytest.mark.parametrize(("length", "cut"), [(262_144, False), (262_145, True)])
async def test_a_request_too_long_to_be_looked_at_is_a_truncated_trace(
    captured: InMemoryExporter, length: int, cut: bool
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await respond([REPLY], b"application/json")(scope, receive, send)

    head, tail = b'{"question": "q?", "history": "', b'"}'
    await _asked(app, head + b"x" * (length - len(head) - len(tail)) + tail)

    (record,) = captured.records
    assert record.get("question") == (None if cut else "q?")
    assert (record.get("truncated", False), record["answer"]) == (cut, "3.4%")


async def test_a_response_too_long_to_be_looked_at_has_no_known_answer(
    captured: InMemoryExporter,
) -> None:
    long = json.dumps({"answer": "short", "sources": ["x" * 1000] * 1200}).encode()
    await call(asgi.RagMonitorMiddleware(respond([long], b"application/json")))
    wsgi_call(wsgi.RagMonitorMiddleware(lambda *_: [long]))

    assert [r.get("answer") for r in captured.records] == [None, None]
    assert [r["truncated"] for r in captured.records] == [True, True]
