"""What languages print of their objects is told from what people write."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from rag_monitor.ingest.reprs import is_printed_object, literal
from tests.unit.ingest.evidence import span, trace_of

PRINTED = [
    "RunStarted()",
    "Reply(message=ChatMessage(role=<Role.ASSISTANT: 'assistant'>, blocks=[Text(text='Yes, on...",
    "ChatMessage(_role=<Role.USER: 'user'>, _content=[Text(text='it\\'s')], _meta={})",
    "[HumanMessage(content=\"it's\"), AIMessage(content='x')]",
    "content='Yes, on a lead.' additional_kwargs={} response_metadata={} id='run-1'",
    "messages=[HumanMessage(content='x')] next=None",
    "raw='Yes, on a lead.'",
    "content='Yes, on",
    "OrderedDict([('a', 1)])",
    "<openai.Stream object at 0x7f00aa>",
    "<generator object answer at 0x7f>",
    "<coroutine object A.b at 0x7f1>",
    "<bound method A.b of <a.A object at 0x1>>",
    "<class 'ferry.Answer'>",
    "<Role.USER: 'user'>",
    "[object Object]",
    "com.acme.Answer@1a2b3c4d",
    "UserMessage{content='q', role=user}",
    "ChatResponse [result=x, usage=y]",
    "&{Answer:hello}",
    "map[answer:hi]",
    "#<Answer:0x000>",
]
WRITTEN = [
    "How long is the ferry?",
    "DataFrame(index=df.index) raises KeyError, why?",
    "print(x) fails",
    "f(x)=2",
    "The rate (2024) is 3%",
    "[1] Dogs travel on deck.",
    "<p>Yes, on a lead.</p>",
    "What is x='a' in Python, and why?",
    "HTTP(S) is secure",
    "VAT(20%) applies",
    "size='XL' please, and which colour?",
    "map of [x]",
    "Bob's answer (see p. 3",
    "允许携带犬只(须系绳)",
]


@pytest.mark.parametrize("text", PRINTED)
def test_a_printed_object_is_no_text(text: str) -> None:
    assert is_printed_object(text)
    assert is_printed_object(f"  {text}\n")


@pytest.mark.parametrize("text", WRITTEN)
def test_what_people_write_is_no_printed_object(text: str) -> None:
    assert not is_printed_object(text)


@pytest.mark.parametrize(
    "value",
    [
        {"a": None, "b": [1, -2.5e3], "c": True},
        [{"type": "text", "text": "it's\n中\\"}],
        ["a", 'b"c', "b's"],
        [{"a": {"b": [[], {}]}}],
    ],
)
def test_lists_and_objects_that_python_printed_are_read(value: Any) -> None:
    assert literal(repr(value)) == value


def test_tuples_are_read_as_lists() -> None:
    assert literal("[('a', 0.5), ('b',)]") == [["a", 0.5], ["b"]]


@pytest.mark.parametrize("text", ["{'a': <A object>}", "[{'a': ", "{'a', 'b'}", "['a' 'b']", "{"])
def test_what_python_did_not_print_whole_is_not_read(text: str) -> None:
    assert literal(text) is None


@pytest.mark.parametrize(
    "text",
    ["A(" * 200_000, "A(x='" + "'" * 400_000, "a='" * 150_000, "[{'" * 150_000, "<" * 400_000],
)
def test_no_text_takes_long_to_look_through(text: str) -> None:
    began = time.perf_counter()
    is_printed_object(text)
    literal(text)
    assert time.perf_counter() - began < 5


ROOTS = [
    ("openinference.span.kind", "CHAIN", "input.value", "output.value"),
    ("langfuse.observation.type", "span", "langfuse.observation.input",
     "langfuse.observation.output"),
    ("mlflow.spanType", '"CHAIN"', "mlflow.spanInputs", "mlflow.spanOutputs"),
    ("cozeloop.span_type", "agent", "cozeloop.input", "cozeloop.output"),
    ("traceloop.span.kind", "workflow", "traceloop.entity.input", "traceloop.entity.output"),
]  # fmt: skip
UNREADABLE = [
    PRINTED[0],
    PRINTED[1],
    PRINTED[4],
    json.dumps({"llm": {"replies": [PRINTED[2]]}}),
    json.dumps({"steps": [{"n": 1}], "passed": True}),
    json.dumps([{"id": "p-1", "content": "Dogs travel on deck."}]),
    json.dumps({"messages": [{"role": "tool", "content": "deck"}]}),
    '{"cut off": [{"n',
]


@pytest.mark.parametrize("written", UNREADABLE)
@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root[0].partition(".")[0])
def test_a_structure_is_neither_question_nor_answer_and_the_model_call_is_asked(
    root: tuple[str, str, str, str], written: str
) -> None:
    kind, value, given, returned = root
    top = span(1, "run", {kind: value, given: written, returned: written})
    model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    said = {
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": "A dog?"}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "On deck."}]),
    }
    asked = trace_of(top, span(2, "chat", model | said, parent=1))
    assert (asked.question, asked.answer) == ("A dog?", "On deck.")
    unknown = trace_of(top, span(2, "chat", model, parent=1))
    assert (unknown.question, unknown.answer) == (None, None)


@pytest.mark.parametrize(
    ("given", "question"),
    [
        ({"data": {"retriever": {"query": "A dog?"}, "prompt": {"question": "A dog?"}}}, "A dog?"),
        ({"retriever": {"query": "A dog?"}, "rewriter": {"query": "A cat?"}}, None),
        ({"question": '{"level": "error"}'}, '{"level": "error"}'),
        ({"inputs": '{"input": ""}'}, None),
        ({"question": "Answer()"}, None),
    ],
)
def test_the_question_is_found_within_a_structure(given: object, question: str | None) -> None:
    chain = {"openinference.span.kind": "CHAIN", "input.value": json.dumps(given)}
    assert trace_of(span(1, "c", chain | {"output.value": "On deck."})).question == question


@pytest.mark.parametrize(
    "returned",
    [
        {"llm": {"replies": ["On deck."], "meta": [{}]}, "retriever": {"documents": []}},
        {"answer": "On deck.", "sources": [{"content": "Dogs travel on deck."}]},
        {"agent": {"messages": [{"type": "ai", "content": "On deck."}]}, "tools": {"n": 1}},
        [{"generated_text": "On deck."}],
        {"raw": "On deck.", "tasks_output": [{"raw": "On deck."}]},
    ],
)
def test_the_answer_is_found_within_a_structure(returned: object) -> None:
    chain = {"openinference.span.kind": "CHAIN", "output.value": json.dumps(returned)}
    assert trace_of(span(1, "c", chain)).answer == "On deck."
