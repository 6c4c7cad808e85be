"""Agents search by tools: what those return is what reached the model, where it is passages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.trace import Trace
from tests.unit.ingest.evidence import span, trace_of

FOUND = [
    {"id": "menu-1", "text": "Breakfast is served until 10:30.", "score": 0.8},
    {"id": "menu-2", "text": "早餐在二楼餐厅。", "score": 0.5},
]
LISTED = json.dumps(FOUND, ensure_ascii=False)
QUESTION = "When is breakfast?"
CALLED = {"type": "tool_call", "arguments": {"query": "breakfast hours"}}


def agent(
    result: object = None,
    *more: dict[str, Any],
    name: str = "search_menu",
    arguments: object = '{"query": "breakfast hours"}',
    **tool: Any,
) -> Trace:
    """An agent that calls one tool and then the model."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": result,
        **tool.pop("attributes", {}),
    }
    call = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": QUESTION}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Until 10:30."}]),
    }
    return trace_of(
        span(1, "invoke_agent waiter", {"gen_ai.operation.name": "invoke_agent"}, ms=(0, 100)),
        span(2, f"execute_tool {name}", attributes, parent=1, ms=(10, 30), **tool),
        span(3, "chat m", call, parent=1, ms=(40, 90)),
        *more,
    )


def passages(trace: Trace) -> list[dict[str, object]] | None:
    if trace.contexts is None:
        return None
    return [{"id": d.id, "text": d.content, "score": d.score} for d in trace.contexts]


@pytest.mark.parametrize(
    "result",
    [
        LISTED,
        FOUND,
        str(FOUND),
        json.dumps(LISTED),
        {"results": FOUND},
        {"result": LISTED},
        {"matches": FOUND, "total": 2},
        [{"text": LISTED}],
        [{"type": "text", "text": LISTED}],
        [{"type": "text", "text": json.dumps(one, ensure_ascii=False)} for one in FOUND],
        [{"json": {"results": FOUND}}],
        {"content": [{"type": "text", "text": LISTED}], "isError": False},
        {"toolUseId": "t-1", "status": "success", "content": [{"text": LISTED}]},
        {"blocks": [{"block_type": "text", "text": LISTED}], "tool_name": "search_menu"},
        {"tool_name": "search_menu", "tool_output": {"blocks": [{"text": LISTED}]}},
        {"role": "tool", "tool_call_id": "c-1", "content": LISTED},
        {"output": {"lc": 1, "kwargs": {"content": LISTED}}},
        [[{"id": one["id"], "page_content": one["text"]}, one["score"]] for one in FOUND],
    ],
)
def test_passages_that_a_tool_found_are_what_reached_the_model(result: object) -> None:
    trace = agent(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))
    assert passages(trace) == FOUND
    (hit,) = [hit for hit in trace.hits if hit.kind is HitKind.PLUGIN]
    assert (hit.name, hit.items) == ("search_menu", 2)


def test_a_search_by_a_tool_is_a_retrieval_and_no_hit_of_a_knowledge_base() -> None:
    trace = agent(LISTED, name="ask_the_kitchen")
    (retrieval,) = trace.retrievals
    assert (retrieval.query, retrieval.knowledge_base) == ("breakfast hours", None)
    assert retrieval.latency_ms == trace.timings.retrieval_ms == 20
    assert trace.timings.generation_ms == 70
    assert trace.question == QUESTION
    assert [hit.kind for hit in trace.hits] == [HitKind.PLUGIN]


@pytest.mark.parametrize(
    "result",
    [
        [{"id": 7, "status": "shipped", "total": 12.5}],
        ["Rome", "Paris"],
        [{"text": "It is sunny."}, {"text": "22 degrees"}],
        [{"role": "user", "content": "Hello", "id": "m-1"}],
        {"temperature": 22, "hours": [1, 2, 3]},
        {"id": "o-1", "text": "one order"},
        [],
        7,
        "sunny",
    ],
)
def test_what_other_tools_return_is_no_passage(result: object) -> None:
    trace = agent(json.dumps(result), name="current_state")
    assert (trace.contexts, trace.context_block, trace.retrievals) == (None, None, ())


@pytest.mark.parametrize(
    "name",
    [
        "search",
        "web_search",
        "vectorSearch",
        "retrieve-docs",
        "KnowledgeLookup",
        "faq",
        "查找知识库",
    ],
)
def test_a_tool_that_searches_by_its_name_returns_passages_without_ids(name: str) -> None:
    trace = agent(json.dumps(["Until 10:30.", "On the second floor."]), name=name)
    assert [d.content for d in trace.contexts or ()] == ["Until 10:30.", "On the second floor."]
    assert agent("[]", name=name).contexts == ()
    undivided = agent("Breakfast ends at 10:30.", name=name)
    assert (undivided.contexts, undivided.context_block) == (None, "Breakfast ends at 10:30.")


@pytest.mark.parametrize("name", ["reservations", "fetch_storage", "paragraphs", "docker_state"])
def test_a_part_of_a_word_does_not_make_a_search(name: str) -> None:
    assert agent('["Rome"]', name=name).contexts is None


def test_a_retriever_inside_a_tool_is_the_search() -> None:
    inner = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "menu",
        "gen_ai.retrieval.documents": json.dumps([{"id": "row-9", "content": "Until 10:30."}]),
    }
    trace = agent(LISTED, span(4, "retrieval menu", inner, parent=2, ms=(12, 20)))
    assert [d.id for d in trace.contexts or ()] == ["row-9"]
    assert [f"{hit.kind.value} {hit.name}" for hit in trace.hits] == [
        "plugin search_menu",
        "knowledge_base menu",
    ]


def test_passages_of_a_retriever_and_of_a_tool_beside_it_reached_the_model() -> None:
    beside = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.documents": json.dumps([{"id": "row-9", "content": "Until 10:30."}]),
    }
    trace = agent(LISTED, span(4, "retrieval menu", beside, parent=1, ms=(2, 8)))
    assert {d.id for d in trace.contexts or ()} == {"row-9", "menu-1", "menu-2"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "breakfast hours"},
        {"kwargs": {"query": "breakfast hours"}},
        {"args": [], "sanitize_inputs_outputs": True, "kwargs": {"query": "breakfast hours"}},
        {"input_str": "x", "inputs": {"query": "breakfast hours"}, "tags": [], "kwargs": {}},
    ],
)
def test_arguments_are_shown_without_the_call_around_them(arguments: object) -> None:
    trace = agent(LISTED, arguments=json.dumps(arguments))
    (tool,) = trace.attributes["tools"]  # type: ignore[misc]
    assert tool["arguments"] == {"query": "breakfast hours"}
    assert trace.retrievals[0].query == "breakfast hours"


@pytest.mark.parametrize(
    "events",
    [
        [
            ("gen_ai.tool.message", 10, {"content": '{"query": "breakfast hours"}', "id": "c"}),
            ("gen_ai.choice", 30, {"message": json.dumps([{"text": LISTED}]), "id": "c"}),
        ],
        [
            (
                "gen_ai.client.inference.operation.details",
                30,
                {
                    "gen_ai.input.messages": json.dumps(
                        [
                            {
                                "role": "tool",
                                "parts": [CALLED],
                            }
                        ]
                    ),
                    "gen_ai.output.messages": json.dumps(
                        [
                            {
                                "role": "tool",
                                "parts": [{"type": "tool_call_response", "response": FOUND}],
                            }
                        ]
                    ),
                },
            )
        ],
    ],
)
def test_what_a_tool_returned_may_stand_in_events(events: Any) -> None:
    made = span(
        2,
        "execute_tool search_menu",
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search_menu"},
        parent=1,
        ms=(10, 30),
        events=events,
    )
    trace = trace_of(
        span(1, "invoke_agent waiter", {"gen_ai.operation.name": "invoke_agent"}),
        made,
        span(3, "chat m", {"gen_ai.operation.name": "chat"}, parent=1, ms=(40, 90)),
    )
    assert passages(trace) == FOUND
    (tool,) = trace.attributes["tools"]  # type: ignore[misc]
    assert tool["arguments"] == {"query": "breakfast hours"}


@pytest.mark.parametrize(
    "root",
    [
        "ChatMessageStreamDelta(content=None, calls=[Call(index=0, name='search_menu')])"
        "ActionOutput(output=None, is_final_answer=False)FinalAnswerStep(output='Until 10:30.')",
        None,
    ],
)
def test_an_agent_that_answers_by_a_tool_has_answered(root: str | None) -> None:
    def step(number: int, kind: str, **values: object) -> dict[str, Any]:
        attributes = {"openinference.span.kind": kind, **values}
        return span(number, f"step {number}", attributes, parent=1, ms=(number, number + 1))

    trace = trace_of(
        span(
            1,
            "agent",
            {
                "openinference.span.kind": "AGENT",
                "input.value": QUESTION,
                **({"output.value": root} if root else {}),
            },
        ),
        step(2, "LLM", **{"llm.model_name": "m", "output.value": "I will look it up."}),
        step(3, "TOOL", **{"tool.name": "search_menu", "output.value": LISTED}),
        step(4, "LLM", **{"llm.model_name": "m"}),
        step(5, "TOOL", **{"tool.name": "final_answer", "output.value": "Until 10:30."}),
    )
    assert (trace.question, trace.answer) == (QUESTION, "Until 10:30.")
    assert passages(trace) == FOUND


def test_a_workflow_is_not_called_by_the_id_of_one_run() -> None:
    name = "Crew_275ebf8f-ca7f-4fbb-8b89-10e8b7aaddba.kickoff"
    root = {"openinference.span.kind": "CHAIN", "input.value": QUESTION, "output.value": "Yes."}
    trace = trace_of(span(1, name, root))
    assert [hit.name for hit in trace.hits] == ["Crew.kickoff"]
