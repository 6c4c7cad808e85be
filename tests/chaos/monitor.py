"""A monitor in a process of its own that tests may kill, and clients that retry."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.ingest import Template
from rag_monitor.server import grpc_door

ROOT = Path(__file__).resolve().parents[2]
START_S = 30.0


class Monitor:
    """`rag-monitor serve --role ingest` on one port and one database, as often as it is started."""

    def __init__(self, url: str, folder: Path) -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as probe,
            socket.create_server(("127.0.0.1", 0)) as second,
        ):
            self.port = probe.getsockname()[1]
            self.grpc_port = second.getsockname()[1]
        self._url = url
        self._log = folder / "monitor.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RAG_MONITOR_DATABASE_URL": self._url,
            "RAG_MONITOR_PORT": str(self.port),
        }
        if grpc_door.installed():
            environment["RAG_MONITOR_GRPC_PORT"] = str(self.grpc_port)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rag_monitor", "serve", "--role", "ingest"],
                env=environment, stderr=log, stdout=log, cwd=self._log.parent,
            )  # fmt: skip
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self._log.read_text()[-2000:]
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.get("/healthz") == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"no answer within {START_S} s: {self._log.read_text()[-2000:]}")

    def get(self, path: str) -> int:
        """Status of a GET."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", path)
            return connection.getresponse().status

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """Its exit status; it must end within 15 s."""
        assert self._process is not None
        return self._process.wait(15)

    def end(self) -> None:
        """Kill what still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()


@dataclass
class Answer:
    """What a client got for one request."""

    status: int
    retry_after: str | None = None


def post(port: int, body: bytes, timeout_s: float) -> Answer:
    """One request on a connection of its own; status 0 when there was no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    with contextlib.closing(connection):
        try:
            connection.request(
                "POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"}
            )
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return Answer(0)
        return Answer(response.status, response.headers["Retry-After"])


class GrpcPoster:
    """Calls of OTLP over gRPC on one channel, answered in HTTP's terms."""

    def __init__(self) -> None:
        self._channel: Any = None

    def __call__(self, port: int, body: bytes, timeout_s: float) -> Answer:
        """One call; status 0 when there was no answer of the server's own."""
        import grpc

        if self._channel is None:
            options = tuple(
                (f"grpc.{name}_reconnect_backoff_ms", 200) for name in ("initial", "max")
            )
            self._channel = grpc.insecure_channel(f"127.0.0.1:{port}", options)
        method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        try:
            self._channel.unary_unary(method)(body, timeout=timeout_s)
        except grpc.RpcError as error:
            details = dict(error.trailing_metadata() or ())
            ours = "google.rpc.retryinfo-bin" in details
            gone = error.code() in (
                grpc.StatusCode.UNAVAILABLE,
                grpc.StatusCode.DEADLINE_EXCEEDED,
                grpc.StatusCode.CANCELLED,
            )
            return Answer(503 if ours else 0 if gone else error.code().value[0])
        return Answer(200)


@dataclass
class Client:
    """Sends traces as long as it is told to, each until it is acknowledged."""

    port: int
    stop: threading.Event
    template: Template
    post: Callable[[int, bytes, float], Answer] = post
    acknowledged: list[str] = field(default_factory=list)
    refusals: dict[int, int] = field(default_factory=dict)
    unfinished: int = 0

    def run(self) -> None:
        """Send; the last request is still brought to its end."""
        while not self.stop.is_set():
            body = bytes(self.template.renew())
            self._insist(body, self.template.trace_ids())

    def _insist(self, body: bytes, trace_ids: list[str]) -> None:
        for _ in range(400):
            answer = self.post(self.port, body, 1.0)
            if answer.status == 200:
                self.acknowledged += trace_ids
                return
            self.refusals[answer.status] = self.refusals.get(answer.status, 0) + 1
            time.sleep(0.05)
        self.unfinished += 1
