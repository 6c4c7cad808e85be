"""What single frameworks do in their own way, in the smallest spans that show it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_monitor.domain.hit import HitKind
from tests.unit.ingest.evidence import span, trace_of

QUESTION = "Where do I park?"
ANSWER = "In the yard."
ASKED = json.dumps([{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}])
SAID = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}])
NODE = {"node": {"id_": "yard-1", "text": "Cars park in the yard."}, "score": 0.7}


def chat(**more: object) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": ASKED,
        "gen_ai.output.messages": SAID,
        **more,
    }


@pytest.mark.parametrize(
    ("flags", "streamed"),
    [
        ({}, None),
        ({"gen_ai.request.stream": True}, True),
        ({"gen_ai.request.stream": "true"}, True),
        ({"gen_ai.request.stream": False}, False),
        ({"gen_ai.is_streaming": False}, False),
        ({"llm.is_streaming": "True"}, True),
        ({"llm.is_streaming": "False"}, False),
        ({"gen_ai.request.stream": "perhaps"}, None),
    ],
)
def test_a_sender_that_does_not_say_whether_it_streamed_is_not_guessed_at(
    flags: dict[str, object], streamed: bool | None
) -> None:
    trace = trace_of(span(1, "chat m", chat(**flags), ms=(0, 80)))
    assert trace.streamed is streamed
    assert trace.timings.first_byte_ms == (80 if streamed is False else None)


@pytest.mark.parametrize("scope", ["pydantic-ai", "logfire.openai"])
def test_silence_means_no_where_the_sender_says_it_when_it_streams(scope: str) -> None:
    trace = trace_of(span(1, "chat m", chat(), ms=(0, 80)), scope=scope)
    assert (trace.streamed, trace.timings.first_byte_ms) == (False, 80)


def test_pieces_of_a_stream_before_the_whole_are_no_choices() -> None:
    def piece(text: str, finish: str) -> dict[str, Any]:
        parts = [{"type": "text", "content": text}]
        return {"role": "assistant", "parts": parts, "finish_reason": finish}

    pieces = [piece("In the", ""), piece(" yard.", ""), piece(ANSWER, "stop")]
    trace = trace_of(span(1, "chat m", chat(**{"gen_ai.output.messages": json.dumps(pieces)})))
    assert trace.answer == ANSWER
    choices = [piece(ANSWER, "stop"), piece("On the roof.", "stop")]
    trace = trace_of(span(1, "chat m", chat(**{"gen_ai.output.messages": json.dumps(choices)})))
    assert trace.answer == ANSWER


def test_the_members_of_a_reply_that_are_null_do_not_make_it_a_part_of_a_message() -> None:
    content = [{"type": "output_text", "text": ANSWER}]
    reply = {"id": "r", "image": None, "output": [{"role": "assistant", "content": content}]}
    kinds = {"openinference.span.kind": "LLM", "llm.model_name": "m", "input.value": QUESTION}
    trace = trace_of(span(1, "generation", {**kinds, "output.value": json.dumps([reply])}))
    assert trace.answer == ANSWER


def test_what_only_puts_a_request_together_is_no_call_of_the_model() -> None:
    kind = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
    tokens = {"llm.token_count.prompt": 7, "llm.token_count.completion": 3}
    trace = trace_of(
        span(1, "Agent.run", {"openinference.span.kind": "CHAIN", "input.value": QUESTION}),
        span(2, "OpenAI._prepare_chat_with_tools", kind, parent=1, ms=(1, 2)),
        span(3, "OpenAI.achat", {**kind, **tokens, "output.value": ANSWER}, parent=1, ms=(3, 90)),
    )
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (7, 3)


def task(number: int, name: str, **attributes: object) -> dict[str, Any]:
    fields = {"traceloop.span.kind": "task", "traceloop.entity.name": f"{name}.task"}
    return span(number, f"{name}.task", fields | attributes, parent=1, ms=(number, number + 1))


def workflow(*steps: dict[str, Any]) -> Any:
    fields = {"traceloop.span.kind": "workflow", "traceloop.entity.name": "Engine.workflow"}
    return trace_of(
        span(1, "Engine.workflow", fields),
        *steps,
        span(9, "chat m", chat(), parent=1, ms=(20, 90)),
    )


@pytest.mark.parametrize("key", ["query_bundle", "str_or_query_bundle"])
def test_a_task_that_turns_a_query_into_nodes_is_a_retriever_whatever_its_class(key: str) -> None:
    given = {key: {"query_str": QUESTION}}
    found = json.dumps([json.dumps(NODE)])
    io = {"traceloop.entity.input": json.dumps(given), "traceloop.entity.output": found}
    trace = workflow(task(2, "HotelMap", **io))
    assert [(d.id, d.content, d.score) for d in trace.contexts or ()] == [
        ("yard-1", "Cars park in the yard.", 0.7)
    ]
    assert [h.kind for h in trace.hits] == [HitKind.WORKFLOW, HitKind.KNOWLEDGE_BASE]


def test_a_task_that_turns_nodes_into_nodes_is_a_reranker() -> None:
    given = {"nodes": [json.dumps(NODE)], "query_bundle": {"query_str": QUESTION}}
    found = json.dumps([json.dumps(NODE)])
    io = {"traceloop.entity.input": json.dumps(given), "traceloop.entity.output": found}
    trace = workflow(task(2, "MyOrder", **io))
    assert [r.reranked for r in trace.retrievals] == [True]


def test_a_task_with_the_name_of_a_tool_is_a_call_of_it() -> None:
    returned = {"tool_name": "find_yard", "tool_output": {"blocks": [{"text": "[]"}]}}
    io = {
        "tool.name": "find_yard",
        "tool.arguments": '{"query": "yard"}',
        "traceloop.entity.output": json.dumps(returned),
    }
    trace = workflow(task(2, "BaseWorkflowAgent", **io))
    assert [(h.kind, h.name) for h in trace.hits][1:] == [(HitKind.PLUGIN, "find_yard")]
    (tool,) = trace.attributes["tools"]
    assert (tool["arguments"], tool["result"]) == ({"query": "yard"}, [])


def test_a_crew_was_asked_what_its_task_says_and_not_the_prompt_around_it() -> None:
    prompt = f"\nCurrent Task: {QUESTION}\n\nThis is the expected criteria for your final answer: …"
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": prompt}]}])
    agent = {"gen_ai.operation.name": "invoke_agent"}
    kinds = {"traceloop.span.kind": "task", "crewai.task.description": QUESTION}
    trace = trace_of(
        span(1, "crewai.workflow", agent),
        span(2, f"{QUESTION}.task", agent | kinds, parent=1),
        span(3, "chat m", chat(**{"gen_ai.input.messages": asked}), parent=2, ms=(10, 90)),
    )
    assert (trace.question, trace.answer) == (QUESTION, ANSWER)
