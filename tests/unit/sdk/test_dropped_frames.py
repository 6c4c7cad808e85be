"""Blocks whose frame died inside them: an async generator outlives its loop, then is dropped."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import rag_monitor as rm
from rag_monitor.sdk import frame_scopes
from rag_monitor.testing import InMemoryExporter


async def stream(question: str) -> AsyncIterator[str]:
    with rm.trace("chat", question=question) as live:
        live.set(answer="one")
        yield "one"


async def begun(question: str) -> AsyncIterator[str]:
    pieces = stream(question)
    await anext(pieces)
    return pieces


def test_a_stream_that_outlived_its_loop_is_an_abandoned_trace_and_leaves_nothing_behind(
    captured: InMemoryExporter,
) -> None:
    loop = asyncio.new_event_loop()
    pieces = loop.run_until_complete(begun("q"))
    loop.close()  # without `shutdown_asyncgens`: nobody closes the generator any more
    assert len(frame_scopes._OPEN) == 1

    del pieces
    gc.collect()

    assert frame_scopes._OPEN == {}
    assert [(r["question"], r["status"]) for r in captured.records] == [("q", "abandoned")]


def test_a_block_that_was_left_ends_once(captured: InMemoryExporter) -> None:
    asyncio.run(begun("q"))
    gc.collect()

    with rm.trace("chat", question="whole"):
        pass

    assert sorted((r["question"], r["status"]) for r in captured.records) == [
        ("q", "abandoned"),
        ("whole", "ok"),
    ]
