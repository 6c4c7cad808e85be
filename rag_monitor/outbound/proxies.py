"""The proxy that the environment names for an address: `HTTPS_PROXY` and its siblings.

For what a person starts by hand; requests to places that users configured go there directly.
"""

from __future__ import annotations

import base64
import urllib.request
from typing import Final
from urllib.parse import unquote, urlsplit

from rag_monitor.outbound.connection import NoAnswer, Proxy

_HERE: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def proxy_for(scheme: str, host: str) -> Proxy | None:
    """Whom to send requests through; None: nobody. This machine is never reached through one.

    Raises:
        NoAnswer: A proxy is named that is not one of HTTP.
    """
    named = urllib.request.getproxies()
    url = named.get(scheme) or named.get("all")
    if not url or host in _HERE or urllib.request.proxy_bypass(host):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme != "http" or not parts.hostname:
        raise NoAnswer(
            "the environment names a proxy of {scheme}, only http is spoken", scheme=parts.scheme
        )
    return Proxy(parts.hostname, parts.port or 80, basic(parts.username, parts.password))


def basic(user: str | None, password: str | None) -> str | None:
    """The header value of Basic authentication for the user of a URL; None where it names none."""
    if user is None:
        return None
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
