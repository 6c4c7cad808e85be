"""Results that come later: futures, tasks and iterators of handlers, and streams of steps."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter


class AwayError(Exception):
    """The retriever is away."""


def outcome(captured: InMemoryExporter) -> tuple[Any, ...]:
    (record,) = captured.records
    return record["question"], record.get("answer"), record["status"]


def test_the_answer_of_a_thread_pool_is_its_futures_result(captured: InMemoryExporter) -> None:
    may_answer = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: "later" if may_answer.wait(5) else "never")
        given = rm.trace(lambda question: future)("q")
        assert captured.records == []
        may_answer.set()

    assert given is future
    assert outcome(captured) == ("q", "later", "ok")


async def test_the_answer_of_a_task_is_its_result_and_its_steps_count(
    captured: InMemoryExporter,
) -> None:
    async def work() -> str:
        with rm.retrieval("kb") as found:
            found.documents = ["passage"]
        await asyncio.sleep(0.01)
        return "later"

    @rm.trace
    def answer(question: str) -> asyncio.Task[str]:
        return asyncio.create_task(work())

    assert await answer("q") == "later"
    assert outcome(captured) == ("q", "later", "ok")
    assert captured.records[0]["contexts"][0]["content"] == "passage"
    assert captured.records[0]["timings"]["end_to_end_ms"] >= 9


async def test_a_future_that_is_done_already_ends_the_trace_in_the_call(
    captured: InMemoryExporter,
) -> None:
    future = asyncio.get_running_loop().create_future()
    future.set_result({"answer": "at once"})
    rm.trace(lambda question: future)("q")

    assert outcome(captured) == ("q", "at once", "ok")


async def test_what_a_task_raises_is_recorded_and_stays_unseen(captured: InMemoryExporter) -> None:
    """Asyncio warns of failures that nobody asked for; ours is not the asking."""
    warned: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: warned.append(context))

    async def work() -> None:
        raise AwayError("down")

    rm.trace(lambda question: loop.create_task(work()))("q")
    await asyncio.sleep(0.01)
    gc.collect()

    assert outcome(captured) == ("q", None, "error")
    assert captured.records[0]["error"] == "AwayError: down"
    assert [type(context["exception"]) for context in warned] == [AwayError]


@pytest.mark.parametrize("make", [Future, lambda: asyncio.get_running_loop().create_future()])
async def test_a_future_is_cancelled_or_forgotten(
    captured: InMemoryExporter, make: Callable[[], Any]
) -> None:
    rm.trace(lambda question: make())("forgotten")
    gc.collect()
    cancelled = rm.trace(lambda question: make())("cancelled")
    cancelled.cancel()
    await asyncio.sleep(0.01)

    assert [(r["question"], r["status"]) for r in captured.records] == [
        ("forgotten", "abandoned"),
        ("cancelled", "cancelled"),
    ]


@pytest.mark.parametrize(
    "lazily",
    [
        lambda: map(str.upper, ["a", "b"]),
        lambda: filter(None, ["A", "", "B"]),
        lambda: chain(["A"], iter(["B"])),
    ],
)
def test_an_iterator_of_pythons_is_an_answer_in_pieces(
    captured: InMemoryExporter, lazily: Callable[[], Iterator[str]]
) -> None:
    assert list(rm.trace(lambda question: lazily())("q")) == ["A", "B"]
    assert outcome(captured) == ("q", "AB", "ok")


@pytest.mark.parametrize("wrapped", [True, False], ids=["in a response", "as it is"])
def test_a_stream_with_the_context_of_flask_is_read(
    captured: InMemoryExporter, wrapped: bool
) -> None:
    flask = pytest.importorskip("flask", reason="needs flask")

    def answer() -> Any:
        def pieces() -> Iterator[str]:
            yield "hello "
            yield flask.request.args["name"]

        stream = flask.stream_with_context(pieces())
        return flask.Response(stream) if wrapped else stream

    app = flask.Flask("test")
    app.get("/")(rm.trace(answer))

    assert app.test_client().get("/?name=you").data == b"hello you"
    (record,) = captured.records
    assert (record["answer"], record["streamed"]) == ("hello you", True)


def retrieve(query: str) -> Iterator[str]:
    yield from (f"{query} one", f"{query} two")


async def retrieve_async(query: str) -> AsyncIterator[str]:
    for document in retrieve(query):
        await asyncio.sleep(0.005)
        yield document


async def retrieve_all(query: str) -> list[str]:
    return [document async for document in retrieve_async(query)]


class Retriever:
    """Called as LangChain and Haystack have it: an object, not a function."""

    async def __call__(self, query: str) -> list[str]:
        return await retrieve_all(query)


DECORATED = {
    "generator": retrieve,
    "async generator": retrieve_async,
    "gives a generator": lambda query: retrieve(query),
    "gives a coroutine": lambda query: retrieve_all(query),
    "gives a task": lambda query: asyncio.create_task(retrieve_all(query)),
    "object": Retriever(),
}


async def read(result: Any) -> list[str]:
    if hasattr(result, "__aiter__"):
        return [document async for document in result]
    return list(await result if hasattr(result, "__await__") else result)


@pytest.mark.parametrize("kind", DECORATED)
@pytest.mark.parametrize("settings", [{}, {"provider": "share"}], ids=["own", "share"])
async def test_a_retriever_of_any_kind_is_timed_to_its_last_document(
    kind: str, settings: dict[str, Any]
) -> None:
    with InMemoryExporter(**settings) as captured:
        decorated = rm.retrieval("kb")(DECORATED[kind])
        with rm.trace(question="q"):
            assert await read(decorated("q")) == ["q one", "q two"]

        (record,) = captured.records
    assert [d["content"] for d in record["retrievals"][0]["documents"]] == ["q one", "q two"]
    assert (record["retrievals"][0]["query"], record["hits"][0]["items"]) == ("q", 2)
    assert "error" not in record["retrievals"][0]
    if kind not in ("generator", "gives a generator"):
        assert record["hits"][0]["latency_ms"] >= 9


@pytest.mark.parametrize("kind", DECORATED)
async def test_outside_of_a_trace_a_decorated_retriever_gives_the_same(kind: str) -> None:
    assert await read(rm.retrieval("kb")(DECORATED[kind])("q")) == ["q one", "q two"]


def test_who_had_enough_of_a_retriever_keeps_what_came(captured: InMemoryExporter) -> None:
    with rm.trace(question="q"):
        documents = rm.retrieval("kb")(retrieve)("q")
        next(documents)
        documents.close()  # type: ignore[attr-defined]

    (record,) = captured.records
    assert [d["content"] for d in record["retrievals"][0]["documents"]] == ["q one"]
    assert record["hits"][0]["ok"]


def test_a_retriever_that_yields_nothing_found_nothing(captured: InMemoryExporter) -> None:
    @rm.retrieval("kb")
    def nothing(query: str) -> Iterator[str]:
        yield from ()

    with rm.trace(question="q"):
        list(nothing("q"))

    assert captured.records[0]["retrievals"][0]["documents"] == []


def test_a_plugin_that_fails_in_its_stream_is_a_failed_hit(captured: InMemoryExporter) -> None:
    @rm.plugin("calculator")
    def calculate(expression: str) -> Iterator[int]:
        yield 1
        raise AwayError

    with rm.trace(question="q"), pytest.raises(AwayError):
        list(calculate("1 / 0"))

    (hit,) = captured.records[0]["hits"]
    assert (hit["name"], hit["ok"]) == ("calculator", False)


async def test_a_streamed_generation_tells_its_first_token(captured: InMemoryExporter) -> None:
    @rm.generation("qwen")
    async def write(prompt: str) -> AsyncIterator[str]:
        yield ""
        await asyncio.sleep(0.02)
        yield "token"
        await asyncio.sleep(0.02)

    @rm.trace
    async def answer(question: str) -> AsyncIterator[str]:
        async for token in write(question):
            yield token

    assert [token async for token in answer("q")] == ["", "token"]
    (live,) = captured.records
    assert live["answer"] == "token"
    assert 19 <= live["timings"]["first_token_ms"] < live["timings"]["generation_ms"]
