"""What comes after a trace has ended: fresh traces in its context, late words about it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import rag_monitor as rm
from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.queue import BoundedQueue
from rag_monitor.sdk.record import LiveTrace
from rag_monitor.testing import InMemoryExporter


async def _jobs(questions: list[str]) -> None:
    """A worker task, begun in the first request's context, does the jobs of all others."""
    queue: asyncio.Queue[tuple[str, asyncio.Future[str]]] = asyncio.Queue()

    @rm.trace
    async def process(question: str) -> str:
        with rm.retrieval("kb") as found:
            found.documents = [question]
        return question.upper()

    async def work() -> None:
        while True:
            question, done = await queue.get()
            done.set_result(await process(question))

    @rm.trace
    async def first(question: str) -> asyncio.Task[None]:
        return asyncio.create_task(work())

    worker = await first("warm?")
    for question in questions:
        done = asyncio.get_running_loop().create_future()
        await queue.put((question, done))
        assert await done == question.upper()
    worker.cancel()


async def test_calls_in_a_context_that_outlived_its_trace_are_traces(
    captured: InMemoryExporter,
) -> None:
    await _jobs(["q1", "q2"])

    records = captured.records
    assert [r["question"] for r in records] == ["warm?", "q1", "q2"]
    assert [r.get("contexts", [{}])[0].get("content") for r in records] == [None, "q1", "q2"]
    assert len({r["trace_id"] for r in records}) == 3
    assert all(not span.parent_span_id and not span.links for span in captured.spans)


async def test_shared_traces_of_such_a_context_have_no_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(host))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
    with InMemoryExporter(provider="share") as captured:
        await _jobs(["q1", "q2"])
        assert captured.client.stats()["produced"] == 3

    roots = [s for s in host.get_finished_spans() if s.name.startswith("invoke_workflow")]
    assert [root.parent for root in roots] == [None, None, None]
    assert len({root.context.trace_id for root in roots}) == 3


def test_a_block_closed_in_another_thread_costs_that_thread_no_trace(
    captured: InMemoryExporter,
) -> None:
    def stream(question: str) -> Iterator[str]:
        with rm.trace("chat", question=question):
            yield "a"
            yield "b"

    @rm.trace
    def answer(question: str) -> str:
        return "A"

    with ThreadPoolExecutor(1) as pool:
        left = stream("streamed")
        pool.submit(next, left).result()
        left.close()  # type: ignore[attr-defined]
        for number in range(3):
            pool.submit(answer, f"later {number}").result()

    questions = [r["question"] for r in captured.records]
    assert questions == ["streamed", "later 0", "later 1", "later 2"]


def _state(live: LiveTrace) -> dict[str, object]:
    return {**vars(live), "steps": list(live.steps)}


def test_nothing_that_is_late_changes_a_trace_and_all_of_it_is_counted(
    captured: InMemoryExporter,
) -> None:
    with rm.trace(question="q") as live, rm.retrieval("kb") as found:
        found.documents = ["in time"]
        open_step = rm.retrieval("slow")
        context = copy_context()
    context.run(open_step.__enter__)
    before = _state(live)

    def late() -> None:
        open_step.documents = ["x" * 100]
        open_step.__exit__(None, None, None)
        with rm.generation(model="background") as step:
            step.first_token()
            step.usage(1000, 1000)
        rm.record_contexts(["late"])
        rm.current().set(answer="late")
        live.mark_first_byte()
        live.chunk("late")
        live.fail(ValueError("late"))

    context.run(late)

    assert _state(live) == before
    assert captured.client.stats()["late"] == 7
    (record,) = captured.records
    assert [r["knowledge_base"] for r in record["retrievals"]] == ["kb"]
    assert "model" not in record
    assert "usage" not in record


def test_what_a_queue_subtracts_is_what_it_added() -> None:
    queue: BoundedQueue[LiveTrace] = BoundedQueue(2, 1000, Counters())
    lives = [LiveTrace(None, "q", 1, 1) for _ in range(3)]  # type: ignore[arg-type]
    for live in lives:
        live.chars = 10
        queue.put(live)
        live.chars = 500

    assert queue.chars == 20
    assert queue.take() is lives[1]
    assert queue.chars == 10


def test_a_step_that_begins_late_opens_no_span_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "opentelemetry.trace._TRACER_PROVIDER", TracerProvider(shutdown_on_exit=False)
    )
    with InMemoryExporter(provider="share"):
        with rm.trace():
            context = copy_context()
        step = rm.retrieval("kb")
        context.run(step.__enter__)
        assert step.shared is None
