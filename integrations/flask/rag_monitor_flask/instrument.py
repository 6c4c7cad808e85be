"""Puts the SDK's WSGI middleware around an application, with session, user and trace id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from flask import Flask, Request

import rag_monitor as rm
from rag_monitor.sdk.events import never_raise
from rag_monitor.sdk.wsgi import RagMonitorMiddleware

TRACE_HEADER: Final = "X-Rag-Monitor-Trace-Id"
"""Response header with the trace's id, for `rag_monitor.feedback` from the page."""

Identify = Callable[[Request], Mapping[str, Any]]
"""From the request (its body unread) to fields of `rag_monitor.current().set(...)`."""
App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_never_raise = never_raise("flask")


def instrument(
    app: Flask,
    paths: Sequence[str] | None = None,
    *,
    identify: Identify | None = None,
    trace_header: bool = True,
    **options: Any,
) -> None:
    """Trace the requests of an application.

    Args:
        app: A Flask application.
        paths: Path prefixes that are traced; None: every POST.
        identify: Says session, user and tags of a request.
        trace_header: Give the trace's id in the response header `TRACE_HEADER`.
        **options: Further fields of the SDK's `RequestOptions`: `question_keys`, `question`,
            `answer_keys`.
    """
    inner = app.wsgi_app
    identity = _Identity(inner, identify, trace_header=trace_header)
    app.wsgi_app = _Outer(identity, inner, paths=paths, **options)  # type: ignore[method-assign]


def uninstrument(app: Flask) -> None:
    """Take the middleware out again, unless another one has been put around it since."""
    outer = app.wsgi_app
    if isinstance(outer, _Outer):
        app.wsgi_app = outer.before  # type: ignore[method-assign]


class _Outer(RagMonitorMiddleware):
    """The SDK's middleware, remembering what it stands around."""

    def __init__(self, app: App, before: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self.before = before


class _Identity:
    """Stands inside the SDK's middleware, where the trace is current."""

    def __init__(self, app: App, identify: Identify | None, *, trace_header: bool) -> None:
        self._app = app
        self._identify = identify
        self._trace_header = trace_header

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        trace_id = rm.current().trace_id
        if not trace_id:
            return self._app(environ, start_response)
        self._say_who(environ)

        def started(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            if self._trace_header:
                headers = [*headers, (TRACE_HEADER, trace_id)]
            return start_response(status, headers, *rest)

        return self._app(environ, started)

    @_never_raise
    def _say_who(self, environ: dict[str, Any]) -> None:
        if self._identify is not None:
            rm.current().set(**self._identify(Request(environ)))
