"""One HTTP request to a place a user configured: to the checked address, in bounded time and size.

Redirects are not followed, proxies of the environment are not used, and nothing is decompressed.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.errors import RagMonitorError
from rag_monitor.outbound.deadline import Deadline
from rag_monitor.outbound.guard import OutboundPolicy, Resolver, Target, check_url, resolve

MAX_REPLY_BYTES: Final = 64 * 1024
DEADLINE_S: Final = 10.0


class OutboundFailed(RagMonitorError):  # noqa: N818 - named after the field's word
    """The other side did not answer as HTTP, in time and within the size limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer, whole."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""


def request(
    method: str,
    url: str,
    *,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    policy: OutboundPolicy,
    deadline_s: float = DEADLINE_S,
    max_reply_bytes: int = MAX_REPLY_BYTES,
    resolver: Resolver | None = None,
) -> Reply:
    """Send one request and read the whole answer.

    Args:
        method: `POST` and so on.
        url: Where; checked here again, whatever was checked when it was saved.
        body: Sent as it is.
        headers: Besides Host, Content-Length and Connection.
        policy: What is allowed beyond the public internet.
        deadline_s: Total time, name resolution and TLS included.
        max_reply_bytes: A longer answer is a failure.
        resolver: Replaces the system's, in tests.

    Raises:
        OutboundRefused: The URL or one of its host's addresses is not allowed.
        OutboundFailed: No usable answer.
    """
    ends_at = time.monotonic() + deadline_s
    target = check_url(url, policy)
    addresses = resolve(target, policy, deadline_s, resolver)
    stream = _connect(target, addresses, ends_at)
    deadline = Deadline(lambda: stream, ends_at - time.monotonic())
    try:
        with deadline:
            reply = _exchange(stream, target, method, body, headers or {}, ends_at, max_reply_bytes)
    except (OSError, http.client.HTTPException, ValueError) as error:
        late = deadline.passed or time.monotonic() >= ends_at
        reason = f"no whole answer within {deadline_s:g} s" if late else _words(error)
        raise OutboundFailed(f"{target.authority}: {reason}") from error
    finally:
        stream.close()
    if deadline.passed:
        # To http.client a connection that was cut looks like the end of an answer.
        raise OutboundFailed(f"{target.authority}: no whole answer within {deadline_s:g} s")
    return reply


def _connect(target: Target, addresses: list[str], ends_at: float) -> socket.socket:
    error: OSError | None = None
    for address in addresses:
        left = ends_at - time.monotonic()
        if left <= 0:
            break
        try:
            sock = socket.create_connection((address, target.port), timeout=left)
            if target.scheme == "http":
                return sock
            # The handshake comes later, under the watchdog.
            return ssl.create_default_context().wrap_socket(
                sock, server_hostname=target.host, do_handshake_on_connect=False
            )
        except OSError as problem:
            error = problem
    reason = "no connection in time" if error is None else _words(error)
    raise OutboundFailed(f"{target.authority}: {reason}") from error


def _exchange(
    stream: socket.socket,
    target: Target,
    method: str,
    body: bytes,
    headers: Mapping[str, str],
    ends_at: float,
    max_reply_bytes: int,
) -> Reply:
    stream.settimeout(max(0.001, ends_at - time.monotonic()))
    if isinstance(stream, ssl.SSLSocket):
        stream.do_handshake()
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.sock = stream
    try:
        connection.request(
            method,
            target.path,
            body=body,
            headers={
                "User-Agent": "rag-monitor",
                "Accept-Encoding": "identity",
                **headers,
                "Host": target.authority,
                "Connection": "close",
            },
        )
        response = connection.getresponse()
        content = response.read(max_reply_bytes + 1)
        if len(content) > max_reply_bytes:
            raise ValueError(f"the answer is longer than {max_reply_bytes} bytes")
        named = {name.lower(): value for name, value in response.getheaders()}
        return Reply(status=response.status, headers=named, body=content)
    finally:
        connection.close()


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
