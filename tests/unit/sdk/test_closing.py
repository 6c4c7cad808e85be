"""Streams that are closed before they are read."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk.streaming import when_closed
from rag_monitor.testing import InMemoryExporter


class Stream:
    """Made like the OpenAI client's: closing it does not close what it iterates."""

    def __init__(self, pieces: Any) -> None:
        self._iterator = pieces
        self.closed = 0

    def __iter__(self) -> Any:
        return self._iterator

    def close(self) -> str:
        self.closed += 1
        return "closed"


def words() -> Any:
    yield "24 "
    yield "months"


@rm.trace
def answer(question: str) -> Stream:
    return Stream(words())


def test_closing_a_stream_early_ends_its_trace_at_once(captured: InMemoryExporter) -> None:
    stream = answer("How long?")
    next(iter(stream))

    assert stream.close() == "closed"
    (record,) = captured.records
    assert (record["status"], record["answer"]) == ("abandoned", "24 ")
    assert stream.closed == 1


def test_closing_a_stream_that_was_read_changes_nothing(captured: InMemoryExporter) -> None:
    stream = answer("How long?")
    list(stream)
    stream.close()

    (record,) = captured.records
    assert (record["status"], record["answer"]) == ("ok", "24 months")


def test_a_stream_is_not_kept_by_hearing_of_its_close() -> None:
    stream = Stream(words())
    when_closed(stream, list)
    gone = weakref.ref(stream)
    gc.disable()
    try:
        del stream
        assert gone() is None
    finally:
        gc.enable()


def test_what_closing_raises_comes_out_and_is_heard() -> None:
    class Failing(Stream):
        def close(self) -> str:
            raise OSError("gone")

    heard: list[int] = []
    stream = Failing(words())
    when_closed(stream, lambda: heard.append(1))
    with pytest.raises(OSError, match="gone"):
        stream.close()

    assert heard == [1]


def test_what_cannot_be_closed_is_left_alone() -> None:
    class Open:
        """Has no `close`."""

    thing = Open()
    when_closed(thing, list)

    assert vars(thing) == {}
