"""HTTP to the monitor: one kept-alive connection, a real deadline, outcomes, no exceptions.

Runs on the sender's thread only.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from rag_monitor.outbound.connection import Connection, Deadline, NoAnswer, Reply
from rag_monitor.outbound.retry import retry_after
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.outcome import Outcome

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
        tls = parts.scheme == "https"
        self._host = parts.hostname or "127.0.0.1"
        self._prefix = parts.path.rstrip("/")
        self._headers = dict(headers)
        self._gzip = compression == "gzip"
        self._timeout_s = timeout_s
        self._connection = Connection(self._host, parts.port or (443 if tls else 80), tls=tls)

    def post(self, path: str, body: bytes, content_type: str) -> Outcome:
        """Send `body`; connection errors and timeouts are outcomes of status 0.

        A kept-alive connection that the server closed meanwhile is reopened once.
        """
        headers = {**self._headers, "Content-Type": content_type}
        if self._gzip:
            body = gzip.compress(body, compresslevel=1)
            headers["Content-Encoding"] = "gzip"
        deadline = Deadline(self._timeout_s)
        reused = self._connection.is_open
        reply = self._attempt(path, body, headers, deadline)
        if reply is None and reused and not deadline.passed:
            reply = self._attempt(path, body, headers, deadline)
        return Outcome(0) if reply is None else self._outcome(reply)

    def _attempt(
        self, path: str, body: bytes, headers: Mapping[str, str], deadline: Deadline
    ) -> Reply | None:
        try:
            return self._connection.request(
                "POST",
                self._prefix + path,
                body,
                headers,
                deadline=deadline,
                max_reply_bytes=MAX_REPLY_BYTES,
            )
        except NoAnswer as error:
            GUARD.warn_once(
                "transport",
                "cannot reach the monitor (%s); traces wait in memory",
                error.__cause__ or error,
            )
            return None

    def _outcome(self, reply: Reply) -> Outcome:
        if reply.ok and _is_page(reply):  # of a proxy, or another service's
            GUARD.warn_once(
                "page",
                "a web page answers where the monitor should, at %s; traces wait in memory",
                self._host,
            )
            return Outcome(0)
        return Outcome(reply.status, reply.body, _retry_after_s(reply))

    def close(self) -> None:
        """Drop the connection."""
        self._connection.close()


def _is_page(reply: Reply) -> bool:
    return reply.headers.get("content-type", "").strip().lower().startswith("text/html")


def _retry_after_s(reply: Reply) -> float | None:
    """The pause that the server asks for in seconds, bounded; None: none, or nonsense."""
    seconds = retry_after(reply.headers.get("retry-after"))
    return None if seconds is None else min(seconds, MAX_RETRY_AFTER_S)
