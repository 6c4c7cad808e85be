"""The socket that the server listens on."""

from __future__ import annotations

import asyncio
import socket

import pytest

from rag_monitor.errors import ConfigurationError
from rag_monitor.server.run import _bind


async def test_answers_are_sent_at_once() -> None:
    """asyncio does so only for sockets that say they are TCP; else each waits for an ACK."""
    listener = _bind("127.0.0.1", 0)
    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        connection = writer.get_extra_info("socket")
        seen.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async with await asyncio.start_server(accept, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        assert await seen != 0
        writer.close()
        await writer.wait_closed()


async def test_a_taken_port_is_named() -> None:
    with _bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=str(port)):
            _bind("127.0.0.1", port)
