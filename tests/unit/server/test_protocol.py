"""Request heads that are late, endless or odd, on a real socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from rag_monitor import telemetry
from rag_monitor.server.app import create_app
from rag_monitor.server.protocol import BoundedProtocol
from tests.unit.server.fakes import make_services

GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


class Hasty(BoundedProtocol):
    """Ten seconds are long for a test."""

    head_timeout_s = 0.4


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@asynccontextmanager
async def serving(
    listener: socket.socket, protocol: type[BoundedProtocol] = Hasty, **options: object
) -> AsyncIterator[int]:
    config = uvicorn.Config(
        create_app(make_services(**options)),
        http=protocol,
        ws="none",
        log_config=None,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve([listener]))
    try:
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def talk(port: int, *pieces: bytes, pause_s: float = 0.0, within_s: float = 8.0) -> bytes:
    """All the server says until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(within_s):
            for piece in pieces:
                if writer.transport.is_closing():
                    break
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause_s)
            return await reader.read(100_000)
    except (ConnectionError, BrokenPipeError):
        return b"reset"
    finally:
        writer.close()


class Crowded(BoundedProtocol):
    """Few connections are enough for a test."""

    max_connections = 20


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _idle(port: int, host: str = "127.0.0.1") -> Streams:
    """A connection that asks nothing."""
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(host, 0))


@pytest.mark.parametrize("begun", [b"", GET, GET + b"\r\n"], ids=["silent", "half a head", "kept"])
async def test_one_address_full_of_idle_connections_keeps_nobody_out(
    listener: socket.socket, begun: bytes
) -> None:
    counted = telemetry.DROPPED.labels(stage="server", reason="idle_connection")._value
    before = counted.get()
    async with serving(listener, Crowded) as port:
        others = [await _idle(port, "127.0.0.2") for _ in range(3)]
        crowd = []
        for _ in range(60):
            crowd.append(await _idle(port))
            crowd[-1][1].write(begun)
        await asyncio.sleep(0.1)
        answers = [await talk(port, GET, b"Connection: close\r\n\r\n") for _ in range(5)]
        for reader, writer in others:
            writer.write(GET + b"Connection: close\r\n\r\n")
            answers.append(await reader.read(100_000))
        for _, writer in (*crowd, *others):
            writer.close()

    # Eight: those of the others are among them, for who holds few connections loses none.
    assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 200 OK"] * 8
    assert counted.get() > before


async def test_a_body_that_is_announced_too_large_is_refused_before_it_is_sent(
    listener: socket.socket,
) -> None:
    head = (
        b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n"
        b"Content-Type: application/json\r\nContent-Length: 999999999\r\n\r\n"
    )
    async with serving(listener) as port:
        answer = await talk(port, head, within_s=3.0)

    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_two_host_headers_are_refused(listener: socket.socket) -> None:
    async with serving(listener) as port:
        answer = await talk(port, GET + b"host: 127.0.0.1\r\nConnection: close\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400 ")


async def test_a_head_that_does_not_come_is_not_waited_for(listener: socket.socket) -> None:
    async with serving(listener) as port:
        silent, half, blank = await asyncio.gather(
            talk(port), talk(port, GET), talk(port, *[b"\r\n"] * 30, pause_s=0.05)
        )

    assert (silent, half) == (b"", b"")
    assert blank in {b"", b"reset"}


async def test_a_head_byte_by_byte_is_cut_off(listener: socket.socket) -> None:
    pieces = [bytes([byte]) for byte in GET + b"X: " + b"y" * 100]
    async with serving(listener) as port:
        answer = await talk(port, *pieces, pause_s=0.02)

    assert answer in {b"", b"reset"}


async def test_a_slow_head_in_time_and_one_after_the_other_are_served(
    listener: socket.socket,
) -> None:
    async with serving(listener) as port:
        answer = await talk(port, GET, b"\r\n", GET, b"Connection: close\r\n\r\n", pause_s=0.1)

    assert answer.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize(
    "head",
    [
        GET + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        GET + b"X: " + b"y" * 100_000,
        GET + b"".join(b"X-%d: y\r\n" % n for n in range(1000)) + b"\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["one long header", "one that does not end", "a thousand headers", "a long address"],
)
async def test_heads_over_the_bounds_are_refused_with_431(
    listener: socket.socket, head: bytes
) -> None:
    async with serving(listener) as port:
        answer = await talk(port, head)

    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b"reset"


@pytest.mark.parametrize(
    "request_",
    [
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        GET + b"X: a\rb\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
    ],
    ids=["two lengths", "bad chunk", "CR in header", "two content lengths", "TLS"],
)
async def test_smuggled_requests_are_refused_and_the_connection_closed(
    listener: socket.socket, request_: bytes
) -> None:
    async with serving(listener) as port:
        answer = await talk(port, request_)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") <= 2


async def test_a_body_that_stops_is_a_408_and_the_connection_ends(
    listener: socket.socket,
) -> None:
    head = (
        b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{"
    )
    async with serving(listener, body_timeout_s=0.2) as port:
        answer = await talk(port, head)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":4' in answer.replace(b" ", b"")
