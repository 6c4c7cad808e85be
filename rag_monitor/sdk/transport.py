"""HTTP to the monitor: one kept-alive connection, a real deadline, outcomes, no exceptions.

Runs on the sender's thread only. Uses `http.client`, which no tracing instrumentation patches.
"""

from __future__ import annotations

import codecs
import gzip
import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from rag_monitor.outbound.patience import retry_after
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.outcome import Outcome

codecs.lookup("idna")  # else the first connection imports it: a child forked then never connects

MAX_RETRY_AFTER_S: Final = 300.0
MAX_REPLY_BYTES: Final = 1_000_000


class Transport:
    """Posts bodies to one endpoint."""

    def __init__(
        self,
        endpoint: str,
        headers: Mapping[str, str],
        *,
        compression: str | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        parts = urlsplit(endpoint)
        self._https = parts.scheme == "https"
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port
        self._prefix = parts.path.rstrip("/")
        self._headers = dict(headers)
        self._gzip = compression == "gzip"
        self._timeout_s = timeout_s
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: bytes, content_type: str) -> Outcome:
        """Send `body`; connection errors and timeouts are outcomes of status 0.

        A kept-alive connection that the server closed meanwhile is reopened once.
        """
        headers = {**self._headers, "Content-Type": content_type}
        if self._gzip:
            body = gzip.compress(body, compresslevel=1)
            headers["Content-Encoding"] = "gzip"
        deadline = time.monotonic() + self._timeout_s
        reused = self._connection is not None
        outcome = self._attempt(path, body, headers, deadline)
        if outcome is None and reused and time.monotonic() < deadline:
            outcome = self._attempt(path, body, headers, deadline)
        return outcome if outcome is not None else Outcome(0)

    def _attempt(
        self, path: str, body: bytes, headers: dict[str, str], deadline: float
    ) -> Outcome | None:
        try:
            connection = self._connection or self._connect(deadline)
            _stop_at(connection, deadline)
            connection.request("POST", self._prefix + path, body, headers)
            with connection.getresponse() as response:
                reply = response.read(MAX_REPLY_BYTES)
                if response.will_close or response.read(1):
                    self.close()
                outcome = Outcome(response.status, reply, _asked_s(response))
                if outcome.ok and _is_page(response):  # of a proxy, or another service's
                    GUARD.say(
                        "page",
                        "a web page answers where the monitor should, at %s; traces wait in memory",
                        self._host,
                    )
                    return Outcome(0)
                return outcome
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            GUARD.say("transport", "cannot reach the monitor (%s); traces wait in memory", error)
            return None

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        timeout = max(0.05, deadline - time.monotonic())
        connection: http.client.HTTPConnection
        if self._https:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=timeout, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        connection.connect()
        connection.sock = _DeadlineSocket(connection.sock)
        self._connection = connection
        return connection

    def close(self) -> None:
        """Drop the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class _DeadlineSocket:
    """A socket whose reads share one deadline, so a server dripping bytes cannot hold us."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self.deadline = 0.0

    def remaining(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        return left

    def sendall(self, data: Any) -> None:
        self._sock.settimeout(self.remaining())
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        del mode
        return io.BufferedReader(_DeadlineReader(self, self._sock))

    def close(self) -> None:
        self._sock.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class _DeadlineReader(io.RawIOBase):
    def __init__(self, owner: _DeadlineSocket, sock: socket.socket) -> None:
        self._owner = owner
        self._file = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._file.settimeout(self._owner.remaining())
        return self._file.recv_into(buffer)


def _stop_at(connection: http.client.HTTPConnection, deadline: float) -> None:
    sock = connection.sock
    if isinstance(sock, _DeadlineSocket):
        sock.deadline = deadline


def _is_page(response: http.client.HTTPResponse) -> bool:
    return (response.getheader("Content-Type") or "").strip().lower().startswith("text/html")


def _asked_s(response: http.client.HTTPResponse) -> float | None:
    """The pause that the server asks for in seconds, bounded; None: none, or nonsense."""
    asked = retry_after(response.getheader("Retry-After"))
    return None if asked is None else min(asked, MAX_RETRY_AFTER_S)
