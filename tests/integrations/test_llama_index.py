"""LlamaIndex, the real package with fake models."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs llama-index-core")

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import ChatMessage, CompletionResponse, LLMMetadata
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.chat_engine.types import StreamingAgentChatResponse
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

import rag_monitor as rm
import rag_monitor_llama_index
from tests.integrations.captured import ANSWER, PASSAGES, QUESTION, Captured, check_story, hits
from tests.integrations.readme import run_example


class Shelf(BaseRetriever):
    """Answers every query with the passages in some order, or fails."""

    knowledge_base = "manuals"

    def __init__(self, ids: Any = tuple(PASSAGES), *, broken: bool = False) -> None:
        super().__init__()
        self._ids = ids
        self._broken = broken

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._broken:
            raise ConnectionError("vector store is down")
        return [
            NodeWithScore(node=TextNode(id_=i, text=PASSAGES[i]), score=1.0 / n)
            for n, i in enumerate(self._ids, start=1)
        ]


class ReversingRerank(BaseNodePostprocessor):
    """A reranker that turns the order around."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[::-1]


class FakeModel(CustomLLM):
    """Says the answer, or breaks after some of it."""

    broken: bool = False

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="fake-1")

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        return {"model": "fake-1"}

    @property
    def _usage(self) -> dict[str, Any]:
        return {"usage": {"prompt_tokens": 120, "completion_tokens": 7}}

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        if self.broken:
            raise TimeoutError("model timed out")
        return CompletionResponse(text=ANSWER, raw=self._usage)

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Iterator[CompletionResponse]:
        def pieces() -> Iterator[CompletionResponse]:
            said = ""
            for number, word in enumerate(ANSWER.split(" ")):
                if self.broken and number == 2:
                    raise TimeoutError("model timed out")
                delta = word if number == 0 else f" {word}"
                said += delta
                yield CompletionResponse(text=said, delta=delta, raw=self._usage)

        return pieces()


def engine(**settings: Any) -> RetrieverQueryEngine:
    broken = settings.pop("broken", False)
    retriever = settings.pop("retriever", None) or Shelf()
    return RetrieverQueryEngine.from_args(retriever, llm=FakeModel(broken=broken), **settings)


def chat_engine() -> ContextChatEngine:
    memory = ChatMemoryBuffer.from_defaults(token_limit=3000)
    return ContextChatEngine.from_defaults(retriever=Shelf(), llm=FakeModel(), memory=memory)


@pytest.fixture
def instrumented(captured: Captured) -> Iterator[Captured]:
    rag_monitor_llama_index.instrument()
    yield captured
    rag_monitor_llama_index.uninstrument()


def test_a_query_gives_one_trace_with_everything(instrumented: Captured) -> None:
    assert str(engine().query(QUESTION)) == ANSWER

    trace = instrumented.trace
    check_story(trace, streamed=False, model="fake-1")
    (retrieval,) = trace.retrievals
    assert [d.score for d in retrieval.documents] == [1.0, 0.5]
    assert hits(trace) == [("knowledge_base", "manuals", True)]
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (120, 7)


def test_a_streamed_query_ends_when_its_answer_is_read(instrumented: Captured) -> None:
    response = engine(streaming=True).query(QUESTION)
    assert instrumented.traces == []
    assert "".join(response.response_gen) == ANSWER

    trace = instrumented.trace
    check_story(trace, streamed=True, model="fake-1")
    assert trace.timings.first_byte_ms < trace.timings.end_to_end_ms
    assert trace.timings.first_token_ms is not None
    assert trace.usage.output_tokens == 7


async def test_async_queries_and_streams_are_the_same(instrumented: Captured) -> None:
    assert str(await engine().aquery(QUESTION)) == ANSWER
    response = await engine(streaming=True).aquery(QUESTION)
    assert "".join([piece async for piece in response.async_response_gen()]) == ANSWER

    whole, streamed = instrumented.traces
    check_story(whole, streamed=False, model="fake-1")
    check_story(streamed, streamed=True, model="fake-1")


def test_the_rerankers_order_is_what_reached_the_model(instrumented: Captured) -> None:
    retriever = Shelf(tuple(reversed(PASSAGES)))
    engine(retriever=retriever, node_postprocessors=[ReversingRerank()]).query(QUESTION)

    trace = instrumented.trace
    check_story(trace, streamed=False)
    assert [r.reranked for r in trace.retrievals] == [False, True]
    assert hits(trace) == [("knowledge_base", "manuals", True)]


def test_tags_say_who_asks(instrumented: Captured) -> None:
    with instrument_tags({"session_id": "s-1", "user_id": "u-7"}):
        engine().query(QUESTION)

    assert (instrumented.trace.session_id, instrumented.trace.user_id) == ("s-1", "u-7")


def test_a_chat_is_a_trace(instrumented: Captured) -> None:
    chat = chat_engine()
    assert str(chat.chat(QUESTION)) == ANSWER

    check_story(instrumented.trace, streamed=False, model="fake-1")


def test_a_streamed_chat_is_a_trace(instrumented: Captured) -> None:
    chat = chat_engine()
    assert "".join(chat.stream_chat(QUESTION).response_gen) == ANSWER

    for _ in range(3000):  # the answer is written to memory on a thread of LlamaIndex's
        if instrumented.traces:
            break
        time.sleep(0.01)
    check_story(instrumented.trace, streamed=True, model="fake-1")


class Unwritten(ContextChatEngine):
    """Hands its stream on and writes nothing down meanwhile, as older releases do."""

    @get_dispatcher(__name__).span
    def stream_chat(self, message: str, chat_history: Any = None) -> StreamingAgentChatResponse:
        stream = self._llm.stream_chat([ChatMessage(content=message)])
        return StreamingAgentChatResponse(chat_stream=stream, is_writing_to_memory=False)

    @get_dispatcher(__name__).span
    async def astream_chat(
        self, message: str, chat_history: Any = None
    ) -> StreamingAgentChatResponse:
        stream = await self._llm.astream_chat([ChatMessage(content=message)])
        return StreamingAgentChatResponse(achat_stream=stream, is_writing_to_memory=False)


async def test_a_streamed_chat_that_is_not_written_down_ends_with_its_reader(
    instrumented: Captured,
) -> None:
    memory = ChatMemoryBuffer.from_defaults(token_limit=3000)
    chat = Unwritten.from_defaults(retriever=Shelf(), llm=FakeModel(), memory=memory)
    assert "".join(chat.stream_chat(QUESTION).response_gen) == ANSWER
    pieces = (await chat.astream_chat(QUESTION)).async_response_gen()
    assert "".join([piece async for piece in pieces]) == ANSWER
    left = chat.stream_chat(QUESTION).response_gen
    first = next(piece for piece in left if piece)
    left.close()
    del left
    gc.collect()

    told = [(trace.question, trace.answer, trace.status) for trace in instrumented.traces]
    assert told == [(QUESTION, ANSWER, "ok")] * 2 + [(QUESTION, first, "abandoned")]
    assert all(trace.timings.first_byte_ms is not None for trace in instrumented.traces)


def test_an_abandoned_stream_keeps_what_was_said(instrumented: Captured) -> None:
    pieces = engine(streaming=True).query(QUESTION).response_gen
    first = next(pieces)
    pieces.close()

    trace = instrumented.trace
    assert (trace.status, trace.answer) == ("abandoned", first)


def test_a_stream_that_nobody_reads_is_abandoned(instrumented: Captured) -> None:
    engine(streaming=True).query(QUESTION)
    gc.collect()

    trace = instrumented.trace
    assert (trace.status, trace.answer, trace.question) == ("abandoned", None, QUESTION)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_failing_model_is_an_error_with_the_passages(
    instrumented: Captured, streamed: bool
) -> None:
    def ask() -> list[str]:
        return list(engine(broken=True, streaming=streamed).query(QUESTION).response_gen)

    with pytest.raises(TimeoutError):
        ask()

    trace = instrumented.trace
    assert trace.status == "error"
    assert trace.error == "TimeoutError: model timed out"
    assert [d.id for d in trace.contexts] == list(PASSAGES)
    assert bool(trace.answer) is streamed


def test_a_failing_retriever_is_a_failed_hit(instrumented: Captured) -> None:
    with pytest.raises(ConnectionError):
        engine(retriever=Shelf(broken=True)).query(QUESTION)

    trace = instrumented.trace
    assert (trace.status, trace.contexts) == ("error", None)
    assert hits(trace) == [("knowledge_base", "manuals", False)]


def test_tools_inside_a_traced_handler_are_plugin_hits(instrumented: Captured) -> None:
    calculator = FunctionTool.from_defaults(fn=lambda months: months * 30, name="calculator")

    @rm.trace
    def handle(question: str) -> str:
        calculator.call(24)
        return str(engine().query(question))

    handle(QUESTION)

    trace = instrumented.trace
    check_story(trace, streamed=False)
    assert hits(trace) == [("plugin", "calculator", True), ("knowledge_base", "manuals", True)]


class Support(Workflow):
    """A workflow with a tool, a retriever and a model."""

    @step
    async def answer(self, event: StartEvent) -> StopEvent:
        def days(months: int) -> int:
            if event.get("broken", default=False):
                raise ValueError("not a number")
            return months * 30

        FunctionTool.from_defaults(fn=days, name="calculator").call(24)
        return StopEvent(result=str(await engine().aquery(event.query)))


async def test_a_workflow_and_its_tools_are_hits(instrumented: Captured) -> None:
    assert await Support().run(query=QUESTION) == ANSWER

    trace = instrumented.trace
    check_story(trace, streamed=False)
    assert hits(trace) == [
        ("plugin", "calculator", True),
        ("knowledge_base", "manuals", True),
        ("workflow", "Support", True),
    ]


async def test_a_failing_tool_is_a_failed_hit_and_an_error(instrumented: Captured) -> None:
    with pytest.raises(ValueError, match="not a number"):
        await Support().run(query=QUESTION, broken=True)

    trace = instrumented.trace
    assert trace.status == "error"
    assert hits(trace) == [("plugin", "calculator", False), ("workflow", "Support", False)]


def test_a_retriever_alone_is_no_question(instrumented: Captured) -> None:
    Shelf().retrieve(QUESTION)

    assert instrumented.traces == []


def test_nothing_is_recorded_after_uninstrument(captured: Captured) -> None:
    rag_monitor_llama_index.instrument()
    rag_monitor_llama_index.instrument()
    engine().query(QUESTION)
    rag_monitor_llama_index.uninstrument()
    engine().query(QUESTION)

    assert len(captured.traces) == 1


def test_the_readme_example_records_a_trace(captured: Captured) -> None:
    try:
        run_example("llama_index", retriever=Shelf(), llm=FakeModel())
    finally:
        rag_monitor_llama_index.uninstrument()

    whole, streamed = captured.traces
    check_story(whole, streamed=False)
    check_story(streamed, streamed=True)


class Scripted(FakeModel):
    """Calls a tool, then answers; both in the form of a ReAct agent."""

    steps: int = 0

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.steps += 1
        if self.steps > 1:
            return CompletionResponse(text=f"Thought: I can answer.\nAnswer: {ANSWER}")
        return CompletionResponse(text="Thought: ask.\nAction: ask\nAction Input: {}")

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Iterator[CompletionResponse]:
        reply = self.complete(prompt)
        yield CompletionResponse(text=reply.text, delta=reply.text)


# the library looks at every attribute of its own agent
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_an_agents_answer_is_what_it_says_without_its_thoughts(
    instrumented: Captured,
) -> None:
    def ask() -> str:
        return "24 months"

    tool = FunctionTool.from_defaults(fn=ask, name="ask")
    reply = await ReActAgent(tools=[tool], llm=Scripted()).run(QUESTION)

    trace = instrumented.trace
    assert (trace.question, trace.answer) == (QUESTION, str(reply.response.content))
    assert trace.answer == ANSWER
    assert ("plugin", "ask", True) in hits(trace)


class Stopping(Workflow):
    """Stops with what it is given."""

    result: Any = None

    @step
    async def answer(self, event: StartEvent) -> StopEvent:
        return StopEvent(result=event.result)


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"answer": "24", "sources": ["p"]}, "24"),
        ({"output": ChatMessage(role="assistant", content="24")}, "24"),
        ({"sources": ["p"]}, None),
        ("24", "24"),
    ],
)
async def test_a_workflow_stops_with_its_answer(
    instrumented: Captured, result: Any, answer: str | None
) -> None:
    await Stopping().run(query=QUESTION, result=result)

    assert instrumented.trace.answer == answer
