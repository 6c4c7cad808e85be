"""The SDK captured in memory, and a small server that misbehaves on request."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rag_monitor.sdk import client as sdk_client
from rag_monitor.sdk.guard import GUARD
from rag_monitor.testing import InMemoryExporter


@pytest.fixture(autouse=True)
def _strict(monkeypatch: pytest.MonkeyPatch, _clean_environment: None) -> Iterator[None]:
    """Internal errors surface in tests, and no client outlives its test."""
    monkeypatch.setenv("RAG_MONITOR_STRICT", "1")
    GUARD.strict = True
    GUARD.errors.clear()
    GUARD._logged_at.clear()
    yield
    GUARD.strict = False
    sdk_client.shutdown(0.0)
    sdk_client.install(None)


@pytest.fixture
def captured() -> Iterator[InMemoryExporter]:
    """The SDK at work, its records in memory."""
    with InMemoryExporter(app="test-app", interval_s=0.05) as exporter:
        yield exporter


class BadServer:
    """Answers each POST as `behave` says: (status, headers, body), or None to hang."""

    def __init__(self, behave: Callable[[BadServer, bytes], tuple[int, dict[str, str], bytes]]):
        self.requests: list[tuple[float, str, bytes, dict[str, str]]] = []
        self.behave = behave
        self.released = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((time.monotonic(), self.path, body, dict(self.headers)))
                status, headers, reply = outer.behave(outer, body)
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply)))
                    self.end_headers()
                    self.wfile.write(reply)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        sdk_client.shutdown(0.0)
        sdk_client.install(None)
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def bad_server() -> Iterator[Callable[..., BadServer]]:
    """Makes servers that behave as told."""
    servers: list[BadServer] = []

    def make(behave: Callable[[BadServer, bytes], tuple[int, dict[str, str], bytes]]) -> BadServer:
        servers.append(BadServer(behave))
        return servers[-1]

    yield make
    for server in servers:
        server.close()
