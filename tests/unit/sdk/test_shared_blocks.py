"""Objects that `with` enters, shared by requests that run at once or nested."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk.frame_scopes import FrameScopes
from rag_monitor.testing import InMemoryExporter


def told(captured: InMemoryExporter) -> list[tuple[Any, ...]]:
    """Question, answer and status of every trace, ordered by question."""
    records = captured.records
    return sorted((r["question"], r.get("answer"), r["status"]) for r in records)


def test_threads_that_share_a_trace_object_have_a_trace_each(captured: InMemoryExporter) -> None:
    shared = rm.trace("chat")
    inside = Barrier(4)

    def request(number: int) -> None:
        with shared as live:
            live.set(question=f"q{number}")
            inside.wait()
            live.set(answer=f"a{number}")
            inside.wait()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(request, range(4)))

    assert told(captured) == [(f"q{n}", f"a{n}", "ok") for n in range(4)]


async def test_tasks_that_share_a_trace_object_have_a_trace_each(
    captured: InMemoryExporter,
) -> None:
    shared = rm.trace("chat")

    async def request(number: int) -> None:
        async with shared as live:
            live.set(question=f"q{number}")
            await asyncio.sleep(0.02 * (3 - number))  # the last to enter is the first to leave
            live.set(answer=f"a{number}")
            if number == 1:
                raise ValueError

    await asyncio.gather(*map(request, range(3)), return_exceptions=True)

    assert told(captured) == [
        ("q0", "a0", "ok"),
        ("q1", "a1", "error"),
        ("q2", "a2", "ok"),
    ]


def test_a_trace_object_entered_inside_itself_does_not_end_the_outer_trace(
    captured: InMemoryExporter,
) -> None:
    shared = rm.trace("chat")
    with shared as live, shared:
        live.set(question="q")
    with shared as live:
        live.set(question="r")
        with shared:
            pass
        assert len(captured.records) == 1
        live.set(answer="late")

    assert told(captured) == [("q", None, "ok"), ("r", "late", "ok")]


def test_a_shared_trace_object_on_exit_stacks_is_left_as_often_as_entered(
    captured: InMemoryExporter,
) -> None:
    shared = rm.trace("chat")
    for question in ("one", "two"):
        with ExitStack() as stack:
            stack.enter_context(shared).set(question=question)
            stack.enter_context(shared)

    assert told(captured) == [("one", None, "ok"), ("two", None, "ok")]
    shared.__exit__(None, None, None)  # once too often
    assert len(captured.records) == 2


def test_threads_that_share_a_step_do_not_see_each_others_passages(
    captured: InMemoryExporter,
) -> None:
    search = rm.retrieval("manuals")
    inside = Barrier(3)

    def request(number: int) -> None:
        with rm.trace("chat", question=f"q{number}"):
            with search as found:
                inside.wait()
                found.documents = [f"passage {number}"]
                inside.wait()
            with search as found:
                found.documents = [f"more {number}"]

    with rm.trace("chat", question="first"), search as found:
        found.documents = ["passage first"]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(request, range(3)))

    held = {
        r["question"]: [[d["content"] for d in s["documents"]] for s in r["retrievals"]]
        for r in captured.records
    }
    assert held == {
        "first": [["passage first"]],
        **{f"q{n}": [[f"passage {n}"], [f"more {n}"]] for n in range(3)},
    }


async def test_tasks_that_share_a_step_have_a_hit_each(captured: InMemoryExporter) -> None:
    rate = rm.plugin("rates")

    async def request(number: int) -> None:
        with rm.trace("chat", question=f"q{number}"):
            async with rate as hit:
                await asyncio.sleep(0.02 * (3 - number))
                hit.items = number
                if number == 1:
                    raise ValueError

    await asyncio.gather(*map(request, range(3)), return_exceptions=True)

    hits = {r["question"]: [(h["ok"], h["items"]) for h in r["hits"]] for r in captured.records}
    assert hits == {"q0": [(True, 0)], "q1": [(False, 1)], "q2": [(True, 2)]}


def test_a_shared_step_nested_in_itself_is_two_steps_and_says_how_to_share(
    captured: InMemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    model = rm.generation("m")
    with caplog.at_level(logging.WARNING), rm.trace("chat", question="q"), ExitStack() as stack:
        with model as outer:
            with model as inner:
                inner.usage(1, 2)
            outer.usage(10, 20)
        stack.enter_context(model).usage(100, 200)

    (record,) = captured.records
    assert (record["usage"]["input_tokens"], record["usage"]["output_tokens"]) == (111, 222)
    assert [r.message.partition(";")[0] for r in caplog.records] == [
        "one rag_monitor.generation(...) is entered more than once"
    ]


def test_leaving_takes_no_longer_with_many_inside() -> None:
    blocks: FrameScopes[int] = FrameScopes()
    inside = [(n for n in ()) for _ in range(20_000)]
    for number, generator in enumerate(inside):
        blocks.enter(generator.gi_frame, number)

    began = time.process_time()
    assert [blocks.leave(g.gi_frame) for g in inside] == list(range(20_000))
    assert time.process_time() - began < 1.0
    assert blocks.leave_last() is None


def test_what_one_frame_enters_twice_it_leaves_in_turn() -> None:
    blocks: FrameScopes[str] = FrameScopes()
    frame = (n for n in ()).gi_frame
    blocks.enter(frame, "outer")
    blocks.enter(frame, "inner")

    assert blocks.leave_last() == "inner"
    blocks.enter(frame, "again")
    assert [blocks.leave(frame) for _ in range(3)] == ["again", "outer", None]
