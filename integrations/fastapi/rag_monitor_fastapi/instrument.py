"""Adds the SDK's ASGI middleware to an application, with session, user and trace id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request

import rag_monitor as rm
from rag_monitor.sdk.asgi import App, Message, RagMonitorMiddleware, Receive, Send
from rag_monitor.sdk.events import never_raise

TRACE_HEADER: Final = "x-rag-monitor-trace-id"
"""Response header with the trace's id, for `rag_monitor.feedback` from the page."""

Identify = Callable[[Request], Mapping[str, Any]]
"""From the request (its body unread) to fields of `rag_monitor.current().set(...)`."""

_never_raise = never_raise("fastapi")


def instrument(
    app: Starlette,
    paths: Sequence[str] | None = None,
    *,
    identify: Identify | None = None,
    trace_header: bool = True,
    **options: Any,
) -> None:
    """Trace the requests of an application; call it before the first request.

    Args:
        app: A FastAPI or Starlette application.
        paths: Path prefixes that are traced; None: every POST.
        identify: Says session, user and tags of a request.
        trace_header: Give the trace's id in the response header `TRACE_HEADER`.
        **options: Further fields of the SDK's `RequestOptions`: `question_keys`, `question`,
            `answer_keys`.
    """
    app.add_middleware(_Identity, identify=identify, trace_header=trace_header)
    monitor: Any = RagMonitorMiddleware
    app.add_middleware(monitor, paths=paths, **options)
    app.user_middleware.append(Middleware(_Failures))  # innermost


def uninstrument(app: Starlette) -> None:
    """Take the middleware out again; requests that are running finish their traces."""
    ours: tuple[Any, ...] = (_Identity, _Failures, RagMonitorMiddleware)
    app.user_middleware = [entry for entry in app.user_middleware if entry.cls not in ours]
    app.middleware_stack = None  # rebuilt at the next request


class _Identity:
    """Stands inside the SDK's middleware, where the trace is current."""

    def __init__(self, app: App, identify: Identify | None, trace_header: bool) -> None:
        self._app = app
        self._identify = identify
        self._trace_header = trace_header

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        trace_id = rm.current().trace_id if scope.get("type") == "http" else ""
        if not trace_id:
            await self._app(scope, receive, send)
            return
        self._say_who(scope)

        async def send_with_id(message: Message) -> None:
            if self._trace_header and message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), (TRACE_HEADER.encode(), trace_id.encode())]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_with_id)

    @_never_raise
    def _say_who(self, scope: MutableMapping[str, Any]) -> None:
        if self._identify is not None:
            rm.current().set(**self._identify(Request(scope)))


class _Failures:
    """Stands next to the routes and notes what breaks an answer off.

    Starlette's `BaseHTTPMiddleware` ends such a response as if it were complete, and raises then.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        live = rm.current() if scope.get("type") == "http" else None
        if not live:
            await self._app(scope, receive, send)
            return
        more = False

        async def watched(message: Message) -> None:
            nonlocal more
            more = bool(message.get("more_body", message["type"] == "http.response.start"))
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if more:
                _broken_off(live, error)
            raise


@_never_raise
def _broken_off(live: Any, error: Exception) -> None:
    live.fail(error)
