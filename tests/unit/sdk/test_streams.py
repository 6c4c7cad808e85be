"""Streamed answers: generators of both kinds keep their protocol and close their trace."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from contextvars import copy_context
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import rag_monitor as rm
from rag_monitor.sdk.asgi import RagMonitorMiddleware
from rag_monitor.testing import InMemoryExporter


def test_send_throw_close_and_return_value_pass_through(captured: InMemoryExporter) -> None:
    log: list[Any] = []

    @rm.trace
    def answer(question: str) -> Any:
        try:
            log.append((yield "one "))
            try:
                yield "two"
            except ValueError as error:
                log.append(error)
            yield " three"
        finally:
            log.append("closed")
        return 42

    thrown = ValueError()
    stream = answer("q")
    assert (next(stream), stream.send("sent"), stream.throw(thrown)) == ("one ", "two", " three")
    with pytest.raises(StopIteration) as stop:
        next(stream)
    assert stop.value.value == 42
    assert log == ["sent", thrown, "closed"]
    (record,) = captured.records
    assert (record["answer"], record["streamed"], record["status"]) == (
        "one two three", True, "ok",
    )  # fmt: skip


def test_a_generator_that_ignores_close_fails_as_before(captured: InMemoryExporter) -> None:
    @rm.trace
    def answer(question: str) -> Iterator[str]:
        with contextlib.suppress(GeneratorExit):
            yield "x"
        yield "y"

    stream = answer("q")
    next(stream)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        stream.close()  # type: ignore[attr-defined]
    stream.close()  # type: ignore[attr-defined]

    assert captured.records[0]["answer"] == "xy"


def test_an_abandoned_generator_closes_its_trace(captured: InMemoryExporter) -> None:
    finals: list[str] = []

    @rm.trace
    def answer(question: str) -> Iterator[str]:
        try:
            yield "so "
            yield "far"
        finally:
            finals.append("ran")

    stream = answer("q")
    next(stream)
    del stream
    gc.collect()

    (record,) = captured.records
    assert (record["status"], record["answer"], finals) == ("abandoned", "so ", ["ran"])


def test_a_generator_that_never_starts_is_no_trace(captured: InMemoryExporter) -> None:
    @rm.trace
    def answer(question: str) -> Iterator[str]:
        yield "x"

    answer("q").close()

    assert captured.records == []


def test_a_generator_may_be_closed_from_another_thread(captured: InMemoryExporter) -> None:
    @rm.trace
    def answer(question: str) -> Iterator[str]:
        yield "a"
        yield "b"

    stream = answer("q")
    next(stream)
    thread = threading.Thread(target=stream.close)  # type: ignore[attr-defined]
    thread.start()
    thread.join()

    assert captured.records[0]["status"] == "abandoned"


def test_the_trace_is_not_current_while_the_consumer_runs(captured: InMemoryExporter) -> None:
    seen = []

    @rm.trace
    def answer(question: str) -> Iterator[str]:
        seen.append(bool(rm.current()))
        yield "a"

    for _ in answer("q"):
        seen.append(bool(rm.current()))

    assert seen == [True, False]
    assert len(captured.records) == 1


async def test_async_generators_keep_their_protocol(captured: InMemoryExporter) -> None:
    @rm.trace
    async def answer(question: str) -> Any:
        got = yield "a"
        try:
            yield f"b{got}"
        except KeyError:
            yield "c"

    stream = answer("q")
    assert await stream.asend(None) == "a"
    assert await stream.asend(5) == "b5"
    assert await stream.athrow(KeyError()) == "c"
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    assert captured.records[0]["answer"] == "ab5c"


async def test_an_async_generator_left_early_runs_its_finally_once(
    captured: InMemoryExporter,
) -> None:
    finals: list[int] = []

    @rm.trace
    async def answer(question: str) -> AsyncIterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            await asyncio.sleep(0)
            finals.append(1)

    stream = answer("q")
    async for _ in stream:
        break
    await stream.aclose()  # type: ignore[attr-defined]

    assert finals == [1]
    assert captured.records[0]["status"] == "abandoned"


def test_loop_shutdown_closes_an_open_stream_cleanly(captured: InMemoryExporter) -> None:
    finals: list[int] = []
    complaints: list[dict[str, Any]] = []
    kept: list[Any] = []

    @rm.trace
    async def answer(question: str) -> AsyncIterator[str]:
        try:
            yield "a"
        finally:
            finals.append(1)

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, c: complaints.append(c))
        stream = answer("q")
        kept.append(stream)
        await anext(stream)

    asyncio.run(main())

    assert (finals, complaints) == ([1], [])
    assert captured.records[0]["status"] == "abandoned"


async def test_cancelling_mid_stream_is_recorded_and_not_swallowed(
    captured: InMemoryExporter,
) -> None:
    started = asyncio.Event()

    @rm.trace
    async def answer(question: str) -> AsyncIterator[str]:
        yield "part"
        started.set()
        await asyncio.sleep(60)
        yield "never"

    async def consume() -> None:
        async for _ in answer("q"):
            pass

    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    (record,) = captured.records
    assert (record["status"], record["answer"]) == ("cancelled", "part")


async def test_concurrent_traces_do_not_mix(captured: InMemoryExporter) -> None:
    @rm.trace
    async def answer(question: str) -> str:
        with rm.retrieval() as found:
            await asyncio.sleep(0)
            found.documents = [question]
        await asyncio.sleep(0)
        return question

    await asyncio.gather(*(answer(f"q{n}") for n in range(20)))

    records = captured.records
    assert len({r["trace_id"] for r in records}) == 20
    assert all(r["contexts"] == [{"content": r["question"]}] for r in records)


EVENTS = ['data: {"delta": "24 "}\n\n', 'event: x\ndata: {"delta":', ' "months"}\n\n', ": ping\n\n"]


@pytest.mark.parametrize(
    ("chunks", "answer"),
    [
        ([*EVENTS, "data: [DONE]\n\n"], "24 months"),
        ([chunk.encode() for chunk in EVENTS], "24 months"),
        (EVENTS * 200, "24 months" * 200),
        (["data: ", "is what we\nhave"], "data: is what we\nhave"),
        ([":", ")"], ":)"),
    ],
    ids=["text", "bytes", "many", "no events", "no comment"],
)
def test_streamed_events_are_stored_as_what_they_say(
    captured: InMemoryExporter, chunks: list[Any], answer: str
) -> None:
    @rm.trace
    def stream(question: str) -> Iterator[Any]:
        yield from chunks

    assert list(stream("q")) == chunks
    (record,) = captured.records
    assert (record["answer"], record["streamed"]) == (answer, True)


async def test_events_of_a_traced_handler_below_the_middleware_are_read(
    captured: InMemoryExporter,
) -> None:
    @rm.trace
    async def handler(question: str) -> AsyncIterator[str]:
        for chunk in EVENTS:
            yield chunk

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream"), (b"content-encoding", b"br")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for chunk in handler("q"):
            body = {"type": "http.response.body", "body": chunk.encode(), "more_body": True}
            await send(body)
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Any) -> None:
        """Nobody reads it."""

    scope = {"type": "http", "path": "/chat", "method": "POST"}
    await RagMonitorMiddleware(app)(scope, None, send)  # type: ignore[arg-type]

    (record,) = captured.records
    assert (record["question"], record["answer"]) == ("q", "24 months")


@pytest.mark.parametrize("provider", ["own", "share"])
def test_a_block_in_a_generator_that_many_contexts_drive_says_nothing_in_the_hosts_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, provider: str
) -> None:
    def stream() -> Iterator[str]:
        with rm.trace("chat", question="q") as live, rm.generation("m"):
            yield "a"
            yield "b"
            live.set(answer="ab")

    if provider == "share":
        tracing = TracerProvider(shutdown_on_exit=False)
        monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", tracing)
    with InMemoryExporter(provider=provider) as captured:
        pieces = stream()
        while copy_context().run(next, pieces, None) is not None:
            pass
        assert captured.client.stats()["produced"] == 1
        assert [r["answer"] for r in captured.records] == (["ab"] if provider == "own" else [])

    assert caplog.records == []


class Stream:
    """As OpenAI's client makes them."""

    def __init__(self) -> None:
        self._iterator = self.__stream__()

    def __iter__(self) -> Iterator[str]:
        yield from self._iterator

    def __stream__(self) -> Iterator[str]:
        yield "one "
        with rm.plugin("inside"):
            yield "two"


class AsyncStream:
    def __init__(self) -> None:
        self._iterator = self.__stream__()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for piece in self._iterator:
            yield piece

    async def __stream__(self) -> AsyncIterator[str]:
        yield "one "
        with rm.plugin("inside"):
            yield "two"


@pytest.mark.parametrize("kind", [Stream, AsyncStream])
async def test_a_clients_stream_that_is_returned_is_watched(
    captured: InMemoryExporter, kind: type
) -> None:
    @rm.trace
    def answer(question: str) -> Any:
        return stream

    stream = kind()
    assert answer("q") is stream
    assert captured.records == []
    pieces = list(stream) if kind is Stream else [piece async for piece in stream]

    (record,) = captured.records
    assert pieces == ["one ", "two"]
    assert (record["answer"], record["status"], record["streamed"]) == ("one two", "ok", True)
    assert [hit["name"] for hit in record["hits"]] == ["inside"]


async def test_what_is_returned_and_never_read_is_abandoned(captured: InMemoryExporter) -> None:
    def pieces() -> Iterator[str]:
        yield "never"

    async def asynchronous() -> AsyncIterator[str]:
        yield "never"

    for make in (pieces, asynchronous, Stream, AsyncStream):
        rm.trace(lambda question, make=make: make())("q")
    gc.collect()

    assert [r["status"] for r in captured.records] == ["abandoned"] * 4


def test_responses_of_flask_are_read_whole_or_as_they_stream(captured: InMemoryExporter) -> None:
    flask = pytest.importorskip("flask", reason="needs flask")

    def pieces() -> Iterator[str]:
        with rm.plugin("inside"):
            yield "one "
        yield "two"

    def whole() -> Any:
        return flask.jsonify(answer="whole")

    def streamed() -> Any:
        return flask.Response(pieces(), mimetype="text/plain")

    app = flask.Flask("test")
    for view in (whole, streamed):
        app.post(f"/{view.__name__}")(rm.trace(view))
    replies = [app.test_client().post(path).data for path in ("/whole", "/streamed")]

    assert replies[1] == b"one two"
    assert [(r["answer"], r["status"], r["streamed"]) for r in captured.records] == [
        ("whole", "ok", False),
        ("one two", "ok", True),
    ]


class StreamingHttpResponse:
    """As Django keeps what it streams."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._iterator = pieces


class JsonResponse:
    """As Django keeps what it does not."""

    def __init__(self) -> None:
        self.headers = {"Content-Type": "application/json"}
        self._container = [b'{"answer": ', b'"whole"}']


def test_responses_of_django_are_read_whole_or_as_they_stream(captured: InMemoryExporter) -> None:
    pieces = (piece for piece in (b"one ", b"two"))
    streamed = StreamingHttpResponse(pieces)
    rm.trace(lambda question: streamed)("q")
    rm.trace(lambda question: JsonResponse())("q")

    assert list(streamed._iterator) == [b"one ", b"two"]
    assert [(r["answer"], r["streamed"]) for r in captured.records] == [
        ("whole", False),
        ("one two", True),
    ]
