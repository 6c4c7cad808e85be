"""A fake OpenAI-compatible server: chat completions and responses, whole or streamed, with usage.

Where a request brings tools, the search tool is called first. It answers once a tool's result is
among the messages, through `final_answer` where the agent has such a tool. Standard library only.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from tests.frameworks.scenarios.texts import ANSWER, MODEL, PASSAGES, SEARCH_QUERY, SEARCH_TOOL

WAIT_S: Final = 0.06
"""Before the first chunk and between chunks; a whole answer takes three of them."""
SEARCH_USAGE: Final = (41, 9)
"""Tokens in and out of a call that asks for the search."""
ANSWER_USAGE: Final = (97, 21)
_FINAL_TOOL: Final = "final_answer"

_numbers = itertools.count(1)


class Model(BaseHTTPRequestHandler):
    """The two endpoints."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        made = _Responses(request) if self.path.endswith("/responses") else _Chat(request)
        if not request.get("stream"):
            time.sleep(3 * WAIT_S)
            self._head("application/json")
            self.wfile.write(json.dumps(made.whole()).encode())
            return
        self._head("text/event-stream")
        for event in made.events():
            if event.pop("pause", False):
                time.sleep(WAIT_S)
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def _head(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


class _Reply:
    """What the model says to a request: a tool call or the answer."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.id = next(_numbers)
        tools = {_name(tool): tool for tool in request.get("tools") or []}
        self.tool: tuple[str, str] | None = None
        if SEARCH_TOOL in tools and not self.searched():
            self.tool = (SEARCH_TOOL, json.dumps({"query": SEARCH_QUERY}, ensure_ascii=False))
        elif _FINAL_TOOL in tools:
            self.tool = (_FINAL_TOOL, json.dumps({"answer": ANSWER}, ensure_ascii=False))
        self.usage = SEARCH_USAGE if self.tool and self.tool[0] == SEARCH_TOOL else ANSWER_USAGE

    def searched(self) -> bool:
        """Whether what the search finds is in the request, as a tool's message or as text."""
        return PASSAGES[0][0] in json.dumps(self.request)

    def pieces(self) -> list[str]:
        text = self.tool[1] if self.tool else ANSWER
        third = len(text) // 3
        return [text[:third], text[third : 2 * third], text[2 * third :]]


class _Chat(_Reply):
    """Chat completions."""

    def _base(self, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-{self.id}", "object": kind, "created": 1750000000, "model": MODEL}

    def _usage(self) -> dict[str, int]:
        sent, written = self.usage
        return {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}

    def _call(self, arguments: str) -> dict[str, Any]:
        assert self.tool is not None
        function = {"name": self.tool[0], "arguments": arguments}
        return {"id": f"call_{self.id}", "type": "function", "function": function}

    def _finish(self) -> str:
        return "tool_calls" if self.tool else "stop"

    def whole(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": None if self.tool else ANSWER}
        if self.tool:
            message["tool_calls"] = [self._call(self.tool[1])]
        choice = {"index": 0, "message": message, "finish_reason": self._finish()}
        return {**self._base("chat.completion"), "choices": [choice], "usage": self._usage()}

    def events(self) -> Iterator[dict[str, Any]]:
        base = self._base("chat.completion.chunk")
        for number, piece in enumerate(self.pieces()):
            delta: dict[str, Any] = {"content": piece}
            if self.tool:
                call = self._call(piece) if number == 0 else {"function": {"arguments": piece}}
                delta = {"tool_calls": [{"index": 0, **call}]}
            if number == 0:
                delta["role"] = "assistant"
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            yield {**base, "choices": [choice], "pause": True}
        yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": self._finish()}]}
        if (self.request.get("stream_options") or {}).get("include_usage"):
            yield {**base, "choices": [], "usage": self._usage()}


class _Responses(_Reply):
    """Responses."""

    def _item(self) -> dict[str, Any]:
        if self.tool:
            name, arguments = self.tool
            call = {"id": f"fc_{self.id}", "call_id": f"call_{self.id}", "status": "completed"}
            return {"type": "function_call", "name": name, "arguments": arguments, **call}
        part = {"type": "output_text", "text": ANSWER, "annotations": []}
        return {
            "id": f"msg_{self.id}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }

    def whole(self, *, done: bool = True) -> dict[str, Any]:
        sent, written = self.usage
        usage = {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sent + written,
        }
        return {
            "id": f"resp_{self.id}",
            "object": "response",
            "created_at": 1750000000,
            "status": "completed" if done else "in_progress",
            "model": MODEL,
            "output": [self._item()] if done else [],
            "usage": usage if done else None,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": self.request.get("tools") or [],
        }

    def events(self) -> Iterator[dict[str, Any]]:
        for number, event in enumerate(self._events()):
            yield {**event, "sequence_number": number}

    def _events(self) -> Iterator[dict[str, Any]]:
        item = self._item()
        where = {"item_id": item["id"], "output_index": 0}
        yield {"type": "response.created", "response": self.whole(done=False)}
        yield {"type": "response.in_progress", "response": self.whole(done=False)}
        if self.tool:
            begun, kind, last = {**item, "arguments": ""}, "function_call_arguments", "arguments"
        else:
            begun, kind, last = (
                {**item, "content": [], "status": "in_progress"},
                "output_text",
                "text",
            )
            where["content_index"] = 0
        yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
        if not self.tool:
            part = {"type": "output_text", "text": "", "annotations": []}
            yield {"type": "response.content_part.added", **where, "part": part}
        for piece in self.pieces():
            extra = {} if self.tool else {"logprobs": []}
            yield {
                "type": f"response.{kind}.delta",
                **where,
                **extra,
                "delta": piece,
                "pause": True,
            }
        text = "".join(self.pieces())
        yield {"type": f"response.{kind}.done", **where, last: text, "logprobs": []}
        if not self.tool:
            part = item["content"][0]
            yield {"type": "response.content_part.done", **where, "part": part}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield {"type": "response.completed", "response": self.whole()}


def _name(tool: dict[str, Any]) -> str:
    function = tool.get("function")
    return str((function or tool).get("name"))
