"""Who may reach this server: not pages of other sites (CSRF), nor names that are not its own.

A foreign page can point a name of its own at loopback (DNS rebinding); such a Host is not answered.
"""

from __future__ import annotations

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rag_monitor.config import Settings
from rag_monitor.errors import ConfigurationError
from rag_monitor.server.problems import Problem, refuse

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def check_reach(settings: Settings, host: str) -> None:
    """Raise `ConfigurationError` where an open server would listen beyond this machine."""
    closed = settings.api_key is not None or settings.http.allow_insecure_bind
    if not closed and not _is_loopback(host):
        raise ConfigurationError(
            "refusing to listen on {host} without a key: set RAG_MONITOR_API_KEY, listen on "
            "127.0.0.1, or set `http.allow_insecure_bind = true` where something in front "
            "authenticates",
            host=host,
        )


def answered_hosts(settings: Settings) -> frozenset[str] | None:
    """The Host names that are answered, lower case; None: any.

    An open server answers only to its own names; a server with a key to those that are set, if any.
    """
    if settings.http.allowed_hosts:
        named = {host.lower() for host in settings.http.allowed_hosts}
    elif settings.api_key is not None or settings.http.allow_insecure_bind:
        return None
    else:
        named = set()
    named |= {"localhost", "127.0.0.1", "::1", settings.host.lower()}
    if settings.public_url and (public := urlsplit(settings.public_url).hostname):
        named.add(public)
    return frozenset(named)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class HostGuard:
    """Answers only to its own names, and lets no foreign page change anything."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._hosts = answered_hosts(settings)
        self._public = _origin(settings.public_url) if settings.public_url else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse foreign hosts (400) and cross-site changes (403)."""
        if scope["type"] == "http" and (problem := self._judge(scope)) is not None:
            await refuse(problem, scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _judge(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if len(headers.getlist("host")) > 1:
            # Two readers may each believe another one: RFC 9112 has it refused (section 3.2).
            return Problem(
                status=400,
                kind="host-repeated",
                detail="The request has more than one Host header; send one.",
            )
        if self._hosts is not None and _hostname(host) not in self._hosts:
            return Problem(
                status=400,
                kind="host-unknown",
                detail="This server does not answer to that Host name. Set RAG_MONITOR_PUBLIC_URL "
                "or `http.allowed_hosts` to the name it is reached by.",
            )
        if scope["method"] not in SAFE_METHODS and self._foreign(headers, host):
            return Problem(
                status=403,
                kind="cross-site",
                detail="Changes are taken only from this server's own pages or from programs, "
                "not from pages of other sites.",
            )
        return None

    def _foreign(self, headers: Headers, host: str) -> bool:
        if headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
            return True
        origin = headers.get("origin")
        if origin is None:
            return False
        return urlsplit(origin).netloc.lower() != host.lower() and origin.lower() != self._public


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
