"""One HTTP request to a place a user configured: to the checked address, in bounded time and size.

Redirects are not followed, proxies of the environment are not used, and nothing is decompressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Final

from rag_monitor.errors import RagMonitorError
from rag_monitor.outbound.connection import Connection, Deadline, NoAnswer, Reply
from rag_monitor.outbound.guard import OutboundPolicy, Resolver, check_url, resolve

MAX_REPLY_BYTES: Final = 64 * 1024
DEADLINE_S: Final = 10.0


class OutboundFailed(RagMonitorError):  # noqa: N818 - named after the field's word
    """The other side did not answer as HTTP, in time and within the size limit."""


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
    deadline = Deadline(deadline_s)
    target = check_url(url, policy)
    addresses = resolve(target, policy, deadline_s, resolver)
    given = {"User-Agent": "rag-monitor", **(headers or {}), "Connection": "close"}
    connection = Connection(
        target.host, target.port, tls=target.scheme == "https", addresses=addresses
    )
    with closing(connection):
        try:
            reply = connection.request(
                method,
                target.path,
                body,
                given,
                deadline=deadline,
                max_reply_bytes=max_reply_bytes,
            )
        except NoAnswer as error:
            raise OutboundFailed(
                "{address}: {reason}", address=target.authority, reason=_words(error)
            ) from error
    if not reply.whole:
        raise OutboundFailed(
            "{address}: the answer is longer than {most} bytes",
            address=target.authority,
            most=max_reply_bytes,
        )
    return reply


def _words(error: NoAnswer) -> str:
    """With the kind of error, which says more than the text of some; a late answer needs none."""
    cause = error.__cause__
    if cause is None or isinstance(cause, TimeoutError):
        return str(error)
    kind = type(cause).__name__
    return f"{kind}: {error}" if str(error) != kind else kind
