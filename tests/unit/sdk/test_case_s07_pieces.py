"""Pieces and replies of model clients, graphs and agents."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace as Thing
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter

ASKED = "How long is the warranty?"


class AIMessageChunk(Thing):
    """LangChain's, as a stream gives it."""


class AIMessage(Thing):
    """LangChain's, whole."""


def spoken(text: str) -> AIMessageChunk:
    return AIMessageChunk(content=text, type="AIMessageChunk")


WHOLE = AIMessage(content="24 months", type="ai")
HUMAN = Thing(content=ASKED, type="human")
NODE = {"langgraph_node": "answer"}
STREAMS: dict[str, list[Any]] = {
    "bedrock converse": [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "hm"}}}},
        {"contentBlockDelta": {"delta": {"text": "24 "}}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}},
        {"contentBlockDelta": {"delta": {"text": "months"}}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {}}},
    ],
    "bedrock agent": [{"chunk": {"bytes": b"24 "}}, {"trace": {}}, {"chunk": {"bytes": b"months"}}],
    "bedrock model": [
        {"chunk": {"bytes": b'{"type": "content_block_delta", "delta": {"text": "24 "}}'}},
        {"chunk": {"bytes": b'{"type": "content_block_delta", "delta": {"text": "months"}}'}},
    ],
    "gemini": [
        {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}]}}]},
        Thing(candidates=[Thing(content=Thing(parts=[Thing(text="24 ", thought=None)]))]),
        {"candidates": [{"content": {"parts": [{"text": "months"}], "role": "model"}}]},
        {"candidates": [{"finishReason": "STOP"}]},
    ],
    "cohere": [
        Thing(type="content-delta", delta=Thing(message=Thing(content=Thing(thinking="hm")))),
        Thing(type="content-delta", delta=Thing(message=Thing(content=Thing(text="24 ")))),
        Thing(type="content-delta", delta=Thing(message=Thing(content=Thing(text="months")))),
        Thing(type="message-end", delta=Thing(finish_reason="COMPLETE")),
    ],
    "cohere 1": [
        Thing(event_type="text-generation", text="24 "),
        Thing(event_type="text-generation", text="months"),
        Thing(event_type="stream-end", response=Thing(text="24 months")),
    ],
    "langgraph messages": [(spoken("24 "), NODE), (spoken("months"), NODE)],
    "langgraph tools": [
        (spoken(""), NODE), (Thing(content="found", type="tool"), NODE), (spoken("24 months"), NODE)
    ],
    "langgraph modes": [
        ("messages", (spoken("24 "), NODE)),
        ("messages", (spoken("months"), NODE)),
        ("updates", {"answer": {"messages": [WHOLE]}}),
    ],
    "langgraph updates": [{"search": {"documents": ["x"]}}, {"answer": {"messages": [WHOLE]}}],
    "langgraph values": [
        {"messages": [HUMAN]}, {"messages": [HUMAN, WHOLE]}, {"messages": [HUMAN, WHOLE]},
    ],
    "langgraph subgraphs": [(("sub:1",), (spoken("24 "), NODE)), ((), (spoken("months"), NODE))],
    "langchain events": [
        {"event": "on_chat_model_stream", "data": {"chunk": spoken("24 ")}},
        {"event": "on_chain_stream", "data": {"chunk": spoken("24 ")}},
        {"event": "on_chat_model_stream", "data": {"chunk": spoken("months")}},
        {"event": "on_chat_model_end", "data": {"output": WHOLE}},
        {"event": "on_chain_end", "data": {"output": WHOLE}},
    ],
    "refusal": [
        Thing(choices=[Thing(delta=Thing(content=None, refusal="24 "))]),
        Thing(choices=[Thing(delta=Thing(content=None, refusal="months"))]),
    ],
    "refusal of responses": [
        Thing(type="response.refusal.delta", delta="24 "),
        Thing(type="response.refusal.delta", delta="months"),
        Thing(type="response.refusal.done", refusal="24 months"),
    ],
    "agents": [
        Thing(
            type="raw_response_event",
            data=Thing(type="response.output_text.delta", delta="24 "),
        ),
        Thing(
            type="raw_response_event",
            data=Thing(type="response.output_text.delta", delta="months"),
        ),
        Thing(type="run_item_stream_event", item=Thing(type="message_output_item")),
    ],
    "strands": [
        {"event": {"contentBlockDelta": {"delta": {"text": "24 "}}}},
        {"data": "24 ", "delta": {"text": "24 "}},
        {"data": "months", "delta": {"text": "months"}},
        {"message": {"role": "assistant", "content": [{"text": "24 months"}]}},
    ],
    "adk": [
        Thing(author="a", partial=True, content=Thing(parts=[Thing(text="24 ")])),
        Thing(author="a", partial=True, content=Thing(parts=[Thing(text="months")])),
        Thing(author="a", partial=None, content=Thing(parts=[Thing(text="24 months")])),
    ],
    "cumulative": [
        {"output": {"choices": [{"message": {"role": "assistant", "content": "24 "}}]}},
        {"output": {"choices": [{"message": {"role": "assistant", "content": "24 months"}}]}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", STREAMS)
def test_s07_pieces_of_clients_and_agents_are_read(captured: InMemoryExporter, kind: str) -> None:
    pieces = STREAMS[kind]

    @rm.trace
    def handler(question: str) -> Iterator[Any]:
        yield from pieces

    assert list(handler(ASKED)) == pieces
    assert captured.records[0]["answer"] == "24 months"
    assert captured.records[0]["timings"]["first_byte_ms"] > 0


def test_s07_equal_pieces_are_no_repetition(captured: InMemoryExporter) -> None:
    @rm.trace
    def handler(question: str) -> Iterator[Any]:
        for _ in range(3):
            yield {"message": {"role": "assistant", "content": "1"}, "done": False}

    list(handler(ASKED))

    assert captured.records[0]["answer"] == "111"


REPLIES: dict[str, Any] = {
    "bedrock converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "24 months"}]}},
        "stopReason": "end_turn",
    },
    "gemini": {"candidates": [{"content": {"parts": [{"text": "24 months"}]}}]},
    "cohere": Thing(
        message=Thing(role="assistant", content=[Thing(type="text", text="24 months")])
    ),
    "langgraph": {"messages": [HUMAN, WHOLE]},
    "agents": Thing(input=ASKED, new_items=[], final_output="24 months"),
    "crew": Thing(raw="24 months", pydantic=None, tasks_output=[]),
    "autogen": Thing(
        messages=[Thing(source="user", content=ASKED), Thing(source="bot", content="24 months")]
    ),
    "pipeline": {
        "llm": {"replies": [Thing(_role="assistant", _content=[Thing(text="24 months")])]}
    },
    "refusal": Thing(choices=[Thing(message=Thing(content=None, refusal="24 months"))]),
    "refusal of responses": Thing(
        output=[Thing(type="message", content=[Thing(type="refusal", refusal="24 months")])]
    ),
    "messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "24 months"}],
    "generated": [{"generated_text": "24 months"}],
}


@pytest.mark.parametrize("kind", REPLIES)
def test_s07_replies_of_clients_and_agents_are_read(captured: InMemoryExporter, kind: str) -> None:
    assert rm.trace(lambda question: REPLIES[kind])(ASKED) is REPLIES[kind]
    assert captured.records[0]["answer"] == "24 months"


def test_s07_a_question_at_the_end_of_the_messages_is_no_answer(
    captured: InMemoryExporter,
) -> None:
    rm.trace(lambda question: {"messages": [HUMAN]})(ASKED)

    assert captured.records[0].get("answer") is None
