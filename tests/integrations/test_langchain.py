"""LangChain and LangGraph, the real packages with fake models."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs langchain-core")

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_core.tools import tool

import rag_monitor as rm
import rag_monitor_langchain
from rag_monitor_langchain import RagMonitorHandler
from tests.integrations.captured import ANSWER, PASSAGES, QUESTION, Captured, check_story, hits
from tests.integrations.readme import run_example


class Shelf(BaseRetriever):
    """Answers every query with the two passages, or fails."""

    broken: bool = False
    empty: bool = False

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.broken:
            raise ConnectionError("vector store is down")
        if self.empty:
            return []
        return [
            Document(id=i, page_content=text, metadata={"relevance_score": 1.0 / n})
            for n, (i, text) in enumerate(PASSAGES.items(), start=1)
        ]


class BrokenModel(GenericFakeChatModel):
    """Does not answer."""

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise TimeoutError("model timed out")


class BreakingModel(GenericFakeChatModel):
    """Breaks after some of its answer."""

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        for number, chunk in enumerate(super()._stream(*args, **kwargs)):
            if number == 3:
                raise TimeoutError("model timed out")
            yield chunk


def model(answer: str = ANSWER, kind: Any = GenericFakeChatModel) -> Any:
    reply = AIMessage(
        answer,
        usage_metadata={"input_tokens": 120, "output_tokens": 7, "total_tokens": 127},
        response_metadata={"model_name": "fake-1"},
    )
    return kind(messages=iter([reply] * 20))


def chain(retriever: BaseRetriever | None = None, llm: Any = None) -> Runnable[str, str]:
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    inputs: Any = {
        "context": (retriever or Shelf()).with_config(metadata={"knowledge_base": "manuals"}),
        "question": RunnablePassthrough(),
    }
    return inputs | prompt | (llm or model()) | StrOutputParser()


@pytest.fixture
def instrumented(captured: Captured) -> Iterator[Captured]:
    rag_monitor_langchain.instrument()
    yield captured
    rag_monitor_langchain.uninstrument()


def test_a_chain_gives_one_trace_with_everything(captured: Captured) -> None:
    handler = RagMonitorHandler()
    config: Any = {
        "callbacks": [handler],
        "run_name": "faq",
        "tags": ["web"],
        "metadata": {"session_id": "s-1", "user_id": "u-7"},
    }

    assert chain().invoke(QUESTION, config) == ANSWER

    trace = captured.trace
    check_story(trace, streamed=False, model="fake-1")
    assert trace.timings.first_byte_ms == trace.timings.end_to_end_ms
    (retrieval,) = trace.retrievals
    assert retrieval.query == QUESTION
    assert [d.score for d in retrieval.documents] == [1.0, 0.5]
    assert hits(trace) == [("knowledge_base", "manuals", True), ("workflow", "faq", True)]
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (120, 7)
    assert (trace.session_id, trace.user_id, trace.tags) == ("s-1", "u-7", ("web",))


def test_a_streamed_chain_knows_its_first_byte(instrumented: Captured) -> None:
    assert "".join(chain().stream(QUESTION)) == ANSWER

    trace = instrumented.trace
    check_story(trace, streamed=True)
    assert trace.timings.first_byte_ms < trace.timings.end_to_end_ms
    assert trace.timings.first_token_ms is not None


async def test_async_calls_and_streams_are_the_same(instrumented: Captured) -> None:
    assert await chain().ainvoke(QUESTION) == ANSWER
    assert "".join([chunk async for chunk in chain().astream(QUESTION)]) == ANSWER

    whole, streamed = instrumented.traces
    check_story(whole, streamed=False)
    check_story(streamed, streamed=True)


class Slow(Shelf):
    """Does not answer in time."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        await asyncio.sleep(60)
        return []


async def test_a_search_that_was_cancelled_is_no_hit(instrumented: Captured) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(chain(Slow()).ainvoke(QUESTION), 0.1)

    trace = instrumented.trace
    assert (trace.status, trace.question, trace.contexts) == ("cancelled", QUESTION, None)
    assert hits(trace) == [("knowledge_base", "manuals", False)]


def test_parallel_calls_do_not_mix(instrumented: Captured) -> None:
    questions = [f"{QUESTION} ({n})" for n in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda q: chain(llm=model(f"Re: {q}")).invoke(q), questions))
    chain().batch(questions)

    traces = instrumented.traces
    assert sorted(t.question for t in traces) == sorted(questions * 2)
    assert all(len(t.retrievals) == 1 for t in traces)
    assert {t.answer for t in traces} == {ANSWER, *(f"Re: {q}" for q in questions)}


def test_an_abandoned_stream_keeps_what_was_said(instrumented: Captured) -> None:
    stream = chain().stream(QUESTION)
    first = next(stream)
    stream.close()

    trace = instrumented.trace
    assert trace.status == "abandoned"
    assert trace.answer.startswith(first)
    assert trace.question == QUESTION


@pytest.mark.parametrize("streamed", [False, True])
def test_a_failing_model_is_an_error_with_the_passages(
    instrumented: Captured, streamed: bool
) -> None:
    broken = chain(llm=model(kind=BreakingModel if streamed else BrokenModel))
    with pytest.raises(TimeoutError):
        list(broken.stream(QUESTION)) if streamed else broken.invoke(QUESTION)

    trace = instrumented.trace
    assert trace.status == "error"
    assert trace.question == QUESTION
    assert [d.id for d in trace.contexts] == list(PASSAGES)
    assert trace.error == "TimeoutError: model timed out"
    assert bool(trace.answer) is streamed


def test_a_failing_retriever_is_a_failed_hit_of_unknown_contexts(instrumented: Captured) -> None:
    with pytest.raises(ConnectionError):
        chain(Shelf(broken=True)).invoke(QUESTION)

    trace = instrumented.trace
    assert trace.status == "error"
    assert trace.contexts is None
    assert hits(trace) == [("knowledge_base", "manuals", False)]


def test_an_empty_retrieval_is_known_to_be_empty(instrumented: Captured) -> None:
    chain(Shelf(empty=True)).invoke(QUESTION)

    assert instrumented.trace.contexts == ()
    assert instrumented.trace.hits[0].items == 0


def test_retrievers_inside_a_retriever_are_hits_but_not_further_retrievals(
    instrumented: Captured,
) -> None:
    class RerankingRetriever(BaseRetriever):
        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> list[Document]:
            inner = Shelf().invoke("rewritten", {"callbacks": run_manager.get_child()})
            return list(reversed(inner))

    chain(RerankingRetriever()).invoke(QUESTION)

    trace = instrumented.trace
    (retrieval,) = trace.retrievals
    assert retrieval.reranked
    assert [d.id for d in trace.contexts] == list(reversed(PASSAGES))
    assert {(k, n) for k, n, _ in hits(trace)} == {
        ("knowledge_base", "manuals"),
        ("knowledge_base", "Shelf"),
    }


def test_tokens_of_a_model_that_rewrites_the_question_are_not_the_answers(
    instrumented: Captured,
) -> None:
    rewrite = ChatPromptTemplate.from_template("{q}") | model("warranty duration")
    pipeline = rewrite | StrOutputParser() | chain()

    list(pipeline.stream({"q": QUESTION}))

    trace = instrumented.trace
    assert trace.answer == ANSWER
    assert trace.timings.first_byte_ms > trace.timings.retrieval_ms
    assert trace.retrievals[0].query == "warranty duration"


def test_inside_a_traced_handler_the_steps_join_its_trace(instrumented: Captured) -> None:
    @rm.trace
    def handle(question: str) -> str:
        documents = Shelf().invoke(question)
        return chain(llm=model("inner")).invoke(f"{question} {len(documents)}") and ANSWER

    handle(QUESTION)

    trace = instrumented.trace
    assert (trace.question, trace.answer) == (QUESTION, ANSWER)
    assert len(trace.retrievals) == 2


def test_a_retriever_alone_is_no_question(instrumented: Captured) -> None:
    Shelf().invoke(QUESTION)

    assert instrumented.traces == []


def test_a_model_alone_is_a_question_with_unknown_contexts(instrumented: Captured) -> None:
    model().invoke([("system", "Be brief."), ("user", QUESTION)])

    trace = instrumented.trace
    assert (trace.question, trace.answer, trace.contexts) == (QUESTION, ANSWER, None)


def test_nothing_is_recorded_or_kept_after_uninstrument(captured: Captured) -> None:
    handler = rag_monitor_langchain.instrument()
    chain().invoke(QUESTION)
    rag_monitor_langchain.uninstrument()
    chain().invoke(QUESTION)

    assert len(captured.traces) == 1
    assert len(handler._runs) == 0


def test_with_the_sdk_off_chains_work_unrecorded() -> None:
    rm.configure(enabled=False)
    assert chain().invoke(QUESTION, {"callbacks": [RagMonitorHandler()]}) == ANSWER


def test_the_readme_example_records_a_trace(captured: Captured) -> None:
    try:
        run_example("langchain", retriever=Shelf(), model=model(), configure=rm.configure)
    finally:
        rag_monitor_langchain.uninstrument()

    whole, streamed = captured.traces
    check_story(whole, streamed=False)
    check_story(streamed, streamed=True)


langgraph = pytest.importorskip("langgraph.graph", reason="needs langgraph")


def nodes(*, broken: bool = False) -> dict[str, Any]:
    @tool
    def calculator(months: int) -> int:
        """Days in some months."""
        if broken:
            raise ValueError("not a number")
        return months * 30

    def retrieve(state: Any) -> Any:
        Shelf().with_config(run_name="manuals").invoke(state["messages"][-1].content)
        return {}

    def answer(state: Any) -> Any:
        calculator.invoke({"months": 24})
        return {"messages": [model().invoke(state["messages"])]}

    return {"retrieve": retrieve, "answer": answer}


def graph(*, broken: bool = False) -> Any:
    builder = langgraph.StateGraph(langgraph.MessagesState)
    for name, node in nodes(broken=broken).items():
        builder.add_node(name, node)
    builder.add_edge(langgraph.START, "retrieve")
    builder.add_edge("retrieve", "answer")
    return builder.compile(name="support")


GRAPH_HITS = {
    ("knowledge_base", "manuals"),
    ("plugin", "calculator"),
    ("workflow", "answer"),
    ("workflow", "retrieve"),
    ("workflow", "support"),
}


@pytest.mark.parametrize("mode", [None, "values", "messages", "updates"])
def test_a_graph_its_nodes_and_tools_are_hits(instrumented: Captured, mode: str | None) -> None:
    question: Any = {"messages": [("user", QUESTION)]}
    config: Any = {"configurable": {"thread_id": "t-1"}}
    if mode is None:
        graph().invoke(question, config)
    else:
        list(graph().stream(question, config, stream_mode=mode))

    trace = instrumented.trace
    check_story(trace, streamed=mode == "messages")
    assert {(kind, name) for kind, name, ok in hits(trace) if ok} == GRAPH_HITS
    assert trace.session_id == "t-1"


async def test_an_async_graph_is_the_same(instrumented: Captured) -> None:
    question: Any = {"messages": [("user", QUESTION)]}
    async for _ in graph().astream(question, stream_mode="messages"):
        pass

    check_story(instrumented.trace, streamed=True)


def test_an_abandoned_graph_stream_ends_its_trace(instrumented: Captured) -> None:
    stream = graph().stream({"messages": [("user", QUESTION)]}, stream_mode="messages")
    next(stream)
    stream.close()

    assert instrumented.trace.status == "abandoned"


def test_a_failing_tool_is_a_failed_hit_and_an_error(instrumented: Captured) -> None:
    with pytest.raises(ValueError, match="not a number"):
        graph(broken=True).invoke({"messages": [("user", QUESTION)]})

    trace = instrumented.trace
    assert trace.status == "error"
    assert ("plugin", "calculator", False) in hits(trace)
    assert ("workflow", "support", False) in hits(trace)


def test_the_readme_example_of_a_graph_records_a_trace(captured: Captured) -> None:
    try:
        run_example("langchain", 1, **nodes())
    finally:
        rag_monitor_langchain.uninstrument()

    whole, streamed = captured.traces
    check_story(whole, streamed=False)
    check_story(streamed, streamed=True)
    for trace in (whole, streamed):
        assert {(kind, name) for kind, name, ok in hits(trace) if ok} == GRAPH_HITS
