"""Counts requests by route: the template of its address, never the address, which holds ids."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_monitor.telemetry import HTTP_REQUESTS, HTTP_SECONDS

UNMATCHED: Final = "unmatched"
"""Of a request for which there is no route, or that was refused before one was looked for."""
ABORTED: Final = "aborted"
"""The status of a request that ended without an answer: whoever asked is gone."""
OTHER: Final = "other"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_STATUSES: Final = frozenset(range(100, 600))


class HttpMetrics:
    """Middleware that stands before all others and sees every answer.

    Args:
        app: What answers.
        routes: Those of the application; known ones name also what is refused before routing.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._fixed = {
            route.path_format: route.path_format
            for route in routes
            if isinstance(route, Route) and "{" not in route.path_format
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; count it when its answer is out."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = ABORTED

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                code = message["status"]
                status = str(code) if code in _STATUSES else OTHER
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else OTHER
            route = self._template(scope)
            HTTP_REQUESTS.labels(method=method, route=route, status=status).inc()
            HTTP_SECONDS.labels(method=method, route=route).observe(time.perf_counter() - began)

    def _template(self, scope: Scope) -> str:
        route: Any = scope.get("route")
        if route is not None:
            return str(getattr(route, "path_format", UNMATCHED))
        return self._fixed.get(scope["path"], UNMATCHED)
