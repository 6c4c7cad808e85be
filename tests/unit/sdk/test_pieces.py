"""`with trace(...)` inside a generator whose pieces run in contexts of their own."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

import rag_monitor as rm
from rag_monitor.sdk import frame_scopes
from rag_monitor.sdk.events import EventTrace
from rag_monitor.testing import InMemoryExporter

DONE = object()


def pieces(generator: Iterator[Any]) -> list[Any]:
    """Every piece on another thread, in a fresh copy of the context."""
    found: list[Any] = []
    with ThreadPoolExecutor(3) as pool:
        while True:
            piece = pool.submit(copy_context().run, next, generator, DONE).result()
            if piece is DONE:
                return found
            found.append(piece)


def kinds(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [(hit["kind"], hit["name"]) for hit in record.get("hits", [])]


def answering(question: str) -> Iterator[str]:
    with rm.trace("chat", question=question) as live:
        with rm.retrieval("first") as found:
            found.documents = ["passage"]
        yield "one "
        with rm.plugin("second"):
            pass
        yield rm.current().trace_id
        helper("nested")
        EventTrace("framework", "other").open(rm.workflow("third")).close()
        rm.record_contexts(["reached"])
        yield "three"
        live.set(answer="one three")


@rm.trace
def helper(question: str) -> str:
    with rm.plugin(question):
        return "no trace of its own"


def test_steps_of_later_pieces_belong_to_the_trace(captured: InMemoryExporter) -> None:
    answers = pieces(answering("q"))

    (record,) = captured.records
    assert answers == ["one ", record["trace_id"], "three"]
    assert record["contexts"] == [{"content": "reached"}]
    assert kinds(record) == [
        ("knowledge_base", "first"),
        ("plugin", "second"),
        ("plugin", "nested"),
        ("workflow", "third"),
    ]
    assert not frame_scopes._OPEN
    assert not rm.current()


def test_a_starlette_stream_keeps_its_steps(captured: InMemoryExporter) -> None:
    async def chat(_: Any) -> StreamingResponse:
        return StreamingResponse(answering("q"), media_type="text/plain")

    with TestClient(Starlette(routes=[Route("/chat", chat)])) as client:
        assert client.get("/chat").text.startswith("one ")

    (record,) = captured.records
    assert (record["answer"], len(kinds(record))) == ("one three", 4)


def test_two_at_once_do_not_mix(captured: InMemoryExporter) -> None:
    one, two = answering("1"), answering("2")
    for _ in range(4):
        pieces_of_both = [copy_context().run(next, g, None) for g in (one, two)]
    assert pieces_of_both == [None, None]

    records = captured.records
    assert [r["question"] for r in records] == ["1", "2"]
    assert [len(kinds(r)) for r in records] == [4, 4]


@pytest.mark.parametrize("kind", ["with", "async with"])
async def test_an_async_generator_driven_by_a_task_for_each_piece(
    captured: InMemoryExporter, kind: str
) -> None:
    async def steps() -> AsyncIterator[str]:
        yield "one"
        with rm.plugin("second"):
            await asyncio.sleep(0)
        yield "two"

    async def plain() -> AsyncIterator[str]:
        with rm.trace(question="q"):
            yield "one"
            with rm.plugin("second"):
                await asyncio.sleep(0)
            yield "two"

    async def asynchronous() -> AsyncIterator[str]:
        async with rm.trace(question="q"):
            async for piece in steps():
                yield piece

    stream = plain() if kind == "with" else asynchronous()
    for _ in range(2):
        await asyncio.ensure_future(stream.__anext__())
    with pytest.raises(StopAsyncIteration):
        await asyncio.ensure_future(stream.__anext__())

    (record,) = captured.records
    assert kinds(record) == [("plugin", "second")]


def test_what_stands_beside_the_generator_has_no_trace(captured: InMemoryExporter) -> None:
    stream = answering("q")
    copy_context().run(next, stream)

    with rm.plugin("outside"):
        assert not rm.current()
    copy_context().run(stream.close)  # type: ignore[attr-defined]

    (record,) = captured.records
    assert (record["status"], kinds(record)) == ("abandoned", [("knowledge_base", "first")])
    assert not frame_scopes._OPEN


def test_one_that_is_collected_is_forgotten(captured: InMemoryExporter) -> None:
    copy_context().run(next, answering("q"))
    gc.collect()

    assert captured.records[0]["status"] == "abandoned"
    assert not frame_scopes._OPEN


def test_those_never_left_do_not_fill_the_memory(
    captured: InMemoryExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_scopes, "_MOST_OPEN", 1)

    @contextmanager
    def ours(name: str) -> Iterator[None]:
        with rm.trace(question=name):
            yield

    for name in ("a", "b"):
        copy_context().run(ours(name).__enter__)
        assert len(frame_scopes._OPEN) <= 1
