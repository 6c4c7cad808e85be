"""Message content of every dialect, wherever it stands, through the one reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from rag_monitor.ingest.messages import Speaker, messages_in, reply_in, speaker_of, user_messages_in
from tests.unit.ingest.evidence import span, trace_of

ASKED = "May I take my dog on the ferry?"
SAID = "Yes, on a lead."
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
LANGCHAIN = ["langchain", "schema", "messages", "HumanMessage"]
Pair = tuple[object, object]
DIALECTS: dict[str, Pair] = {
    "text": (ASKED, SAID),
    "openai": (
        {"messages": [{"role": "user", "content": ASKED}]},
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": SAID}}]},
    ),
    "responses": (
        [{"role": "user", "content": [{"type": "input_text", "text": ASKED}]}],
        [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": SAID}],
            },
        ],
    ),
    "responses_call": (
        {"model": "m", "instructions": "Be brief.", "input": ASKED},
        {"output": [{"role": "assistant", "content": [{"type": "output_text", "text": SAID}]}]},
    ),
    "refusal_field": (
        [{"role": "user", "content": ASKED}],
        [{"role": "assistant", "content": None, "refusal": SAID}],
    ),
    "refusal_part": (
        [{"role": "user", "content": ASKED}],
        [{"role": "assistant", "content": [{"type": "refusal", "refusal": SAID}]}],
    ),
    "thoughts": (
        [{"role": "user", "parts": [{"type": "text", "content": ASKED}]}],
        [
            {
                "role": "assistant",
                "parts": [
                    {"type": "reasoning", "content": "hm"},
                    {"type": "text", "content": SAID},
                ],
            }
        ],
    ),
    "anthropic": (
        {
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": ASKED}, {"type": "image"}]}
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": SAID}],
        },
    ),
    "what_tools_returned": (
        [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": [{"type": "tool_use", "name": "rules"}]},
            {"role": "user", "content": [{"type": "tool_result", "content": "dogs: lead"}]},
        ],
        [{"role": "assistant", "content": SAID}],
    ),
    "gemini": (
        {"contents": [{"role": "user", "parts": [{"text": ASKED}]}]},
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": "hm", "thought": True}]}},
                {"content": {"role": "model", "parts": [{"text": SAID}]}},
            ]
        },
    ),
    "gemini_tools": (
        {
            "contents": [
                {"role": "user", "parts": [{"text": ASKED}]},
                {"role": "model", "parts": [{"function_call": {"name": "rules"}}]},
                {"role": "user", "parts": [{"function_response": {"response": "lead"}}]},
            ]
        },
        {"content": {"role": "model", "parts": [{"text": SAID}]}},
    ),
    "cohere_1": (
        {
            "message": ASKED,
            "chat_history": [
                {"role": "USER", "message": "Hello"},
                {"role": "CHATBOT", "message": "Hi"},
            ],
        },
        {"text": SAID, "generation_id": "g"},
    ),
    "cohere_2": (
        {"messages": [{"role": "user", "content": ASKED}]},
        {"message": {"role": "assistant", "content": [{"type": "text", "text": SAID}]}},
    ),
    "bedrock": (
        {
            "system": [{"text": "Be brief."}],
            "messages": [{"role": "user", "content": [{"text": ASKED}]}],
        },
        {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [
                        {"reasoningContent": {"reasoningText": {"text": "hm"}}},
                        {"text": SAID},
                    ],
                }
            }
        },
    ),
    "bedrock_titan": ({"inputText": ASKED}, {"results": [{"outputText": SAID}]}),
    "ollama": (
        {"messages": [{"role": "user", "content": ASKED}]},
        {"message": {"role": "assistant", "content": SAID}, "done": True},
    ),
    "langchain": (
        [[{"lc": 1, "id": LANGCHAIN, "kwargs": {"content": [{"type": "text", "text": ASKED}]}}]],
        [{"type": "AIMessageChunk", "data": {"content": SAID}}],
    ),
    "llama_index": (
        [{"role": "user", "blocks": [{"block_type": "text", "text": ASKED}]}],
        [{"role": "MessageRole.ASSISTANT", "blocks": [{"block_type": "text", "text": SAID}]}],
    ),
    "haystack": (
        [{"_role": "user", "_content": [{"text": ASKED}], "_meta": {}}],
        [{"role": "<ChatRole.ASSISTANT: 'assistant'>", "content": [{"text": SAID}]}],
    ),
    "pydantic_ai": (
        [{"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "Be brief."},
                                       {"part_kind": "user-prompt", "content": ASKED}]}],
        [{"kind": "response", "parts": [{"part_kind": "thinking", "content": "hm"},
                                        {"part_kind": "text", "content": SAID}]}],
    ),
    "parts_as_json": (
        [{"role": "user", "content": json.dumps([{"type": "text", "text": ASKED}])}],
        [{"role": "assistant", "content": json.dumps([{"text": SAID}])}],
    ),
    "printed_by_python": (
        f"[{{'role': 'user', 'content': [{{'type': 'text', 'text': '{ASKED}'}}]}}]",
        f"[{{'role': 'assistant', 'content': '{SAID}', 'refusal': None}}]",
    ),
    "two_choices": (
        [{"role": "user", "content": ASKED}],
        [{"role": "assistant", "content": SAID}, {"role": "assistant", "content": "No."}],
    ),
    "choices_out_of_order": (
        [{"role": "user", "content": ASKED}],
        {"choices": [
            {"index": 1, "message": {"role": "assistant", "content": "No."}},
            {"index": 0, "message": {"role": "assistant", "content": SAID}},
        ]},
    ),
    "conversation_of_an_agent": (
        [{"role": "user", "content": ASKED}],
        [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": "I look that up.", "tool_calls": [{"id": "1"}]},
            {"role": "tool", "content": "dogs: lead"},
            {"role": "assistant", "content": SAID},
        ],
    ),
}  # fmt: skip


def _written(value: object) -> object:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("structured", [True, False], ids=["structure", "json"])
def test_a_dialect_is_read_in_the_attributes_of_a_call(name: str, structured: bool) -> None:
    sent, returned = DIALECTS[name] if structured else map(_written, DIALECTS[name])
    call = {**CHAT, "gen_ai.input.messages": sent, "gen_ai.output.messages": returned}
    trace = trace_of(span(1, "chat", call))
    assert (trace.question, trace.answer) == (ASKED, SAID)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_is_read_in_an_event_with_the_details(name: str) -> None:
    sent, returned = DIALECTS[name]
    details = "gen_ai.client.inference.operation.details"
    events = [
        (details, 1, {"gen_ai.input.messages": sent}),
        (details, 2, {"gen_ai.output.messages": _written(returned)}),
    ]
    trace = trace_of(span(1, "chat", CHAT, events=events))
    assert (trace.question, trace.answer) == (ASKED, SAID)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    ("kind", "given", "returned"),
    [
        ({"openinference.span.kind": "LLM"}, "input.value", "output.value"),
        (
            {"langfuse.observation.type": "generation"},
            "langfuse.observation.input",
            "langfuse.observation.output",
        ),
        ({"mlflow.spanType": '"CHAT_MODEL"'}, "mlflow.spanInputs", "mlflow.spanOutputs"),
        ({"cozeloop.span_type": "model"}, "cozeloop.input", "cozeloop.output"),
    ],
    ids=["openinference", "langfuse", "mlflow", "coze_loop"],
)
def test_a_dialect_is_read_in_every_convention(
    name: str, kind: Mapping[str, object], given: str, returned: str
) -> None:
    sent, said = map(_written, DIALECTS[name])
    trace = trace_of(span(1, "call", {**kind, given: sent, returned: said}))
    assert (trace.question, trace.answer) == (ASKED, SAID)


@pytest.mark.parametrize(
    ("user", "choice"),
    [
        ({"content": ASKED}, {"message": SAID}),
        ({"content": [{"text": ASKED}]}, {"message": {"content": [{"text": SAID}]}}),
        (
            {"content": json.dumps([{"text": ASKED}])},
            {"message": json.dumps([{"text": SAID}]), "finish_reason": "end_turn"},
        ),
        (
            {"content": json.dumps([{"type": "input_text", "text": ASKED}])},
            {"message": json.dumps({"content": [{"type": "output_text", "text": SAID}]})},
        ),
        ({"content": ASKED}, {"message": json.dumps({"content": None, "refusal": SAID})}),
        (
            {"gen_ai.event.content": json.dumps({"role": "user", "content": ASKED})},
            {"gen_ai.event.content": json.dumps({"message": {"content": SAID}})},
        ),
    ],
)
@pytest.mark.parametrize("operation", ["chat", "invoke_agent"])
def test_messages_are_read_in_an_event_each(
    user: Mapping[str, object], choice: Mapping[str, object], operation: str
) -> None:
    events = [
        ("gen_ai.system.message", 1, {"content": "Be brief."}),
        ("gen_ai.user.message", 2, user),
        ("gen_ai.choice", 3, choice),
    ]
    trace = trace_of(span(1, "s", {"gen_ai.operation.name": operation}, events=events))
    assert (trace.question, trace.answer) == (ASKED, SAID)


def test_events_of_a_loop_give_the_last_answer_and_the_first_of_its_choices() -> None:
    tool_call = [{"text": "I look that up."}, {"toolUse": {"name": "rules", "input": {}}}]
    events = [
        ("gen_ai.user.message", 1, {"content": json.dumps([{"text": ASKED}])}),
        ("gen_ai.choice", 2, {"message": json.dumps(tool_call), "finish_reason": "tool_use"}),
        ("gen_ai.tool.message", 3, {"content": json.dumps([{"toolResult": {"content": "lead"}}])}),
        ("gen_ai.choice", 5, {"message": json.dumps([{"text": "No."}]), "index": 1}),
        ("gen_ai.choice", 4, {"message": json.dumps([{"text": SAID}]), "index": 0}),
    ]
    trace = trace_of(span(1, "chat", CHAT, events=events))
    assert (trace.question, trace.answer) == (ASKED, SAID)


WRITTEN_BY_PEOPLE = [
    '{"level":"error","code":504}',
    '{"message":"refused","level":"error"}',
    '{"query": "select 1"}',
    '[{"id": 1, "error": "refused"}]',
    "[1, 2, 3]",
    '"quoted"',
    "{'a': 1}",
    "Foo(bar=1) raises TypeError, why?",
]


@pytest.mark.parametrize("text", WRITTEN_BY_PEOPLE)
@pytest.mark.parametrize(
    "call",
    [
        lambda text: {"gen_ai.input.messages": json.dumps([{"role": "user", "content": text}])},
        lambda text: {
            "gen_ai.input.messages": [
                {"role": "user", "parts": [{"type": "text", "content": text}]}
            ]
        },
        lambda text: {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": text},
        lambda text: {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": text,
        },
        lambda text: {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": json.dumps([{"role": "user", "content": text}]),
        },
        lambda text: {
            "gcp.vertex.agent.llm_request": json.dumps(
                {"contents": [{"role": "user", "parts": [{"text": text}]}]}
            )
        },
    ],
    ids=["messages", "parts", "indexed", "openinference", "langfuse", "adk"],
)
def test_what_a_user_wrote_is_the_question_whatever_it_looks_like(text: str, call: Any) -> None:
    assert trace_of(span(1, "chat", {**CHAT, **call(text)})).question == text


@pytest.mark.parametrize("text", WRITTEN_BY_PEOPLE[:4])
def test_a_chain_was_asked_what_its_model_was_told_that_the_user_wrote(text: str) -> None:
    chain = {"openinference.span.kind": "CHAIN", "input.value": text, "output.value": SAID}
    model = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": text,
    }
    trace = trace_of(span(1, "chain", chain), span(2, "llm", model, parent=1))
    assert (trace.question, trace.answer) == (text, SAID)


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        (
            {"request_data": {"messages": [{"role": "user", "content": ASKED}], "model": "m"}},
            {"response_data": {"message": {"role": "assistant", "content": SAID}}},
        ),
        (
            {"request_data": {"messages": [{"role": "user", "content": ASKED}], "stream": True}},
            {"response_data": {"combined_chunk_content": SAID, "chunk_count": 3}},
        ),
        (
            {"events": [{"event.name": "gen_ai.user.message", "content": ASKED, "role": "user"},
                        {"event.name": "gen_ai.choice", "index": 0,
                         "message": {"role": "assistant", "content": SAID}}]},
            {},
        ),
        (
            {"pydantic_ai.all_messages": [
                {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "rules"}]},
                {"role": "user", "parts": [{"type": "tool_call_response", "result": "lead"}]},
                {"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]},
            {},
        ),
        (
            {"gcp.vertex.agent.llm_request": {"contents": [{"role": "user",
                                                            "parts": [{"text": ASKED}]}]}},
            {"gcp.vertex.agent.llm_response": {"content": {"role": "model",
                                                           "parts": [{"text": SAID}]}}},
        ),
    ],
    ids=["logfire", "logfire_stream", "listed_events", "pydantic_ai", "adk"],
)  # fmt: skip
def test_what_frameworks_write_under_names_of_their_own_is_read(
    request_: Mapping[str, object], reply: Mapping[str, object]
) -> None:
    written = {name: json.dumps(value) for name, value in {**request_, **reply}.items()}
    trace = trace_of(span(1, "chat", {"gen_ai.request.model": "m", **written}))
    assert (trace.question, trace.answer) == (ASKED, SAID)


def test_openinference_may_write_messages_in_one_attribute_or_one_each() -> None:
    sent, said = {"role": "user", "content": ASKED}, {"role": "assistant", "content": SAID}
    kind = {"openinference.span.kind": "LLM"}
    for written in (
        {"llm.input_messages": json.dumps([sent]), "llm.output_messages": [{"message": said}]},
        {"llm.input_messages.0": json.dumps(sent), "llm.output_messages.0.message": said},
    ):
        trace = trace_of(span(1, "llm", {**kind, **written}))
        assert (trace.question, trace.answer) == (ASKED, SAID)


def test_a_thought_among_the_parts_of_openinference_is_not_said() -> None:
    part = "llm.output_messages.0.message.contents.{}.message_content."
    llm = {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        part.format(0) + "type": "reasoning",
        part.format(0) + "text": "hm",
        part.format(1) + "type": "text",
        part.format(1) + "text": SAID,
    }
    assert trace_of(span(1, "llm", llm)).answer == SAID


@pytest.mark.parametrize(
    ("name", "speaker"),
    [
        ("USER", Speaker.USER),
        ("HumanMessageChunk", Speaker.USER),
        ("Role.developer", Speaker.SYSTEM),
        ("<ChatRole.TOOL: 'tool'>", Speaker.TOOL),
        ("CHATBOT", Speaker.ASSISTANT),
        ("narrator", None),
    ],
)
def test_a_speaker_is_known_by_many_names(name: str, speaker: Speaker | None) -> None:
    assert speaker_of(name) is speaker


@pytest.mark.parametrize(
    "value", [None, 7, "", [], {}, [[]], [None], {"messages": 5}, '[{"role": "us', {"role": 3}]
)
def test_what_holds_no_message_says_nothing(value: object) -> None:
    for speaker in (Speaker.USER, Speaker.ASSISTANT):
        messages = messages_in(value, speaker)
        assert user_messages_in(messages) == ()
        assert reply_in(messages) is None
