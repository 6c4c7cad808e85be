"""A chat server on loopback that answers rightly, in whatever dress a test puts the answer."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SURE = 0.9


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def roles(self) -> list[str]:
        """Roles of the messages in order."""
        return [message["role"] for message in self.body["messages"]]

    @property
    def text(self) -> str:
        """All that the model reads."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])


@dataclass(frozen=True)
class Given:
    """One response."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"

    def encoded(self) -> bytes:
        """The body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, str):
            return self.body.encode()
        return json.dumps(self.body, ensure_ascii=False).encode()


Script = Callable[[Asked], Given]


class Server:
    """Listens while its block lasts, and keeps what it was asked."""

    def __init__(self, script: Script) -> None:
        self.asked: list[Asked] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._give(Given({"object": "list", "data": []}))

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                asked = Asked(self.path, json.loads(raw), dict(self.headers.items()))
                outer.asked.append(asked)
                chats = self.path.partition("?")[0].endswith("/chat/completions")
                self._give(script(asked) if chats else Given({"error": "no such path"}, 404))

            def _give(self, given: Given) -> None:
                body = given.encoded()
                self.send_response(given.status)
                self.send_header("Content-Type", given.content_type)
                self.send_header("Content-Length", str(len(body)))
                for name, value in given.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()


@contextmanager
def serving(script: Script) -> Iterator[Server]:
    """A server for the length of a block."""
    server = Server(script)
    server.start()
    try:
        yield server
    finally:
        server.close()


def right(asked: Asked, number: float = SURE) -> dict[str, Any]:
    """What a model that does as it is told fills in: every probability is `number`."""
    response_format = asked.body.get("response_format") or {}
    if response_format.get("type") == "json_schema":
        filled: dict[str, Any] = _fill(response_format["json_schema"]["schema"], number)
        return filled
    if asked.body.get("tools"):
        filled = _fill(asked.body["tools"][0]["function"]["parameters"], number)
        return filled
    return _fill_from_words(asked.text, number)


def _fill(schema: Mapping[str, Any], number: float) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: _fill(part, number) for name, part in schema["properties"].items()}
    if kind == "array":
        return [_fill(schema["items"], number)]
    if kind in ("integer", "number"):
        return 1 if kind == "integer" else number
    return "a text"


_GROUP = re.compile(r'^"(\w+)" \{([^}]*)\}:')
_LIST = re.compile(r'^"(\w+)" \[\{"(\w+)": "…", "(\w+)": p\}\]')
_SINGLE = re.compile(r'^"(\w+)":')


def _fill_from_words(text: str, number: float) -> dict[str, Any]:
    """The same from the form in words, which stands after the evidence."""
    filled: dict[str, Any] = {}
    for line in text[text.rindex('"nonce":') :].splitlines():
        if line.startswith('"nonce"'):
            filled["nonce"] = re.findall(r'"([^"]+)"', line)[-1]
        elif found := _GROUP.match(line):
            value = 1 if found[1] == "rests_on" else number
            filled[found[1]] = dict.fromkeys(re.findall(r'"(\d+)"', found[2]), value)
        elif found := _LIST.match(line):
            filled[found[1]] = [{found[2]: "a text", found[3]: number}]
        elif found := _SINGLE.match(line):
            filled[found[1]] = number
    return filled


def as_json(value: Any) -> str:
    """JSON as a model writes it."""
    return json.dumps(value, ensure_ascii=False)


def completion(content: Any, *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion."""
    return {
        "id": "c",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70},
    }


def events(text: str, *, size: int = 7, newline: str = "\n", thought: str = "") -> str:
    """The same as server-sent events."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if thought:
        deltas.append({"reasoning_content": thought})
    deltas += [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    chunks: list[dict[str, Any]] = [
        {"id": "c", "object": "chat.completion.chunk", "model": "m",
         "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]  # fmt: skip
    last = {"index": 0, "delta": {}, "finish_reason": "stop"}
    chunks.append({"id": "c", "object": "chat.completion.chunk", "choices": [last]})
    usage = {"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70}
    chunks.append({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": usage})
    lines = [": keep-alive", *(f"data: {as_json(chunk)}" for chunk in chunks), "data: [DONE]"]
    return "".join(f"{line}{newline}{newline}" for line in lines)


def refused(message: str, status: int = 400, **fields: Any) -> Given:
    """An error in the usual shape."""
    return Given({"error": {"message": message, "type": "error", **fields}}, status)


def settings(folder: Path, url: str, *lines: str) -> Path:
    """A configuration file that names the server; `lines` belong to the judge's table."""
    path = folder / "rag_monitor.toml"
    head = f'judge = "openai_compatible"\n[judges.openai_compatible]\nbase_url = "{url}"\n'
    path.write_text(head + "\n".join(('model = "m"', *lines)) + "\n", encoding="utf-8")
    return path
