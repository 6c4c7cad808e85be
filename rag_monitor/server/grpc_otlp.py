"""OTLP over gRPC: every call is answered by the HTTP side, in this process.

A call becomes a POST to the ASGI application, and its answer a gRPC status. So keys, limits,
durability and back-pressure are those of HTTP, and there is one place for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

import grpc
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from starlette.types import ASGIApp, Message, Scope

from rag_monitor.errors import ConfigurationError
from rag_monitor.protobuf import rpc_status
from rag_monitor.server.problems import ProblemError
from rag_monitor.telemetry import dropped

_COLLECTOR: Final = "opentelemetry.proto.collector"
_PATHS: Final = {
    f"{_COLLECTOR}.trace.v1.TraceService": "/v1/traces",
    f"{_COLLECTOR}.logs.v1.LogsService": "/v1/logs",
    f"{_COLLECTOR}.metrics.v1.MetricsService": "/v1/metrics",
}
_PASSED_ON: Final = frozenset({"authorization", "x-api-key"})
"""The metadata that the HTTP side reads as headers."""
_MAX_CALLS: Final = 2000
"""Calls at once; as many as HTTP requests."""
_TURN_S: Final = 5.0
"""How long a call may wait to be read; then its sender is told to come again."""
_RETRY_AFTER_S: Final = 5
_CODES: Final[dict[int, grpc.StatusCode]] = {code.value[0]: code for code in grpc.StatusCode}

_Context = grpc.aio.ServicerContext[bytes, bytes]


class GrpcOtlp:
    """The gRPC server. Make it in the event loop.

    Args:
        app: Answers the calls, as POST requests to `/v1/…`.
        max_bytes: Largest message, before and after decompression.
        max_inflight_bytes: Messages that are being read; as large as they may be.
    """

    def __init__(self, app: ASGIApp, *, max_bytes: int, max_inflight_bytes: int) -> None:
        self._app = app
        # gRPC tells the size of a message only once it is in memory, so each that is being read
        # counts as the largest one.
        self._turns = asyncio.Semaphore(max(1, max_inflight_bytes // max_bytes))
        self._calls: set[asyncio.Task[None]] = set()
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", max_bytes),
                ("grpc.so_reuseport", 0),  # else a second server would share the port unnoticed
            )
        )
        self._server.add_generic_rpc_handlers(tuple(self._handlers()))

    def _handlers(self) -> Iterable[grpc.GenericRpcHandler]:
        for service, path in _PATHS.items():
            # On the wire a stream of one message is no different. Here it is: the key is looked at
            # before the message is read.
            export: Any = grpc.stream_unary_rpc_method_handler(partial(self._export, path))
            yield grpc.method_handlers_generic_handler(service, {"Export": export})

    def bind(self, host: str, port: int) -> int:
        """Take the port; 0: any that is free. Returns its number.

        Raises:
            ConfigurationError: It cannot be taken.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            return self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise ConfigurationError(str(error)) from None

    async def start(self) -> None:
        """Answer calls from now on."""
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Take no more calls; those that have begun may take this long to end."""
        await self._server.stop(grace_s)

    async def _answer(self, scope: Scope, exchange: _Exchange) -> None:
        await self._app(scope, exchange.receive, exchange.send)

    async def _export(self, path: str, requests: object, context: _Context) -> bytes:
        del requests
        if len(self._calls) >= _MAX_CALLS:
            dropped("server", "too_many_requests")
            busy = rpc_status(14, "Too many calls at once; send it again in a few seconds.")
            await _refuse(context, _Answer(503, busy, _RETRY_AFTER_S))
        exchange = _Exchange(context, self._turns)
        answering = asyncio.create_task(self._answer(_scope(path, context), exchange))
        self._calls.add(answering)
        answering.add_done_callback(self._calls.discard)
        try:
            await asyncio.shield(answering)
        except asyncio.CancelledError:
            # The sender has gone. What it has sent is stored all the same, as over HTTP.
            if not exchange.read:
                answering.cancel()
            raise
        answer = exchange.answer
        if answer.status != HTTPStatus.OK:
            await _refuse(context, answer)
        return answer.body


@dataclass(slots=True)
class _Answer:
    """What the application has answered."""

    status: int = HTTPStatus.SERVICE_UNAVAILABLE
    body: bytes = b""
    """Unless the status is 200, a `google.rpc.Status`."""
    retry_after_s: int | None = None


@dataclass(slots=True)
class _Exchange:
    """The two ends of a call, as an ASGI application wants them."""

    context: _Context
    turns: asyncio.Semaphore
    read: bool = False
    """Whether the message is here."""
    answer: _Answer = field(default_factory=_Answer)

    async def receive(self) -> Message:
        """The message as the one piece of a body."""
        if self.read:
            return {"type": "http.disconnect"}
        try:
            await asyncio.wait_for(self.turns.acquire(), _TURN_S)
        except TimeoutError:
            dropped("server", "too_much_in_flight")
            raise ProblemError(
                503,
                "Too many messages are being read at once; send it again in a few seconds.",
                kind="overloaded",
                headers={"Retry-After": str(_RETRY_AFTER_S)},
            ) from None
        try:
            message: Any = await self.context.read()
        finally:
            self.turns.release()
        self.read = True
        if not isinstance(message, bytes):
            # None was sent; or gRPC has refused it already (too large, badly compressed), and its
            # own status stands.
            dropped("server", "unreadable_message")
            raise ProblemError(400, "The call holds no message.", kind="malformed-payload")
        return {"type": "http.request", "body": message, "more_body": False}

    async def send(self, message: Message) -> None:
        """Keep what the application answers."""
        answer = self.answer
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            waits = [value for name, value in message["headers"] if name.lower() == b"retry-after"]
            answer.retry_after_s = int(waits[0]) if waits else None
        else:
            answer.body += message.get("body", b"")


async def _refuse(context: _Context, answer: _Answer) -> None:
    """End the call with the status that the answer holds."""
    status = Status.FromString(answer.body)
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        status.code = grpc.StatusCode.UNAVAILABLE.value[0]
    more: list[tuple[str, bytes]] = []
    if answer.retry_after_s is not None:
        retry = RetryInfo()
        retry.retry_delay.FromSeconds(answer.retry_after_s)
        status.details.add().Pack(retry)
        # Where OpenTelemetry's exporter for Python looks.
        more.append(("google.rpc.retryinfo-bin", retry.SerializeToString()))
    more.append(("grpc-status-details-bin", status.SerializeToString()))
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    await context.abort(code, status.message, tuple(more))


def _scope(path: str, context: _Context) -> Scope:
    """The call as a request. `localhost` is a name that every server answers to."""
    headers: list[tuple[bytes, bytes]] = [
        (b"host", b"localhost"),
        (b"content-type", b"application/x-protobuf"),
    ]
    for name, value in context.invocation_metadata() or ():
        if name in _PASSED_ON and isinstance(value, str):
            headers.append((name.encode(), value.encode()))
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "2",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": headers,
        "client": _address(context.peer()),
        "server": None,
    }


def _address(peer: str) -> tuple[str, int]:
    """Host and port of a peer, which gRPC names `ipv4:192.0.2.7:443` or `ipv6:%5B::1%5D:443`."""
    host, _, port = unquote(peer).partition(":")[2].rpartition(":")
    return host.strip("[]"), int(port) if port.isdecimal() else 0
