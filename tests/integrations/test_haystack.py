"""Haystack, the real package with fake models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("haystack", reason="needs haystack-ai")

from haystack import Document, Pipeline, component, tracing
from haystack.components.builders import ChatPromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.core.errors import PipelineRuntimeError, SerializationError
from haystack.dataclasses import ChatMessage, StreamingChunk
from haystack.tracing.tracer import NullTracer
from haystack.utils.callable_serialization import serialize_callable

import rag_monitor as rm
import rag_monitor_haystack
from tests.integrations.captured import ANSWER, PASSAGES, QUESTION, Captured, check_story, hits
from tests.integrations.readme import run_example


@component
class ShelfRetriever:
    """Answers every query with the passages in some order, or fails."""

    def __init__(self, ids: Any = tuple(PASSAGES), *, broken: bool = False) -> None:
        self._ids = ids
        self._broken = broken

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        if self._broken:
            raise ConnectionError("vector store is down")
        found = [
            Document(id=i, content=PASSAGES[i], score=1.0 / n)
            for n, i in enumerate(self._ids, start=1)
        ]
        return {"documents": found}


@component
class ReversingRanker:
    """A reranker that turns the order around."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        return {"documents": documents[::-1]}


@component
class FakeChatGenerator:
    """Says the answer, piece by piece where somebody listens, or breaks."""

    def __init__(self, *, broken: bool = False) -> None:
        self._broken = broken

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], streaming_callback: Any = None) -> dict[str, Any]:
        for number, word in enumerate(ANSWER.split(" ")):
            if self._broken and number == 2:
                raise TimeoutError("model timed out")
            if streaming_callback is not None:
                streaming_callback(StreamingChunk(content=word if number == 0 else f" {word}"))
        usage = {"prompt_tokens": 120, "completion_tokens": 7}
        meta = {"model": "fake-1", "usage": usage}
        return {"replies": [ChatMessage.from_assistant(ANSWER, meta=meta)]}


def pipeline(
    *, retriever: Any = None, rerank: bool = False, broken: bool = False, **settings: Any
) -> Pipeline:
    built = Pipeline(**settings)
    template = [ChatMessage.from_user("{{documents}} {{question}}")]
    built.add_component("manuals", retriever or ShelfRetriever())
    built.add_component("prompt", ChatPromptBuilder(template=template, required_variables="*"))
    built.add_component("llm", FakeChatGenerator(broken=broken))
    if rerank:
        built.add_component("rerank", ReversingRanker())
        built.connect("manuals.documents", "rerank.documents")
        built.connect("rerank.documents", "prompt.documents")
    else:
        built.connect("manuals.documents", "prompt.documents")
    built.connect("prompt.prompt", "llm.messages")
    return built


def inputs(**llm: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"manuals": {"query": QUESTION}, "prompt": {"question": QUESTION}}
    if llm:
        given["llm"] = llm
    return given


@pytest.fixture
def instrumented(captured: Captured) -> Iterator[Captured]:
    rag_monitor_haystack.instrument()
    yield captured
    rag_monitor_haystack.uninstrument()


def test_a_pipeline_gives_one_trace_with_everything(instrumented: Captured) -> None:
    pipeline(metadata={"name": "support"}).run(inputs())

    trace = instrumented.trace
    check_story(trace, streamed=False, model="fake-1")
    (retrieval,) = trace.retrievals
    assert retrieval.query == QUESTION
    assert [d.score for d in retrieval.documents] == [1.0, 0.5]
    assert hits(trace) == [("knowledge_base", "manuals", True), ("workflow", "support", True)]
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (120, 7)


def hybrid(mode: str, top_k: int | None) -> Pipeline:
    """Two retrievers whose passages are joined, as in a hybrid search."""
    built = Pipeline()
    template = [ChatMessage.from_user("{{documents}} {{question}}")]
    built.add_component("words", ShelfRetriever(("doc-7", "doc-3")))
    built.add_component("vectors", ShelfRetriever(("doc-3",)))
    built.add_component("join", DocumentJoiner(join_mode=mode, top_k=top_k))
    built.add_component("prompt", ChatPromptBuilder(template=template, required_variables="*"))
    built.add_component("llm", FakeChatGenerator())
    built.connect("words.documents", "join.documents")
    built.connect("vectors.documents", "join.documents")
    built.connect("join.documents", "prompt.documents")
    built.connect("prompt.prompt", "llm.messages")
    return built


@pytest.mark.parametrize(
    ("top_k", "reached"), [(None, ["doc-3", "doc-7"]), (1, ["doc-3"])], ids=["all", "one"]
)
def test_what_a_joiner_left_is_what_reached_the_model(
    instrumented: Captured, top_k: int | None, reached: list[str]
) -> None:
    given = {name: {"query": QUESTION} for name in ("words", "vectors")}
    hybrid("reciprocal_rank_fusion", top_k).run({**given, "prompt": {"question": QUESTION}})

    trace = instrumented.trace
    assert [d.id for d in trace.contexts or ()] == reached
    found = {r.knowledge_base: [d.id for d in r.documents] for r in trace.retrievals}
    assert found == {"words": ["doc-7", "doc-3"], "vectors": ["doc-3"]}


def test_a_watched_callback_tells_the_first_byte(instrumented: Captured) -> None:
    heard: list[str] = []
    callback = rag_monitor_haystack.watch(lambda chunk: heard.append(chunk.content))
    pipeline().run(inputs(streaming_callback=callback))

    assert "".join(heard) == ANSWER
    trace = instrumented.trace
    check_story(trace, streamed=True, model="fake-1")
    assert trace.timings.first_byte_ms < trace.timings.end_to_end_ms
    assert trace.timings.first_token_ms is not None


def reading(chunk: StreamingChunk) -> None:
    """A callback as Haystack can write its name down."""


async def reading_async(chunk: StreamingChunk) -> None:
    """As `reading`."""


def test_watched_callbacks_are_written_into_pipelines() -> None:
    watch, watch_async = rag_monitor_haystack.watch, rag_monitor_haystack.watch_async
    names = [
        serialize_callable(callback)
        for callback in (watch(), watch_async(), watch(reading), watch_async(reading_async))
    ]

    assert names[:2] == [f"rag_monitor_haystack.streams.{n}" for n in ("heard", "heard_async")]
    assert [name.rpartition(".")[2] for name in names[2:]] == ["reading", "reading_async"]
    with pytest.raises(SerializationError):
        serialize_callable(watch([].append))


async def test_async_runs_are_the_same(instrumented: Captured) -> None:
    await pipeline().run_async(inputs())
    await pipeline().run_async(inputs(streaming_callback=rag_monitor_haystack.watch()))

    whole, streamed = instrumented.traces
    check_story(whole, streamed=False)
    check_story(streamed, streamed=True)


def test_the_rankers_order_is_what_reached_the_model(instrumented: Captured) -> None:
    retriever = ShelfRetriever(tuple(reversed(PASSAGES)))
    pipeline(retriever=retriever, rerank=True).run({**inputs(), "rerank": {"query": QUESTION}})

    trace = instrumented.trace
    check_story(trace, streamed=False)
    assert [r.reranked for r in trace.retrievals] == [False, True]
    assert hits(trace) == [("knowledge_base", "manuals", True)]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_failing_model_is_an_error_with_the_passages(
    instrumented: Captured, streamed: bool
) -> None:
    llm = {"streaming_callback": rag_monitor_haystack.watch()} if streamed else {}
    with pytest.raises(PipelineRuntimeError):
        pipeline(broken=True).run(inputs(**llm))

    trace = instrumented.trace
    assert (trace.status, trace.error) == ("error", "TimeoutError: model timed out")
    assert trace.question == QUESTION
    assert [d.id for d in trace.contexts] == list(PASSAGES)
    assert bool(trace.answer) is streamed


def test_a_failing_retriever_is_a_failed_hit(instrumented: Captured) -> None:
    with pytest.raises(PipelineRuntimeError):
        pipeline(retriever=ShelfRetriever(broken=True)).run(inputs())

    trace = instrumented.trace
    assert (trace.status, trace.contexts) == ("error", None)
    assert hits(trace) == [("knowledge_base", "manuals", False)]


def test_inside_a_traced_handler_the_steps_join_its_trace(instrumented: Captured) -> None:
    @rm.trace
    def handle(question: str) -> str:
        pipeline().run(inputs())
        return ANSWER

    handle(QUESTION)

    check_story(instrumented.trace, streamed=False, model="fake-1")


def test_the_tracer_before_ours_still_gets_everything_and_comes_back(captured: Captured) -> None:
    class Listening(NullTracer):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def trace(self, operation_name: str, **kwargs: Any) -> Any:
            self.heard.append(operation_name)
            return super().trace(operation_name, **kwargs)

    before = Listening()
    tracing.enable_tracing(before)
    try:
        rag_monitor_haystack.instrument()
        rag_monitor_haystack.instrument()
        pipeline().run(inputs())
        rag_monitor_haystack.uninstrument()
        assert tracing.tracer.actual_tracer is before
    finally:
        tracing.disable_tracing()

    assert before.heard.count("haystack.component.run") == 3
    assert len(captured.traces) == 1


def test_the_readme_example_records_a_trace(captured: Captured) -> None:
    try:
        run_example("haystack", pipeline=pipeline())
    finally:
        rag_monitor_haystack.uninstrument()

    whole, streamed = captured.traces
    check_story(whole, streamed=False)
    check_story(streamed, streamed=True)
