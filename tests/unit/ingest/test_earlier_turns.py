"""The turns before a question, found in the messages of the trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_monitor.domain.conversation import LONGEST_ANSWER, EarlierTurn
from rag_monitor.ingest.options import DeriveOptions
from tests.unit.ingest.evidence import span, trace_of

ADULTS = {"role": "user", "content": "What do adults pay?"}
PRICE = {"role": "assistant", "content": "14 euros."}
STUDENTS = {"role": "user", "content": "And students?"}
TURN = EarlierTurn(question="What do adults pay?", answer="14 euros.")


def parts(message: dict[str, str]) -> dict[str, Any]:
    return {
        "role": message["role"],
        "parts": [{"type": "text", "content": message["content"]}],
    }


def chat(messages: list[dict[str, Any]], **more: object) -> dict[str, Any]:
    said = {"role": "assistant", "content": "9 euros."}
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps([parts(said)]),
        **more,
    }


@pytest.mark.parametrize("written", [parts, dict], ids=["parts", "OpenAI"])
def test_the_messages_before_the_last_question_are_earlier_turns(written: Any) -> None:
    system = {"role": "system", "content": "Be brief."}
    messages = [written(message) for message in (system, ADULTS, PRICE, STUDENTS)]
    trace = trace_of(span(1, "chat m", chat(messages)))

    assert trace.question == "And students?"
    assert trace.history == (TURN,)


def test_a_prompt_around_the_question_still_continues_its_conversation() -> None:
    prompt = {"role": "user", "content": "Context: students pay 9 euros.\nQuestion: And students?"}
    trace = trace_of(
        span(1, "ask", {"input.value": "And students?", "openinference.span.kind": "CHAIN"}),
        span(2, "chat m", chat([ADULTS, PRICE, prompt]), parent=1),
    )

    assert trace.question == "And students?"
    assert trace.history == (TURN,)


def test_openinference_messages_are_read() -> None:
    messages = {
        f"llm.input_messages.{n}.message.{name}": message[name]
        for n, message in enumerate((ADULTS, PRICE, STUDENTS))
        for name in message
    }
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "9 euros.",
        **messages,
    }

    assert trace_of(span(1, "llm", attributes)).history == (TURN,)


def test_the_chat_history_of_a_chain_is_read() -> None:
    given = json.dumps({"input": "And students?", "chat_history": [ADULTS, PRICE]})
    trace = trace_of(
        span(
            1,
            "chain",
            {
                "openinference.span.kind": "CHAIN",
                "input.value": given,
                "output.value": json.dumps({"output": "9 euros."}),
            },
        )
    )

    assert trace.question == "And students?"
    assert trace.history == (TURN,)


def test_a_session_tells_of_its_turns_itself() -> None:
    messages = [parts(message) for message in (ADULTS, PRICE, STUDENTS)]
    trace = trace_of(span(1, "chat m", chat(messages, **{"session.id": "s-1"})))

    assert trace.session_id == "s-1"
    assert trace.history == ()


def test_calls_of_tools_are_no_turns() -> None:
    messages = [
        parts(ADULTS),
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "search"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "result": "14"}]},
        parts(PRICE),
        parts(STUDENTS),
    ]

    assert trace_of(span(1, "chat m", chat(messages))).history == (TURN,)


def test_a_first_question_has_no_history() -> None:
    assert trace_of(span(1, "chat m", chat([parts(ADULTS)]))).history == ()


def test_turns_are_cut_and_redacted() -> None:
    long = {"role": "assistant", "content": "anna " + "x" * 9_000}
    options = DeriveOptions(redactor=lambda text: text.replace("anna", "…"))
    messages = [parts(message) for message in (ADULTS, long, STUDENTS)]
    [turn] = trace_of(span(1, "chat m", chat(messages)), options=options).history

    assert turn.answer.startswith("… x")
    assert len(turn.answer) <= LONGEST_ANSWER


def test_a_secret_at_the_cut_is_redacted_first() -> None:
    secret = {"role": "assistant", "content": "x" * (LONGEST_ANSWER - 2) + "4111111111111111"}
    options = DeriveOptions(redactor=lambda text: text.replace("4111111111111111", "…"))
    messages = [parts(message) for message in (ADULTS, secret, STUDENTS)]
    [turn] = trace_of(span(1, "chat m", chat(messages)), options=options).history

    assert "4" not in turn.answer


def test_what_cannot_be_redacted_is_not_kept() -> None:
    def fails(text: str) -> str:
        if "adults" in text:
            raise ValueError
        return text

    messages = [parts(message) for message in (ADULTS, PRICE, STUDENTS)]

    assert (
        trace_of(span(1, "c", chat(messages)), options=DeriveOptions(redactor=fails)).history == ()
    )
