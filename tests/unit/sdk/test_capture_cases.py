"""Cases that public reports of tracing tools describe, each with the value that is right."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk import asgi, wsgi
from rag_monitor.testing import InMemoryExporter
from tests.otlp_sink import OtlpSink, _records
from tests.unit.sdk.conftest import BadServer

ROOT = Path(__file__).resolve().parents[3]
ASKED = "How long is the warranty?"
LONG = "保修期为二十四个月。🙂"
SECRET = "Bearer opaque-4c1d77"


@pytest.mark.parametrize("kind", ["annotated", "default"])
def test_s01_a_bearer_token_is_never_the_question(captured: InMemoryExporter, kind: str) -> None:
    fastapi = pytest.importorskip("fastapi", reason="needs fastapi")
    security = pytest.importorskip("fastapi.security", reason="needs fastapi")
    from fastapi.testclient import TestClient

    bearer = security.OAuth2PasswordBearer(tokenUrl="t")

    async def annotated(token: str, question: str) -> dict[str, str]:
        return {"answer": "24 months"}

    async def default(question: str, token: str = fastapi.Depends(bearer)) -> dict[str, str]:
        return {"answer": "24 months"}

    annotated.__annotations__["token"] = Annotated[str, fastapi.Depends(bearer)]
    app = fastapi.FastAPI()
    app.get("/ask")(rm.trace(annotated if kind == "annotated" else default))
    TestClient(app).get("/ask", params={"question": ASKED}, headers={"Authorization": SECRET})

    assert captured.records[0]["question"] == ASKED


def test_s01_headers_and_paths_of_fastapi_are_never_the_question(
    captured: InMemoryExporter,
) -> None:
    fastapi = pytest.importorskip("fastapi", reason="needs fastapi")
    from fastapi.testclient import TestClient

    def ask(tenant: str, trace_header: str, said: str) -> dict[str, str]:
        return {"answer": "24 months"}

    ask.__annotations__ = {
        "tenant": Annotated[str, fastapi.Path()],
        "trace_header": Annotated[str, fastapi.Header()],
        "said": Annotated[str, fastapi.Query()],
    }
    app = fastapi.FastAPI()
    app.get("/{tenant}/ask")(rm.trace(ask))
    headers = {"trace-header": "opaque"}
    TestClient(app).get("/acme/ask", params={"said": ASKED}, headers=headers)

    assert captured.records[0]["question"] == ASKED


def test_s01_what_flask_took_from_the_path_is_never_the_question(
    captured: InMemoryExporter,
) -> None:
    flask = pytest.importorskip("flask", reason="needs flask")
    app = flask.Flask("test")

    @app.get("/ask/<product>")
    @rm.trace
    def ask(product: str) -> str:
        return "24 months"

    app.test_client().get("/ask/kettle")

    assert captured.records[0].get("question") is None


def halves(text: str, size: int = 2) -> list[bytes]:
    data = text.encode()
    return [data[place : place + size] for place in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
async def test_s03_bytes_split_inside_a_character_are_the_text(
    captured: InMemoryExporter, size: int, wrap: Callable[[bytes], Any]
) -> None:
    pieces = [wrap(piece) for piece in halves(LONG, size)]

    @rm.trace
    def plain(question: str) -> Iterator[Any]:
        yield from pieces

    @rm.trace
    async def asynchronous(question: str) -> AsyncIterator[Any]:
        for piece in pieces:
            yield piece

    @rm.trace(answer=lambda piece: piece["raw"])
    def extracted(question: str) -> Iterator[Any]:
        yield from ({"raw": piece} for piece in pieces)

    assert list(plain(ASKED)) == pieces
    assert [piece async for piece in asynchronous(ASKED)] == pieces
    list(extracted(ASKED))

    assert [r["answer"] for r in captured.records] == [LONG] * 3
    assert all(r["timings"]["first_byte_ms"] for r in captured.records)


def test_s03_events_in_pieces_of_any_size_are_read(captured: InMemoryExporter) -> None:
    body = "".join(f"data: {json.dumps({'answer': one})}\n\n" for one in LONG)

    @rm.trace
    def proxied(question: str) -> Iterator[bytes]:
        yield from halves(body)

    list(proxied(ASKED))

    assert captured.records[0]["answer"] == LONG
    assert captured.records[0]["timings"]["first_byte_ms"] > 0


@pytest.mark.parametrize("pieces", [["id", "eal"], ["d", "one"], [":", ")"], ["e"]])
def test_s03_a_text_that_begins_like_an_event_is_a_text(
    captured: InMemoryExporter, pieces: list[str]
) -> None:
    @rm.trace
    def handler(question: str) -> Iterator[str]:
        yield from pieces

    list(handler(ASKED))

    assert captured.records[0]["answer"] == "".join(pieces)
    assert captured.records[0]["timings"]["first_byte_ms"] > 0


async def test_s03_bodies_of_servers_are_split_anywhere(captured: InMemoryExporter) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        kind = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        for piece in halves(LONG):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def nothing(*_: Any) -> Any: ...

    scope = {"type": "http", "path": "/chat", "method": "POST"}
    await asgi.RagMonitorMiddleware(app)(scope, nothing, nothing)
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/chat"}
    list(wsgi.RagMonitorMiddleware(lambda _environ, _start: halves(LONG))(environ, lambda *_: None))

    assert [r["answer"] for r in captured.records] == [LONG] * 2


def test_s03_a_body_that_was_cut_ends_with_a_whole_character(captured: InMemoryExporter) -> None:
    long = "期" * 400_000  # of 3 bytes each, which do not divide the limit
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/chat"}
    app = wsgi.RagMonitorMiddleware(lambda _environ, _start: [long.encode()])
    list(app(environ, lambda *_: None))

    assert set(captured.records[0]["answer"]) == {"期"}


POOL = """
import multiprocessing, os, sys, types
import rag_monitor as rm
rm.configure(endpoint={url!r}, interval_s=60)

@rm.trace
def answer(question):
    return "24 months"

class Worker:  # as that of a billiard pool
    def __init__(self, said):
        self.on_exit = said
    def __call__(self):
        answer("recycled")
        if self.on_exit is not None:
            self.on_exit(os.getpid(), 0)
        os._exit(0)

process = types.ModuleType("billiard.process")
process.current_process = multiprocessing.current_process
sys.modules["billiard.process"] = process
for said in (None, lambda pid, code: answer("on exit")):
    child = multiprocessing.get_context("fork").Process(target=Worker(said))
    child.start(); child.join()
"""


def test_s05_a_recycled_worker_of_a_billiard_pool_sends_its_traces(
    bad_server: Callable[..., BadServer],
) -> None:
    server = bad_server(lambda *_: (200, {}, b""))
    subprocess.run(
        [sys.executable, "-c", POOL.format(url=server.url)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=60,
    )

    sent = [body for _, path, body, _ in server.requests if path == "/v1/traces"]
    questions = sorted(record["question"] for body in sent for record in _records(body))
    assert questions == ["on exit", "recycled", "recycled"]


def test_s05_celery_recycles_its_workers_and_every_trace_arrives(tmp_path: Path) -> None:
    pytest.importorskip("celery", reason="needs celery")
    tasks = tmp_path / "tasks_of_a_test.py"
    tasks.write_text(
        "import os\nfrom celery import Celery\nimport rag_monitor as rm\n"
        "rm.configure(endpoint=os.environ['SINK'])\n"
        "options = {'data_folder_in': 'queue', 'data_folder_out': 'queue'}\n"
        "os.makedirs('queue', exist_ok=True)\n"
        "app = Celery('t', broker='filesystem://', broker_transport_options=options)\n"
        "@app.task\n@rm.trace\ndef answer(question):\n    return '24 months'\n"
    )
    with OtlpSink() as sink:
        env = {**os.environ, "SINK": sink.url, "PYTHONPATH": f"{ROOT}:{tmp_path}"}
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "tasks_of_a_test", "worker", "-c", "2",
             "--pool=prefork", "--max-tasks-per-child=1", "-l", "ERROR"],
            env=env, cwd=tmp_path,
        )  # fmt: skip
        send = "import tasks_of_a_test as t\nfor n in range(6): t.answer.delay(f'q{n}')"
        subprocess.run([sys.executable, "-c", send], env=env, cwd=tmp_path, check=True)
        for _ in range(300):
            if len(sink.records) == 6:
                break
            threading.Event().wait(0.1)
        worker.terminate()
        worker.wait(30)
        assert len(sink.records) == 6


def search(base: str) -> str:
    with rm.retrieval(knowledge_base=base) as found:
        found.documents = [base]
    return base


def bases(captured: InMemoryExporter) -> list[str]:
    return sorted(one["knowledge_base"] for one in captured.records[0].get("retrievals", []))


def test_s09_steps_in_a_thread_pool_are_in_the_trace(captured: InMemoryExporter) -> None:
    @rm.trace
    def handler(question: str) -> str:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(rm.copy_context(search), ["a", "b", "c", "d"]))
            pool.submit(rm.copy_context().run, search, "e").result()
        thread = threading.Thread(target=rm.copy_context(search), args=("f",))
        thread.start()
        thread.join()
        return "24 months"

    handler(ASKED)

    assert bases(captured) == ["a", "b", "c", "d", "e", "f"]


def test_s09_pools_and_threads_follow_by_themselves_when_they_are_to() -> None:
    submit, start = ThreadPoolExecutor.submit, threading.Thread.start
    with ThreadPoolExecutor(2) as pool, InMemoryExporter(follow_threads=True) as captured:

        @rm.trace
        def handler(question: str) -> str:
            list(pool.map(search, ["a", "b"]))
            thread = threading.Thread(target=search, args=("c",))
            thread.start()
            thread.join()
            assert "run" not in vars(thread)
            asyncio.run(later())
            return "24 months"

        async def later() -> None:
            await asyncio.get_running_loop().run_in_executor(pool, search, "d")

        handler(ASKED)
        assert pool.submit(rm.current).result().trace_id == ""  # of no trace, nor of the last
        assert bases(captured) == ["a", "b", "c", "d"]
    rm.shutdown(0.0)
    from rag_monitor.sdk.client import install

    install(None)
    assert (ThreadPoolExecutor.submit, threading.Thread.start) == (submit, start)


def test_s09_a_pool_that_follows_gives_back_results_and_errors() -> None:
    def fails() -> None:
        raise LookupError("lost")

    with InMemoryExporter(follow_threads=True), ThreadPoolExecutor(1) as pool:
        assert pool.submit(max, 1, 2, key=lambda n: -n).result() == 1
        with pytest.raises(LookupError, match="lost"):
            pool.submit(fails).result()
