"""A local HTTP server that answers as it is told, and remembers what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


def answer(content: object = None, status: int = 200, **headers: str) -> Answer:
    """A JSON answer; keyword names become header names."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(
        status=status,
        body=json.dumps({} if content is None else content).encode(),
        headers={"Content-Type": "application/json", **named},
    )


class Receiver:
    """Its address, what it was sent, and what it says."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self.requests: list[Request] = []
        self.says: Answer = answer()
        self.hangs: threading.Event | None = None
        """Answers only once this is set."""
        self.drips: Callable[[BaseHTTPRequestHandler], None] | None = None

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A running receiver on a free port of the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            request = Request(
                self.command,
                self.path,
                {name.lower(): value for name, value in self.headers.items()},
                self.rfile.read(length),
            )
            receiver.requests.append(request)
            if receiver.hangs is not None:
                receiver.hangs.wait(20)
            if receiver.drips is not None:
                receiver.drips(self)
                return
            says = receiver.says
            try:
                self.send_response(says.status)
                for name, value in says.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(says.body)))
                self.end_headers()
                self.wfile.write(says.body)
            except OSError:
                return

        do_GET = do_POST = do_PUT = _handle  # noqa: N815

        def log_message(self, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver = Receiver(server)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.hangs is not None:
            receiver.hangs.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
