"""Replies of a judge's server that never end, or unpack to more than anybody reads."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from benchmarks.stub_server import Answer, Body, completion
from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.openai_compatible import create
from rag_monitor.judges.openai_compatible.capabilities import forget
from rag_monitor.judges.openai_compatible.judge import OpenAICompatibleJudge
from rag_monitor.judges.openai_compatible.transport import MAX_REPLY_BYTES
from tests.unit.judges.requests import filled, warranty
from tests.unit.judges.served import FAST, served

HEAD = "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
PART = b" " * 65_536


@asynccontextmanager
async def endless(status: str) -> AsyncIterator[tuple[OpenAICompatibleJudge, list[int]]]:
    """A judge in front of a server that goes on sending white space; and what it sent."""
    sent: list[int] = []
    talking: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        this = asyncio.current_task()
        assert this is not None
        talking.add(this)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD.format(status=status).encode())
            mine = len(sent)
            sent.append(0)
            while sent[mine] < 20 * MAX_REPLY_BYTES:
                writer.write(b"%x\r\n%b\r\n" % (len(PART), PART))
                await writer.drain()
                sent[mine] += len(PART)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    forget()
    judge = create(
        {
            "base_url": f"http://127.0.0.1:{port}/v1",
            "model": "m",
            "limits": FAST,
            "probe_every": 0,
            "scoring_endpoints": False,
        }
    )
    try:
        yield judge, sent
    finally:
        await judge.close()
        server.close()
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
async def test_a_server_that_never_stops_is_not_listened_to_for_long(status: str) -> None:
    async with endless(status) as (judge, sent):
        with pytest.raises(JudgeOutputInvalid, match="longer than 16,777,216 bytes"):
            await judge.judge(warranty())

    assert sent
    assert max(sent) < 2 * MAX_REPLY_BYTES


async def test_a_reply_that_unpacks_to_gigabytes_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * MAX_REPLY_BYTES * 12)

    def script(_path: str, _body: Body) -> Answer:
        return Answer(payload=bomb, headers=(("Content-Encoding", "gzip"),))

    async with served(script) as (judge, _):
        tracemalloc.start()
        try:
            with pytest.raises(JudgeOutputInvalid, match="longer than"):
                await judge.judge(warranty())
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert most < 6 * MAX_REPLY_BYTES, "two halves at a time, each read up to the limit"


async def test_a_packed_reply_is_read() -> None:
    def script(_path: str, body: Body) -> Answer:
        said = completion(json.dumps(filled(body, lambda *_: 0.9)))
        packed = gzip.compress(json.dumps(said).encode())
        return Answer(payload=packed, headers=(("Content-Encoding", "gzip"),))

    async with served(script) as (judge, _):
        judgement = await judge.judge(warranty())

    assert {verdict.probability for verdict in judgement.verdicts} == {0.9}


@pytest.mark.parametrize(
    ("encoding", "said"), [("br", "packed as 'br'"), ("gzip", "not gzip as it says")]
)
async def test_a_reply_packed_otherwise_is_a_failure_that_says_so(encoding: str, said: str) -> None:
    def script(_path: str, _body: Body) -> Answer:
        return Answer(payload=b"no such thing", headers=(("Content-Encoding", encoding),))

    async with served(script) as (judge, _):
        with pytest.raises(JudgeOutputInvalid, match=said):
            await judge.judge(warranty())
