"""A model server on loopback that has the quirk that the model's name asks for.

A real HTTP server in a thread of its own, for tests that go all the way from a command or a judge.
Each quirk is written after the behaviour of a kind of server; the replies are made up.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, and the reply that a model would write."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Body
    reply: str
    """The form of the request, filled in: JSON."""
    number: int
    """How many requests this model had, this one included."""

    def has(self, *fields: str) -> bool:
        """Whether the request has one of these fields."""
        return any(name in self.body for name in fields)

    @property
    def roles(self) -> list[str]:
        """Of the messages."""
        return [message["role"] for message in self.body["messages"]]

    @property
    def wants_schema(self) -> bool:
        """Whether the reply is asked for by a JSON schema."""
        return bool(self.body.get("response_format", {}).get("type") == "json_schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One response."""

    payload: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    kind: str = "application/json"


Quirk = Callable[[Asked], Sent]


def said(content: Any, *, finish: str = "stop", model: str | None = None, **message: Any) -> Sent:
    """A chat completion whose message has this content."""
    whole = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": whole, "finish_reason": finish}
    usage = {"prompt_tokens": 90, "completion_tokens": 30, "total_tokens": 120}
    return Sent(payload={"id": "c", "model": model, "choices": [choice], "usage": usage})


def refused(status: int, message: str, **fields: Any) -> Sent:
    """An error in the shape most servers use."""
    return Sent(payload={"error": {"message": message, **fields}}, status=status)


def streamed(*deltas: Mapping[str, Any], finish: str = "stop", comment: str = "") -> Sent:
    """A stream of server-sent events, one for each delta."""
    events = [{"model": "", "choices": [{"index": 0, "delta": dict(delta)}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    events.append({"choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 30}})
    lines = [f": {comment}"] if comment else []
    lines += [f"data: {json.dumps(event, ensure_ascii=False)}" for event in events]
    text = "\r\n\r\n".join([*lines, "data: [DONE]", ""])
    return Sent(raw=text.encode(), kind="text/event-stream; charset=utf-8")


def filled(text: str, number: float = 0.9) -> dict[str, Any]:
    """The form that the end of a prompt describes, every probability `number`."""
    form = text[text.rfind('"nonce":') :]
    answer: dict[str, Any] = {"nonce": re.findall(r'"([^"]+)"', form.splitlines()[0])[-1]}
    for line in form.splitlines()[1:]:
        name, rest = re.match(r'"(\w+)"(.*)', line).groups()  # type: ignore[union-attr]
        keys = re.findall(r'"(\d+)"', rest.partition("}")[0]) if rest.startswith(" {") else []
        value = 1 if name == "rests_on" else number
        answer[name] = dict.fromkeys(keys, value) if keys else value
    return answer


class ModelServer:
    """The server, as a context manager.

    Args:
        quirks: By the model's name; `*` is for every other name.
    """

    def __init__(self, quirks: Mapping[str, Quirk]) -> None:
        self.quirks = quirks
        self.asked: list[Asked] = []
        """Requests for a chat, in order of arrival."""
        self._counts: Counter[str] = Counter()
        self._turn = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def of(self, model: str) -> list[Asked]:
        """The requests for one model."""
        return [asked for asked in self.asked if asked.body["model"] == model]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, path: str, headers: Mapping[str, str], body: Body) -> Sent:
        """What is sent for one request."""
        if not path.partition("?")[0].endswith("/chat/completions"):
            return refused(404, "no such endpoint")
        model = str(body["model"])
        with self._turn:
            self._counts[model] += 1
            number = self._counts[model]
        words = body["messages"][-1]["content"]
        reply = json.dumps(filled(words), ensure_ascii=False) if '"nonce":' in words else "Yes"
        asked = Asked(path, headers, body, reply, number)
        self.asked.append(asked)
        return (self.quirks.get(model) or self.quirks["*"])(asked)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                sent = server.answer(self.path, headers, json.loads(self.rfile.read(length)))
                raw = sent.raw
                if raw is None:
                    raw = json.dumps(sent.payload, ensure_ascii=False).encode()
                self.send_response(sent.status)
                for name, value in {"content-type": sent.kind, **sent.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler
