"""Streams of products: whole, yielded by a handler, and cut anywhere on their way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk import asgi
from rag_monitor.testing import InMemoryExporter

PARTS = ["朝九", "晚五", "。"]
SAID = "".join(PARTS)
SO_FAR = ["朝九", "朝九晚五", SAID]


def _events(*data: object, name: str = "") -> list[str]:
    head = f"event: {name}\n" if name else ""
    return [f"{head}data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in data]


def _lines(*data: object) -> list[str]:
    return [json.dumps(one, ensure_ascii=False) + "\n" for one in data]


def _gemini(part: str) -> str:
    return json.dumps({"candidates": [{"content": {"parts": [{"text": part}], "role": "model"}}]})


STREAMS: dict[str, list[str]] = {
    "ollama": _lines(
        *({"message": {"role": "assistant", "content": part}, "done": False} for part in PARTS),
        {"message": {"role": "assistant", "content": ""}, "done": True}),
    "ai_sdk_5": _events(
        {"type": "start", "messageId": "m"},
        *({"type": "text-delta", "id": "0", "delta": part} for part in PARTS), {"type": "finish"}),
    "ai_sdk_4": ['f:{"messageId":"m"}\n', *(f"0:{json.dumps(part)}\n" for part in PARTS),
                 'd:{"finishReason":"stop"}\n'],
    "spark": _lines(
        *({"header": {"code": 0}, "payload": {"choices": {"text": [
            {"content": part, "role": "assistant", "index": 0}]}}} for part in PARTS)),
    "so_far_in_events": _events(
        *({"code": 0, "data": {"answer": text}} for text in SO_FAR), {"code": 0, "data": True}),
    "so_far_in_lines": _lines(*({"answer": text} for text in SO_FAR)),
    "said_again_at_the_end": _lines(
        *({"answer": part} for part in PARTS), {"done": True, "answer": SAID}),
    "gemini_in_a_list": [
        f"[{_gemini(PARTS[0])}", *(f",\r\n{_gemini(part)}" for part in PARTS[1:]), "]"],
    "chinese_names": _lines(*({"内容": part} for part in PARTS)),
    "assistants": _events(
        *({"delta": {"content": [{"index": 0, "type": "text", "text": {"value": part}}]}}
          for part in PARTS), name="thread.message.delta"),
    "langgraph": _events(
        *([{"content": part, "type": "AIMessageChunk"}, {"langgraph_node": "chat"}]
          for part in PARTS), name="messages"),
    "a2a": _events(
        *({"jsonrpc": "2.0", "result": {"kind": "artifact-update", "artifact": {
            "parts": [{"kind": "text", "text": part}]}}} for part in PARTS)),
    "own_lines": _lines(
        {"type": "status", "message": "searching"},
        *({"type": "token", "content": part} for part in PARTS), {"type": "sources", "n": 0}),
}  # fmt: skip


@pytest.mark.parametrize("in_bytes", [False, True])
@pytest.mark.parametrize("name", STREAMS)
def test_yielded_by_a_handler(captured: InMemoryExporter, name: str, in_bytes: bool) -> None:
    pieces: list[Any] = [p.encode() if in_bytes else p for p in STREAMS[name]]

    @rm.trace
    def handle(question: str) -> Iterator[Any]:
        yield from pieces

    assert list(handle("q")) == pieces
    assert captured.records[0]["answer"] == SAID
    assert captured.records[0]["timings"]["first_byte_ms"] is not None


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("name", STREAMS)
def test_cut_anywhere_on_its_way(captured: InMemoryExporter, name: str, size: int) -> None:
    data = "".join(STREAMS[name]).encode()
    kind = b"text/event-stream" if data.startswith((b"data:", b"event:")) else b"text/plain"

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        headers = [(b"content-type", kind)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for at in range(0, len(data), size):
            piece = data[at : at + size]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def serve() -> None:
        async def receive() -> Any:
            return {"type": "http.request", "body": b'{"question": "q"}', "more_body": False}

        async def send(message: Any) -> None:
            del message

        scope = {"type": "http", "path": "/chat", "method": "POST", "headers": []}
        await asgi.RagMonitorMiddleware(app)(scope, receive, send)

    asyncio.run(serve())

    assert captured.records[0]["answer"] == SAID


@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        (SO_FAR, SAID),
        (["a" * n for n in range(1, 600)], "a" * 599),
        (["ha", "ha", "ha"], "hahaha"),
        (["the same line comes again\n"] * 3, "the same line comes again\n" * 3),
        (
            ["all of the answer so far", *["all of the answer so far, and more"] * 2],
            "all of the answer so far, and more",
        ),
        (["no", "not"], "nonot"),
        (["1", "1", "12"], "1112"),
        (["a", "b", "c", "abc"], "abc"),
    ],
)
def test_pieces_that_are_all_the_text_so_far(
    captured: InMemoryExporter, pieces: list[str], answer: str
) -> None:
    @rm.trace
    def handle(question: str) -> Iterator[str]:
        yield from pieces

    list(handle("q"))

    assert captured.records[0]["answer"] == answer
