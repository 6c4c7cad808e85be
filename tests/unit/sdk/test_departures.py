"""Responses that nobody reads to their end."""

from __future__ import annotations

import asyncio
import gc
from time import perf_counter_ns
from typing import Any

import rag_monitor as rm
from rag_monitor.sdk import asgi
from rag_monitor.testing import InMemoryExporter
from tests.unit.sdk.test_middleware import BODY, StreamingResponse


async def test_a_response_that_is_ended_after_the_client_left_is_cancelled(
    captured: InMemoryExporter,
) -> None:
    """As by Starlette's `BaseHTTPMiddleware`, whose server raises nothing."""

    async def app(_: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one ", "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        await send({"type": "http.response.body", "body": b""})

    messages = iter([{"type": "http.request", "body": BODY}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(messages)

    async def send(_: Any) -> None:
        return

    scope = {"type": "http", "path": "/chat", "method": "POST"}
    await asgi.RagMonitorMiddleware(app)(scope, receive, send)

    (record,) = captured.records
    assert (record["status"], record["answer"]) == ("cancelled", "one ")


async def test_a_response_that_is_collected_later_ended_with_its_last_chunk(
    captured: InMemoryExporter,
) -> None:
    async def words() -> Any:
        yield "a"
        yield "b"

    @rm.trace
    def handler(question: str) -> Any:
        return StreamingResponse(words())

    before = perf_counter_ns()
    response = handler("q")
    await anext(response.body_iterator)
    passed_ms = (perf_counter_ns() - before) / 1e6
    await asyncio.sleep(0.05)
    del response
    gc.collect()

    (record,) = captured.records
    assert record["status"] == "cancelled"
    assert record["timings"]["end_to_end_ms"] <= passed_ms
