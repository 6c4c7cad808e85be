"""ASGI middleware: one trace per request, without code in the handlers. Imports no framework.

app.add_middleware(RagMonitorMiddleware, paths=["/chat"])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from rag_monitor.sdk.client import prepare, server_stops
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.request_scope import RequestOptions, RequestScope, open_request

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class RagMonitorMiddleware:
    """Wraps an ASGI application.

    Args:
        app: The application.
        **options: Fields of `RequestOptions`: `paths`, `question_keys`, `question`,
            `answer_keys`.
    """

    def __init__(self, app: App, **options: Any) -> None:
        self.app = app
        self._options = RequestOptions(**options)
        prepare()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection; anything but a wanted HTTP request passes untouched."""
        if scope.get("type") == "lifespan":
            await _Lifespan(receive, send).serve(self.app, scope)
            return
        request = self._open(scope)
        if request is None:
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(request, receive, send)
        request.scope.resume()
        try:
            await self.app(scope, exchange.receive, exchange.send)
        except BaseException as error:
            request.scope.pause()
            request.ends(error, cancelled=exchange.disconnected)
            raise
        request.scope.pause()
        request.ends(cancelled=exchange.disconnected and not exchange.complete)

    def _open(self, scope: MutableMapping[str, Any]) -> RequestScope | None:
        try:
            if scope.get("type") != "http":
                return None
            method, path = str(scope.get("method", "")), str(scope.get("path", ""))
            if not self._options.wants(method, path):
                return None
            query_string = bytes(scope.get("query_string") or b"")
            headers = scope.get("headers") or ()
            return open_request(path, self._options, query_string, scope, headers)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("asgi", error)
            return None


class _Lifespan:
    """The application's start and end; flushes before the server hears that it is done.

    An application that refuses it, by raising or returning before it has looked at a message,
    would never hear of the end: we stand in for it.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._refused = True

    async def serve(self, app: App, scope: MutableMapping[str, Any]) -> None:
        try:
            await app(scope, self.receive, self.send)
        except Exception:
            if not self._refused:
                raise
        if self._refused:
            await self._stand_in()

    async def receive(self) -> Message:
        self._refused = False
        return await self._receive()

    async def send(self, message: Message) -> None:
        self._refused = False
        await server_stops(message)
        await self._send(message)

    async def _stand_in(self) -> None:
        for kind in ("lifespan.startup", "lifespan.shutdown"):
            message = await self._receive()
            if message.get("type") != kind:
                return
            await self.send({"type": f"{kind}.complete"})


class _Exchange:
    """Looks at the messages of one request while they pass."""

    def __init__(self, request: RequestScope, receive: Receive, send: Send) -> None:
        self._request = request
        self._receive = receive
        self._send = send
        self.disconnected = False
        self.complete = False

    async def receive(self) -> Message:
        message = await self._receive()
        try:
            if message["type"] == "http.request":
                self._request.took(message.get("body", b""))
            elif message["type"] == "http.disconnect":
                self.disconnected = True
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("asgi", error)
        return message

    async def send(self, message: Message) -> None:
        seen = _copy_of(message)
        try:
            await self._send(message)
        except OSError:  # how servers say that the client is gone
            self.disconnected = True
            raise
        try:
            self._look(seen)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("asgi", error)

    def _look(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message.get("headers", ())
            self._request.begins(
                message["status"],
                _header(headers, b"content-type"),
                _header(headers, b"content-encoding"),
            )
        elif message["type"] == "http.response.body":
            more = bool(message.get("more_body", False))
            self.complete = not more
            if not self.disconnected:
                self._request.gave(message.get("body", b""), more=more)
            if self.complete:  # what the application does from here on, nobody waits for
                self._request.ends(cancelled=self.disconnected)


def _copy_of(message: Message) -> Message:
    """The message as the application sent it: a middleware outside of ours may write into it."""
    try:
        copy = dict(message)
        headers = copy.get("headers")
        if isinstance(headers, list | tuple):  # an iterator would be used up
            copy["headers"] = tuple(headers)
    except Exception as error:  # noqa: BLE001 - the boundary
        GUARD.report("asgi", error)
        return message
    return copy


def _header(headers: Any, header: bytes) -> str:
    for name, value in headers:
        if bytes(name).lower() == header:
            return bytes(value).decode("latin-1")
    return ""
