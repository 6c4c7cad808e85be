"""Our own mistakes on the sending thread: they cost a pause and a batch, never the machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk import sender as sdk_sender
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.spool import Spool
from rag_monitor.sdk.wire import Envelope
from tests.otlp_sink import _records
from tests.unit.sdk.conftest import BadServer

OK = (200, {}, b"")
MakeServer = Callable[..., BadServer]
Wrap = Callable[[Envelope, list[bytes], Mapping[str, int]], bytes]


@pytest.fixture(autouse=True)
def _never_raise(_strict: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in production: internal errors are counted, not raised."""
    monkeypatch.delenv("RAG_MONITOR_STRICT")
    GUARD.strict = False


def ask(question: str) -> None:
    with rm.trace(question=question):
        pass


def _poisoned(monkeypatch: pytest.MonkeyPatch, word: bytes) -> list[float]:
    """Let every batch that holds `word` fail; gives back when that happened."""
    wrap: Wrap = Envelope.wrap
    moments: list[float] = []

    def failing(self: Envelope, spans: list[bytes], dropped: Mapping[str, int]) -> bytes:
        if any(word in span for span in spans):
            moments.append(time.monotonic())
            raise TypeError("no text")
        return wrap(self, spans, dropped)

    monkeypatch.setattr(Envelope, "wrap", failing)
    return moments


def test_a_batch_that_keeps_failing_is_given_up_and_the_others_arrive(
    bad_server: MakeServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sdk_sender, "FIRST_BACKOFF_S", 0.05)
    moments = _poisoned(monkeypatch, b"poison")
    server = bad_server(lambda *_: OK)
    rm.configure(endpoint=server.url, max_batch_bytes=1, interval_s=0.05)
    for question in ("before", "poison", "after"):
        ask(question)

    assert not rm.flush(10)
    assert len(moments) == 3
    stats: Any = rm.stats()
    assert (stats["delivered"], stats["dropped"]) == (2, {"internal_error": 1})
    bodies = [body for _, _, body, _ in server.requests]
    assert [r["question"] for body in bodies for r in _records(body)] == ["before", "after"]
    assert len([r for r in caplog.records if "gave up" in r.message]) == 1
    assert b'{"internal_error": 1}' in bodies[-1]  # and the server is told


def test_an_internal_error_pauses_the_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = _poisoned(monkeypatch, b"poison")
    rm.configure(endpoint="http://127.0.0.1:9", interval_s=0.01)
    ask("poison")

    until = time.monotonic() + 20
    while not rm.stats()["dropped"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    first, second, third = moments
    assert second - first > 0.2
    assert third - second > 0.4
    assert GUARD.errors == {"sender": 3}


@pytest.mark.parametrize("method", ["save", "remove", "adopt"])
def test_a_mistake_in_the_spool_loses_nothing(
    bad_server: MakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, method: str
) -> None:
    def failing(*_: Any) -> None:
        raise TypeError("no file")

    server = bad_server(lambda *_: OK)
    monkeypatch.setattr(Spool, method, failing)
    rm.configure(endpoint=server.url, spool_dir=str(tmp_path))
    ask("q")

    assert rm.flush(10)
    assert rm.stats()["delivered"] == 1


class _Interrupting:
    """Raises what no `except Exception` catches, whatever it is asked."""

    def __init__(self, error: type[BaseException]) -> None:
        self._error = error

    def _raise(self, *_: object) -> Any:
        raise self._error

    __eq__ = __bool__ = __str__ = __fspath__ = __hash__ = __lt__ = __gt__ = _raise


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize(
    "setting",
    [
        "app",
        "compression",
        "provider",
        "redact",
        "spool_dir",
        "enabled",
        "interval_s",
        "max_queue",
        "strict",
    ],
)
def test_a_value_that_interrupts_is_a_wrong_setting(
    setting: str, error: type[BaseException]
) -> None:
    rm.configure(**{setting: _Interrupting(error)})

    with rm.trace(question="still runs"):
        pass


def test_a_redactor_that_interrupts_costs_its_trace_and_not_the_sender(
    bad_server: MakeServer,
) -> None:
    def redact(_: str, text: str) -> str:
        if text == "poison":
            raise KeyboardInterrupt
        return text

    server = bad_server(lambda *_: OK)
    rm.configure(endpoint=server.url, redact=redact, interval_s=0.05)
    ask("poison")
    rm.flush(5)
    ask("after")

    assert rm.flush(10)
    assert [r["question"] for _, _, body, _ in server.requests for r in _records(body)][
        -1
    ] == "after"
