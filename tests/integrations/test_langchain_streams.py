"""What LangChain and LangGraph leave unsaid: readers that leave, graphs that stop to ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs langchain-core")
pytest.importorskip("langgraph.graph", reason="needs langgraph")

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langgraph import graph as langgraph
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

import rag_monitor_langchain
from tests.integrations.captured import Captured, hits


@pytest.fixture
def instrumented(captured: Captured) -> Iterator[Captured]:
    rag_monitor_langchain.instrument()
    yield captured
    rag_monitor_langchain.uninstrument()


@pytest.mark.parametrize("read", [1, 2, 3])
def test_a_stream_that_is_left_is_abandoned_with_all_that_was_read(
    instrumented: Captured, read: int
) -> None:
    chain = FakeListChatModel(responses=["保修期为24个月。"]) | StrOutputParser()
    stream: Any = chain.stream("多久?")
    seen = [next(stream) for _ in range(read)]
    stream.close()

    trace = instrumented.trace
    assert (trace.status, trace.answer) == ("abandoned", "".join(seen))


def test_a_graph_that_asks_a_person_has_not_failed(instrumented: Captured) -> None:
    def confirm(state: Any) -> Any:
        return {"messages": [AIMessage(f"Refunded: {interrupt('Sure?')}")]}

    builder = langgraph.StateGraph(langgraph.MessagesState).add_node("confirm", confirm)
    graph: Any = builder.add_edge(langgraph.START, "confirm").compile(
        checkpointer=InMemorySaver(), name="refunds"
    )
    config: Any = {"configurable": {"thread_id": "t-1"}}
    graph.invoke({"messages": [("user", "退款?")]}, config)
    graph.invoke(Command(resume="yes"), config)

    asked, answered = instrumented.traces
    assert (asked.question, asked.answer, asked.status) == ("退款?", None, "ok")
    assert (answered.question, answered.answer) == ("yes", "Refunded: yes")
    for trace in (asked, answered):
        assert set(hits(trace)) == {("workflow", "confirm", True), ("workflow", "refunds", True)}


def test_a_graph_that_hands_over_to_its_parent_has_not_failed(instrumented: Captured) -> None:
    def triage(state: Any) -> Any:
        return Command(goto="sales", graph=Command.PARENT)

    def sales(state: Any) -> Any:
        return {"messages": [AIMessage("24 months")]}

    inner = langgraph.StateGraph(langgraph.MessagesState).add_node("triage", triage)
    agent = inner.add_edge(langgraph.START, "triage").compile(name="agent")
    builder = langgraph.StateGraph(langgraph.MessagesState)
    builder.add_node("agent", agent, destinations=("sales",)).add_node("sales", sales)
    graph: Any = builder.add_edge(langgraph.START, "agent").compile(name="desk")
    graph.invoke({"messages": [("user", "How long?")]})

    trace = instrumented.trace
    assert (trace.status, trace.answer) == ("ok", "24 months")
    assert [name for _, name, ok in hits(trace) if not ok] == []
    assert {"triage", "agent", "sales", "desk"} <= {name for _, name, _ in hits(trace)}
