"""ASGI middleware that stands before every route: last resort, bodies, security headers.

Refusals happen before a body is kept, so that a refused sender costs next to nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as Event

from rag_monitor.config.options import HttpOptions
from rag_monitor.i18n import Message, msgid
from rag_monitor.server.problems import Problem, ProblemError, is_otlp, refuse
from rag_monitor.telemetry import dropped

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
TRACES_PATH: Final = "/api/v1/traces"
SMALL_BODY_BYTES: Final = 1024 * 1024
_WHOLE_BODY: Final = 10
"""A body may take this many times the longest pause; a drip must not hold its place for ever."""
_DRAIN_S: Final = 5.0
_DRAIN_FACTOR: Final = 4
"""An oversized body is read to its end for at most this long and this many times the limit."""

logger = logging.getLogger(__name__)


class LastResort:
    """Outermost: adds the security headers, and turns whatever escapes into a 503 problem."""

    def __init__(self, app: ASGIApp, answer: Callable[[Request, Exception], Response]) -> None:
        self._app = app
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, whatever happens inside."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            # Servers leave the body of an answer to HEAD away by themselves.
            current_scope, scope = scope, {**scope, "method": "GET"}
        else:
            current_scope = scope
        started = False

        async def guarded(message: Event) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                _secure(MutableHeaders(scope=message), scope["path"])
            await send(message)

        try:
            await self._app(scope, receive, guarded)
        except Exception as error:
            if started:
                logger.exception("a response broke off")
                raise
            await self._answer(Request(scope), error)(scope, receive, guarded)
        finally:
            if "route" in scope:  # for whoever stands before us
                current_scope["route"] = scope["route"]


def _secure(headers: MutableHeaders, path: str) -> None:
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    if not path.startswith("/static/"):
        headers.setdefault("Cache-Control", "no-store")


class BodyLimit:
    """Caps one body, all bodies in flight, and the pause between two pieces of a body."""

    def __init__(self, app: ASGIApp, options: HttpOptions) -> None:
        self._app = app
        self._largest = options.max_body_bytes
        self._max_inflight = options.max_inflight_bytes
        self._timeout_s = options.body_timeout_s
        self._inflight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse by the declared length first, then count what really comes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "0")
        most = self._most(scope["path"])
        length = int(declared) if declared.isdecimal() and len(declared) < 19 else most + 1
        if length > most:
            if headers.get("expect", "").lower() != "100-continue":  # else nothing is on its way
                await self._drain(receive)
            await refuse(self._too_large(most), scope, receive, send)
            return
        body = _Body(self, receive, most)
        try:
            await self._app(scope, body.receive, send)
        except ProblemError as error:
            if error.problem.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                await self._drain(receive)
            await refuse(error.problem, scope, receive, send)
        finally:
            self._inflight -= body.held

    def _most(self, path: str) -> int:
        """The largest body of this address: only traces are large.

        Other bodies are read before the key is looked at, so they must be cheap to read.
        """
        if is_otlp(path) or path == TRACES_PATH:
            return self._largest
        return min(self._largest, SMALL_BODY_BYTES)

    async def _drain(self, receive: Receive) -> None:
        """Read what is still coming and keep none of it, within bounds.

        A sender that is cut off in the middle of its body sees a reset connection, not the answer,
        and would send the same body again.
        """
        seen = 0
        with anyio.move_on_after(_DRAIN_S):
            while seen < _DRAIN_FACTOR * self._largest:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                seen += len(message.get("body", b""))

    def _too_large(self, most: int) -> Problem:
        dropped("server", "body_too_large")
        text = msgid("The body is larger than {most} bytes. Send it in smaller parts.")
        if most == self._largest:
            text = msgid(
                "The body is larger than {most} bytes. Send it in smaller parts, or raise "
                "`http.max_body_bytes`."
            )
        return Problem(
            status=413,
            kind="payload-too-large",
            detail=Message(text, most=most),
            headers={"Connection": "close"},
        )

    def admit(self, held: int, more: int, most: int) -> None:
        """Take `more` bytes of a body of which `held` are here, or raise the refusal."""
        if held + more > most:
            raise ProblemError(
                413,
                (problem := self._too_large(most)).detail,
                kind=problem.kind,
                headers=problem.headers,
            )
        if self._inflight + more > self._max_inflight:
            dropped("server", "too_much_in_flight")
            raise ProblemError(
                503,
                "Too many request bodies are being read at once; send it again in a few seconds.",
                kind="overloaded",
                headers={"Retry-After": "5", "Connection": "close"},
            )
        self._inflight += more

    async def next(self, receive: Receive, begun: float) -> Event:
        """The next piece, or the refusal when it (or the body begun then) takes too long."""
        left = begun + _WHOLE_BODY * self._timeout_s - anyio.current_time()
        with anyio.move_on_after(min(self._timeout_s, left)):
            return await receive()
        dropped("server", "body_timeout")
        raise ProblemError(
            408,
            "The rest of the body did not come within {seconds:g} s.",
            seconds=self._timeout_s,
            kind="body-timeout",
            headers={"Connection": "close"},
        )


class _Body:
    """One request's body on its way in."""

    def __init__(self, limit: BodyLimit, receive: Receive, most: int) -> None:
        self._limit = limit
        self._most = most
        self._receive = receive
        self._complete = False
        self._begun = anyio.current_time()
        self.held = 0

    async def receive(self) -> Event:
        if self._complete:
            return await self._receive()
        message = await self._limit.next(self._receive, self._begun)
        if message["type"] == "http.request":
            more = len(message.get("body", b""))
            self._limit.admit(self.held, more, self._most)
            self.held += more
            self._complete = not message.get("more_body", False)
        return message
