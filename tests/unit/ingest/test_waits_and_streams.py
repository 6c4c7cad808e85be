"""Units of waits, the order of times, and streams of which a span without length tells the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.ingest.evidence import span, trace_of

CHAIN = {"openinference.span.kind": "CHAIN", "input.value": "q?", "output.value": "a."}
CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.input.messages": json.dumps([{"role": "user", "content": "q?"}]),
}
REPLY = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "a."}])}
NAMES = (
    "gen_ai.server.time_to_first_token",
    "gen_ai.response.time_to_first_chunk",
    "gen_ai.client.operation.time_to_first_chunk",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("wait", "first_ms"),
    [
        (0.28, 280),
        (280, 280),
        (280.0, 280),
        ("280", 280),
        (280_000, 280),
        (0.9, 900),
        (5e14, None),
        (-1, None),
    ],
)
def test_a_wait_longer_than_its_span_has_another_unit(
    name: str, wait: object, first_ms: float | None
) -> None:
    assert trace_of(span(1, "chat", CALL | {name: wait}, ms=(0, 900))).timings.first_byte_ms == (
        first_ms
    )


def test_a_wait_of_a_span_that_ended_before_its_stream_is_not_parts_of_a_millisecond() -> None:
    trace = trace_of(span(1, "chat", CALL | {NAMES[1]: 0.28}, ms=(0, 2)))
    assert trace.timings.first_byte_ms is None


@pytest.mark.parametrize(
    "extra",
    [
        {"events": [("First Token Stream Event", 400, {})]},
        {"events": [("gen_ai.content.completion.chunk", 400, {})]},
        {"attributes": {"gen_ai.response.time_to_first_token": 400_000_000}},
        {"attributes": {"ai.operationId": "ai.streamText.doStream",
                        "ai.response.msToFirstChunk": 400}},
    ],
)  # fmt: skip
def test_the_first_byte_never_comes_after_the_last(extra: dict[str, Any]) -> None:
    kind = {} if "attributes" in extra else {"openinference.span.kind": "LLM"}
    call = {**CALL, **kind, **extra.get("attributes", {})}
    trace = trace_of(
        span(1, "chain", CHAIN, ms=(0, 50)),
        span(2, "chat", call, parent=1, ms=(3, 40), events=extra.get("events", ())),
    )
    assert (trace.timings.first_byte_ms, trace.timings.end_to_end_ms) == (None, 50)


def test_a_root_that_ends_before_its_stream_does_lasts_until_the_answer_is_complete() -> None:
    call = {**CALL, **REPLY, NAMES[1]: 0.28}
    root = span(1, "chain", {"openinference.span.kind": "CHAIN", "input.value": "q?"}, ms=(0, 5))
    timings = trace_of(root, span(2, "chat", call, parent=1, ms=(3, 900))).timings
    assert (timings.first_byte_ms, timings.end_to_end_ms, timings.generation_ms) == (283, 900, 897)


RECORD = {
    **CALL,
    **REPLY,
    "gen_ai.usage.input_tokens": 5,
    "gen_ai.usage.output_tokens": 3,
    "duration": 0.25,
}


@pytest.mark.parametrize("parent", [1, 2], ids=["beside", "below"])
def test_a_span_without_length_tells_how_the_stream_of_its_call_ended(parent: int) -> None:
    trace = trace_of(
        span(1, "answer", ms=(0, 300)),
        span(2, "call", CALL, parent=1, ms=(5, 7)),
        span(3, "reply of the stream", RECORD, parent=parent, ms=(260, 260)),
    )
    assert (trace.question, trace.answer, trace.streamed) == ("q?", "a.", True)
    assert (trace.timings.generation_ms, trace.timings.first_byte_ms) == (295, None)
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (5, 3)


def test_each_of_two_streams_ends_its_own_call() -> None:
    other = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "hm"}])}
    trace = trace_of(
        span(1, "answer", ms=(0, 600)),
        span(2, "call", CALL, parent=1, ms=(5, 7)),
        span(3, "reply of the stream", RECORD | other, parent=1, ms=(260, 260)),
        span(4, "call", CALL, parent=1, ms=(265, 267)),
        span(5, "reply of the stream", RECORD, parent=1, ms=(500, 500)),
    )
    assert (trace.answer, trace.timings.generation_ms) == ("a.", 335)
    assert (trace.usage.input_tokens, trace.usage.output_tokens) == (10, 6)


def test_the_end_of_a_stream_without_its_call_says_how_long_it_took() -> None:
    trace = trace_of(
        span(1, "answer", ms=(0, 300)),
        span(3, "reply of the stream", RECORD, parent=1, ms=(260, 260)),
    )
    assert (trace.answer, trace.timings.generation_ms, trace.streamed) == ("a.", 290, True)
