"""A host that is under stress, and a network that is not to be trusted."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import rag_monitor as rm
from rag_monitor.sdk import client as sdk_client
from rag_monitor.sdk.asgi import RagMonitorMiddleware
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.record import CURRENT, NULL
from rag_monitor.testing import InMemoryExporter
from tests.otlp_sink import _records
from tests.unit.sdk.conftest import BadServer

OK = (200, {}, b"")
MakeServer = Callable[..., BadServer]


def make(count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        with rm.trace(question=f"q{number}"):
            pass


def questions(server: BadServer, accepted: list[int]) -> list[str]:
    bodies = [server.requests[number][2] for number in accepted]
    return [record["question"] for body in bodies for record in _records(body)]


def test_a_flapping_server_gets_everything_exactly_once(bad_server: MakeServer) -> None:
    accepted: list[int] = []

    def every_other(server: BadServer, _: bytes) -> tuple[int, dict[str, str], bytes]:
        if len(server.requests) % 2:
            return 503, {"Retry-After": "0"}, b""
        accepted.append(len(server.requests) - 1)
        return 200, {}, b""

    server = bad_server(every_other)
    rm.configure(endpoint=server.url, interval_s=0.01)
    for start in range(0, 50, 10):
        make(10, start)
        assert rm.flush(5)

    assert sorted(questions(server, accepted)) == sorted(f"q{n}" for n in range(50))
    stats: Any = rm.stats()
    assert (stats["produced"], stats["delivered"], stats["dropped"]) == (50, 50, {})


def test_a_lost_acknowledgement_sends_the_same_bytes_again(bad_server: MakeServer) -> None:
    def first_lost(server: BadServer, _: bytes) -> tuple[int, dict[str, str], bytes]:
        return (503 if len(server.requests) == 1 else 200), {"Retry-After": "0"}, b""

    server = bad_server(first_lost)
    rm.configure(endpoint=server.url)
    make(3)
    assert rm.flush(5)

    bodies = [body for _, _, body, _ in server.requests]
    assert len(bodies) == 2
    assert bodies[0] == bodies[1]  # the store knows it by its digest and keeps one


class Noisy:
    """Calls traced code when it is collected, in whatever state the SDK then is."""

    traced: ClassVar[list[None]] = []
    """One for each that was a trace: inside another one, or on our own thread, it is none."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        outer = CURRENT.get()
        if outer is None or (outer.closed and outer is not NULL):
            Noisy.traced.append(None)
        with rm.trace(question="from the collector"):
            rm.stats()


def test_collection_in_the_middle_of_our_locks_does_not_block(captured: InMemoryExporter) -> None:
    Noisy.traced.clear()
    before, switching = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(1)
    sys.setswitchinterval(1e-5)  # every thread collects in the midst of the others
    try:
        threads = [threading.Thread(target=_stress, args=(captured,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    finally:
        gc.set_threshold(*before)
        sys.setswitchinterval(switching)
    gc.collect()
    assert captured.client.flush(10)
    stats: Any = captured.client.stats()
    assert stats["produced"] == stats["delivered"] == 60 + len(Noisy.traced)


def _stress(captured: InMemoryExporter) -> None:
    for _ in range(20):
        Noisy()
        with rm.trace(question="q"), rm.retrieval() as found:
            found.documents = ["p"]
        captured.client.flush(0.0)


def test_a_signal_at_any_line_of_ours_does_not_block(captured: InMemoryExporter) -> None:
    """A handler that traces and flushes runs between two lines of whatever it interrupts."""
    seen: set[tuple[str, int]] = set()
    before = set(threading.enumerate())

    def interrupt(frame: Any, event: str, _: object) -> Any:
        module = frame.f_globals.get("__name__", "")
        line = (frame.f_code.co_filename, frame.f_lineno)
        if module != "threading" and not module.startswith("rag_monitor."):
            return interrupt
        if event == "line" and line not in seen:
            seen.add(line)
            with rm.trace(question="from the handler"):
                pass
            rm.flush(0.0)
        return interrupt

    def work() -> None:
        sys.settrace(interrupt)
        try:
            make(3)
            rm.flush(5)
        finally:
            sys.settrace(None)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(30)
    assert not worker.is_alive()
    assert len(seen) > 100
    assert rm.flush(10)
    stats: Any = rm.stats()
    assert stats["produced"] == stats["delivered"] > 3
    assert set(threading.enumerate()) - before == {captured.client._sender._thread}


def test_locks_that_were_patched_after_configure_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by gevent in a forked worker: a thread is a greenlet then, and a real lock holds it up."""
    made: list[Any] = []
    real = threading.Lock

    def patched() -> Any:
        made.append(real())
        return made[-1]

    rm.configure(endpoint="http://127.0.0.1:9")
    monkeypatch.setattr(threading, "Lock", patched)
    make(1)

    recorder = sdk_client.active()
    assert recorder is not None
    assert any(lock is recorder._sender._wake_event._unset for lock in made)


def test_waiting_never_raises_into_the_host(
    captured: InMemoryExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a library has replaced locks under a condition's feet."""

    def failing(*_: Any) -> bool:
        raise RuntimeError("cannot wait on un-acquired lock")

    monkeypatch.setattr(GUARD, "strict", False)
    monkeypatch.setattr(captured.client, "flush", failing)
    make(1)

    assert not rm.flush(1)
    assert not rm.shutdown(1)
    assert GUARD.errors == {"flush": 2}
    monkeypatch.undo()


async def test_headers_from_outside_change_no_setting(captured: InMemoryExporter) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"answer"})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'{"question": "q?"}', "more_body": False}

    async def send(_: Any) -> None:
        return

    headers = [
        (b"content-type", b"application/json"),
        (b"traceparent", b"00-" + b"f" * 4096 + b"-00"),
        (b"tracestate", b"rag_monitor=off"),
        (b"baggage", b"rag_monitor.endpoint=http://attacker.example,sampled=0,project=other"),
    ]
    before = captured.client.options
    scope = {"type": "http", "method": "POST", "path": "/chat", "headers": headers}
    await RagMonitorMiddleware(app)(scope, receive, send)

    assert captured.client.options == before
    (record,) = captured.records
    assert record["question"] == "q?"
    assert len(record["trace_id"]) == 32
    assert "attacker" not in str(record)


@pytest.mark.parametrize("value", ["0", "0.001", "-5", "Sun, 06 Nov 1994 08:49:37 GMT"])
def test_a_server_that_says_at_once_for_ever_is_not_hammered(
    bad_server: MakeServer, value: str
) -> None:
    server = bad_server(lambda *_: (429, {"Retry-After": value}, b""))
    rm.configure(endpoint=server.url, interval_s=0.01)
    make(1)

    assert not rm.flush(1.5)
    assert 1 <= len(server.requests) <= 6


def test_a_page_with_status_200_is_no_acknowledgement(
    bad_server: MakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A proxy's word on maintenance, or another service at the endpoint: nothing was stored."""

    def portal(server: BadServer, _: bytes) -> tuple[int, dict[str, str], bytes]:
        page = (
            200,
            {"Content-Type": "text/html; charset=utf-8"},
            b"<html>We are back soon.</html>",
        )
        return page if len(server.requests) == 1 else OK

    server = bad_server(portal)
    rm.configure(endpoint=server.url)
    make(3)

    assert rm.flush(5)
    assert (rm.stats()["delivered"], len(server.requests)) == (3, 2)
    assert "a web page answers" in caplog.text
