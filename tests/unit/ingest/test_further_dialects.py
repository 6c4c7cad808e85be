"""Names that only some senders use for what the conventions have a word for."""

from __future__ import annotations

import json

import pytest

from tests.unit.ingest.evidence import span, trace_of

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.system": "az.ai.inference"}


def _event(name: str, content: object) -> tuple[str, float, dict[str, object]]:
    return (name, 1, {"gen_ai.event.content": json.dumps(content)})


@pytest.mark.parametrize("content", ["q?", [{"type": "text", "text": "q?"}]])
def test_messages_of_azure_are_one_json_text_per_event(content: object) -> None:
    events = [
        _event("gen_ai.system.message", {"role": "system", "content": "Be brief."}),
        _event("gen_ai.user.message", {"role": "user", "content": content}),
        _event("gen_ai.choice", {"message": {"content": "a."}, "finish_reason": "stop"}),
    ]
    trace = trace_of(span(1, "chat", CHAT, events=events))
    assert (trace.question, trace.answer) == ("q?", "a.")


def test_a_choice_that_only_calls_a_tool_is_no_answer() -> None:
    events = [_event("gen_ai.choice", {"message": {"tool_calls": [{"id": "1"}]}, "index": 0})]
    assert trace_of(span(1, "chat", CHAT, events=events)).answer is None


@pytest.mark.parametrize(
    ("name", "value", "first_byte_ms"),
    [
        ("gen_ai.server.time_to_first_token", 0.02, 30),
        ("gen_ai.response.time_to_first_token", 20_000_000, 30),
        ("gen_ai.response.time_to_first_token", "20000000", 30),
        ("gen_ai.response.time_to_first_token", 0.02, None),  # not nanoseconds: who knows
        ("gen_ai.server.time_to_first_token", -1, None),
    ],
)
def test_the_first_token_has_more_names(
    name: str, value: object, first_byte_ms: float | None
) -> None:
    call = {"gen_ai.operation.name": "chat", "gen_ai.request.stream": True, name: value}
    trace = trace_of(
        span(1, "root", {"openinference.span.kind": "CHAIN", "input.value": "q?"}),
        span(2, "chat", call, parent=1, ms=(10, 90)),
    )
    assert trace.timings.first_byte_ms == first_byte_ms


@pytest.mark.parametrize(
    ("attributes", "user"),
    [
        ({"enduser.id": "u-7"}, "u-7"),
        ({"enduser.id": "u-7", "user.id": "u-8"}, "u-8"),
        ({"enduser.pseudo.id": "x"}, None),
    ],
)
def test_the_user_may_be_an_end_user(attributes: dict[str, object], user: str | None) -> None:
    assert trace_of(span(1, "chat", CHAT | attributes)).user_id == user
