"""Requests to one address, each over a connection of its own, so that threads can share them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from urllib.parse import urlsplit

from rag_monitor.outbound.connection import Connection, Deadline, Reply
from rag_monitor.outbound.proxies import basic, proxy_for


class SingleRequests:
    """Sends requests to an address; holds no connection.

    Args:
        url: `http://` or `https://`, with a user, a port and the beginning of every path where
            there is one.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._scheme = parts.scheme
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._prefix = parts.path
        user = basic(parts.username, parts.password)
        self._headers = {"Connection": "close"} | ({} if user is None else {"Authorization": user})

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout_s: float,
    ) -> Reply:
        """The answer; a redirect is one: following it could carry the key to somebody else."""
        proxy = proxy_for(self._scheme, self._host)
        tls = self._scheme == "https"
        with closing(Connection(self._host, self._port, tls=tls, proxy=proxy)) as connection:
            return connection.request(
                method,
                self._prefix + path,
                body,
                {**headers, **self._headers},
                deadline=Deadline(timeout_s),
            )


def is_address(url: str) -> bool:
    """Whether requests can be sent there."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
