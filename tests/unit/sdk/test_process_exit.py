"""Ends of a process that `atexit` never sees."""

from __future__ import annotations

import gc
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk import client
from rag_monitor.sdk.asgi import RagMonitorMiddleware
from rag_monitor.sdk.client import server_stops
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.outcome import Outcome
from rag_monitor.sdk.recorder import Recorder
from rag_monitor.sdk.transport import Transport
from rag_monitor.testing import InMemoryExporter
from tests.otlp_sink import _records
from tests.unit.sdk.conftest import BadServer

ROOT = Path(__file__).resolve().parents[3]
OK = (200, {}, b"")
MakeServer = Callable[..., BadServer]

CHILD = """
import sys
{before}
import rag_monitor as rm
rm.configure(endpoint={url!r}, interval_s=60, exit_timeout_s={bound}, spool_dir={spool!r})

@rm.trace
def answer(question):
    return 'yes'

def fails(question):
    answer(question)
    raise SystemExit(3)

if __name__ == '__main__':
    import multiprocessing as mp
    from concurrent.futures import ProcessPoolExecutor
    context = mp.get_context({method!r})
{work}
"""
PROCESS = """
    for function in (answer, fails):
        child = context.Process(target=function, args=(function.__name__,))
        child.start(); child.join()
"""
POOL = """
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        list(pool.map(answer, ['answer', 'fails']))
"""


def run(
    folder: Path,
    url: str,
    method: str,
    work: str,
    before: str = "",
    spool: Path | None = None,
    bound: float = 5.0,
) -> None:
    file = folder / "children.py"
    given = None if spool is None else str(spool)
    file.write_text(
        CHILD.format(url=url, method=method, work=work, before=before, spool=given, bound=bound)
    )
    subprocess.run(
        [sys.executable, file], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=60
    )


def questions(server: BadServer) -> list[str]:
    bodies = [body for _, path, body, _ in server.requests if path == "/v1/traces"]
    return sorted(record["question"] for body in bodies for record in _records(body))


@pytest.mark.parametrize("before", ["", "import multiprocessing.util"])
@pytest.mark.parametrize("work", [PROCESS, POOL])
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_child_of_multiprocessing_sends_its_last_traces(
    bad_server: MakeServer, tmp_path: Path, method: str, work: str, before: str
) -> None:
    server = bad_server(lambda *_: OK)
    run(tmp_path, server.url, method, work, before)

    assert questions(server) == ["answer", "fails"]


def test_a_child_leaves_to_the_spool_what_does_not_arrive(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    start = time.monotonic()
    run(tmp_path, "http://127.0.0.1:9", "fork", PROCESS, spool=spool, bound=6.0)

    assert time.monotonic() - start < 14  # 5.5 at the exit of the parent, little per child
    assert len(list(spool.rglob("*.spans"))) == 2


def test_multiprocessing_is_not_imported_for_this(tmp_path: Path) -> None:
    code = (
        "import rag_monitor as rm, os, sys, json\n"
        "rm.configure()\n"
        "pid = os.fork()\n"
        "if pid: os.waitpid(pid, 0)\n"
        "else: print(json.dumps([n for n in sys.modules if n.startswith('multiproc')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert json.loads(done.stdout) == []


SERVER = """
import asyncio, uvicorn
from contextlib import asynccontextmanager
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
import rag_monitor as rm
from rag_monitor.sdk.asgi import RagMonitorMiddleware
rm.configure(endpoint={url!r}, interval_s=60)

async def chat(request):
    await request.body()
    return JSONResponse({{'answer': 'yes'}})

@asynccontextmanager
async def lifespan(app):
    yield
    with rm.trace(question='at the end'):
        pass

app = Starlette(routes=[Route('/chat', chat, methods=['POST'])], lifespan=lifespan)
app.add_middleware(RagMonitorMiddleware)
uvicorn.run(app, port={port}, log_level='critical')
"""


REFUSING = """
import uvicorn
import rag_monitor as rm
from rag_monitor.sdk.asgi import RagMonitorMiddleware
rm.configure(endpoint={url!r}, interval_s=60)

async def app(scope, receive, send):
    if scope['type'] != 'http':
        raise ValueError('only http')
    await receive()
    await send({{'type': 'http.response.start', 'status': 200, 'headers': []}})
    await send({{'type': 'http.response.body', 'body': b'yes'}})

uvicorn.run(RagMonitorMiddleware(app), port={port}, log_level='critical')
"""


@pytest.mark.parametrize(
    ("code", "asked"), [(SERVER, ["at the end", "q?"]), (REFUSING, ["q?"])], ids=["own", "refused"]
)
def test_a_server_that_dies_of_its_signal_flushes_before(
    bad_server: MakeServer, code: str, asked: list[str]
) -> None:
    server = bad_server(lambda *_: OK)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", code.format(url=server.url, port=port)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        _ask(port)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM  # it runs nothing at exit
    finally:
        process.kill()
        process.wait()

    assert questions(server) == asked


def _ask(port: int) -> None:
    until = time.monotonic() + 30
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("POST", "/chat", b'{"question": "q?"}')
            assert connection.getresponse().status == 200
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.1)
        else:
            return
        finally:
            connection.close()


async def _lifespan_ends() -> float:
    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "lifespan.shutdown.complete"})

    async def nothing(*_: Any) -> None:
        return

    start = time.monotonic()
    await RagMonitorMiddleware(app)({"type": "lifespan"}, nothing, nothing)
    return time.monotonic() - start


async def test_the_end_of_a_lifespan_hardly_waits_for_a_monitor_that_is_away() -> None:
    rm.configure(endpoint="http://127.0.0.1:9", exit_timeout_s=20)
    assert await _lifespan_ends() < 1.5  # nothing waits
    with rm.trace(question="q"):
        pass

    assert await _lifespan_ends() < 10
    assert await _lifespan_ends() < 10


@pytest.mark.parametrize("attempt_s", [0.1, 0.3, 0.45, 0.6, 1.0])
def test_an_attempt_under_way_when_patience_ends_does_not_cost_the_whole_time(
    monkeypatch: pytest.MonkeyPatch, attempt_s: float
) -> None:
    def post(*_: Any) -> Outcome:
        time.sleep(attempt_s)
        return Outcome(0)

    monkeypatch.setattr(Transport, "post", post)
    recorder = Recorder(Options())
    client.install(recorder)
    with rm.trace(question="q"):
        pass

    start = time.monotonic()
    assert not recorder.flush_last(20)
    assert time.monotonic() - start < 10


def test_one_attempt_without_an_answer_does_not_cost_a_monitor_that_answers_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes = iter([Outcome(200)] * 3 + [Outcome(0)] + [Outcome(200)] * 100)

    def post(*_: Any) -> Outcome:
        time.sleep(0.3)
        return next(outcomes)

    monkeypatch.setattr(Transport, "post", post)
    recorder = Recorder(Options(max_batch_bytes=1))
    client.install(recorder)
    for _ in range(8):
        with rm.trace(question="q"):
            pass

    assert recorder.flush_last(30)


def _serving(*kinds: str) -> tuple[Any, Any, list[str]]:
    """A server that says `kinds` of messages, and what it was told."""
    messages = iter([{"type": kind} for kind in kinds])
    told: list[str] = []

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: Any) -> None:
        told.append(message["type"])

    return receive, send, told


@pytest.mark.parametrize("raising", [True, False])
async def test_a_lifespan_that_is_refused_has_a_stand_in(raising: bool) -> None:
    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        if raising:
            raise ValueError(f"no {scope['type']} here")

    receive, send, told = _serving("lifespan.startup", "lifespan.shutdown")
    await RagMonitorMiddleware(app)({"type": "lifespan"}, receive, send)

    assert told == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_a_lifespan_that_fails_fails_as_before() -> None:
    async def app(_: Any, receive: Any, __: Any) -> None:
        await receive()
        raise ValueError("no database")

    receive, send, told = _serving("lifespan.startup", "lifespan.shutdown")
    with pytest.raises(ValueError, match="no database"):
        await RagMonitorMiddleware(app)({"type": "lifespan"}, receive, send)

    assert told == []


def test_a_recorder_that_is_closed_is_not_waited_for(tmp_path: Path) -> None:
    """Its spool may still hold what a dead process left; nobody looks any more."""
    recorder = Recorder(Options(spool_dir=str(tmp_path)))
    recorder.close(0.0)

    start = time.monotonic()
    assert recorder.flush(30)
    assert time.monotonic() - start < 10


async def test_streams_that_nobody_reads_any_more_are_flushed_with_the_rest(
    captured: InMemoryExporter,
) -> None:
    def answering() -> Iterator[str]:
        with rm.trace(question="q"):
            yield "one"
            yield "two"

    gc.collect()
    gc.disable()
    try:
        cycle: list[Any] = [answering()]
        next(cycle[0])
        cycle.append(cycle)
        del cycle
        await server_stops({"type": "lifespan.shutdown.complete"})
    finally:
        gc.enable()

    assert captured.client.stats()["delivered"] == 1
    assert captured.records[0]["status"] == "abandoned"
