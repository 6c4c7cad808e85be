"""A model server that answers instantly by a script, counts, and can be made to misbehave.

    python -m benchmarks.stub_server

prints its port and serves until its standard input closes. It answers our structured forms, lists,
one-token verdicts with logprobs, embeddings, and the requests Ragas makes.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import random
import re
import struct
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

Body = Mapping[str, Any]

_MODEL = "stub"
"""What a script calls its model when it is all the same to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP response, and how badly it is delivered."""

    payload: Any = None
    """JSON value; bytes are sent as they are."""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    delay_s: float = 0.0
    drip_s: float = 0.0
    """Pause between single bytes."""
    cut: bool = False
    """Close the connection in the middle of the body."""


Script = Callable[[str, Body], Answer]
"""From path and body of a request to its answer."""


def completion(
    content: str | None,
    *,
    top_logprobs: Mapping[str, float] | None = None,
    input_tokens: int = 0,
    output_tokens: int = 0,
    tool: bool = False,
) -> dict[str, Any]:
    """A chat completion with one choice; `top_logprobs` maps tokens to logprobs."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if tool:
        call = {
            "id": "c1",
            "type": "function",
            "function": {"name": "record", "arguments": content},
        }
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "message": message}
    if top_logprobs is not None:
        listed = [{"token": t, "logprob": p, "bytes": None} for t, p in top_logprobs.items()]
        entry = {"token": content, "logprob": listed[0]["logprob"] if listed else 0.0}
        choice["logprobs"] = {"content": [{**entry, "top_logprobs": listed}]}
    usage = {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }
    return {
        "id": "stub",
        "object": "chat.completion",
        "created": 0,
        "model": _MODEL,
        "choices": [choice],
        "usage": usage,
    }


def schema_of(body: Body) -> Mapping[str, Any] | None:
    """The JSON schema a request asks for, by `response_format` or tool."""
    if body.get("response_format", {}).get("type") == "json_schema":
        schema: Mapping[str, Any] = body["response_format"]["json_schema"]["schema"]
        return schema
    if body.get("tools"):
        parameters: Mapping[str, Any] = body["tools"][0]["function"]["parameters"]
        return parameters
    return None


def fill(schema: Mapping[str, Any], number: float = 0.9) -> Any:
    """The plainest value that fits `schema`; every probability is `number`."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: fill(part, number) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [fill(schema["items"], number) for _ in range(3)]
    if kind == "integer":
        return 1
    if kind == "number":
        return number
    return True if kind == "boolean" else "What is asked here?"


def obliging(path: str, body: Body) -> Answer:
    """Answers everything: 0.9 for each verdict, yes for each token."""
    if path.endswith("/embeddings"):
        return Answer(payload=embeddings(body))
    if not path.endswith("/chat/completions"):
        return Answer(payload={"error": f"nothing at {path}"}, status=404)
    if body.get("logprobs"):
        return Answer(payload=completion("Yes", top_logprobs={"Yes": -0.105, "No": -2.303}))
    schema = schema_of(body)
    if schema is not None:
        text = json.dumps(fill(schema))
        return Answer(payload=completion(text, tool="tools" in body))
    return Answer(payload=completion(ragas_reply(body)))


def embeddings(body: Body) -> dict[str, Any]:
    """256 numbers drawn from each text; base64 when asked."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    rows = []
    for index, text in enumerate(texts):
        draw = random.Random(str(text))
        vector: Any = [draw.uniform(0.5, 1.5) for _ in range(256)]
        if body.get("encoding_format") == "base64":
            vector = base64.b64encode(struct.pack("<256f", *vector)).decode()
        rows.append({"object": "embedding", "index": index, "embedding": vector})
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": _MODEL, "data": rows, "usage": usage}


def ragas_reply(body: Body) -> str:
    """What Ragas expects, told by the fields its prompt names."""
    contents = [str(message.get("content")) for message in body["messages"]]
    text = next((c for c in reversed(contents) if "input: " in c and "Output:" in c), None)
    if text is None:
        return json.dumps({"rating": 2})
    reason = (
        "The stub gives a reason of twenty words, so that replies have about the length "
        "and cost of real ones."
    )
    start = text.find("JSON Schema:")
    schema = json.JSONDecoder().raw_decode(text, text.index("{", start))[0] if start >= 0 else {}
    fields = schema.get("properties", {})
    given = json.loads(text[text.rindex("input: ") + 7 : text.rindex("Output:")])
    if "noncommittal" in fields:
        return json.dumps({"question": "What is asked here?", "noncommittal": 0})
    if "statements" in fields and "statements" in given:
        rows = [{"statement": s, "reason": reason, "verdict": 1} for s in given["statements"]]
        return json.dumps({"statements": rows})
    if "statements" in fields:
        return json.dumps({"statements": [f"{s}." for s in given["answer"].split(". ")]})
    if "verdict" in fields:
        digest = hashlib.sha256(text.encode()).digest()[0]
        return json.dumps({"reason": reason, "verdict": int(digest < 153)})
    return json.dumps({"rating": 2})


@dataclass
class StubServer:
    """The server; an async context manager that listens on a free local port."""

    script: Script = obliging
    requests: list[tuple[str, Body]] = field(default_factory=list)
    """Path and body of every request, in order of arrival."""
    keep: bool = True
    """Whether requests are kept; a benchmark over many traces turns it off."""
    count: int = 0
    port: int = 0
    """Where to listen; 0: anywhere."""
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """The base URL for clients."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ", 2)[1]
        length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
        raw = await reader.readexactly(int(length.group(1)) if length else 0)
        body = json.loads(raw) if raw else {}
        self.count += 1
        if self.keep:
            self.requests.append((path, body))
        answer = _named(self.script(path, body), body)
        await asyncio.sleep(answer.delay_s)
        return await _send(writer, answer)


def _named(answer: Answer, body: Body) -> Answer:
    """The answer under the model's name that was asked for, unless the script gives another."""
    payload = answer.payload
    if not isinstance(payload, dict) or payload.get("model") != _MODEL or "model" not in body:
        return answer
    return replace(answer, payload=payload | {"model": body["model"]})


async def _send(writer: asyncio.StreamWriter, answer: Answer) -> bool:
    raw = answer.payload
    body = raw if isinstance(raw, bytes) else json.dumps(raw, ensure_ascii=False).encode()
    headers = [("content-type", "application/json"), *answer.headers]
    lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in headers)]
    lines.append(f"content-length: {len(body)}")
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    if answer.cut:
        writer.write(body[: len(body) // 2])
        await writer.drain()
        return False
    if answer.drip_s:
        for place in range(len(body)):
            writer.write(body[place : place + 1])
            await writer.drain()
            await asyncio.sleep(answer.drip_s)
        return True
    writer.write(body)
    await writer.drain()
    return True


async def _main() -> None:
    loop = asyncio.get_running_loop()
    async with StubServer(keep=False) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        closed: Awaitable[str] = loop.run_in_executor(None, sys.stdin.read)
        await closed


if __name__ == "__main__":
    asyncio.run(_main())
