"""Messages that come as log records are those of the span they name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from rag_monitor.domain.trace import Trace, utc_from_ns
from rag_monitor.errors import StoreUnavailable
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.receiver import Receiver
from tests.unit.ingest.evidence import (
    RECEIVED,
    START_NS,
    TRACE_ID,
    Sink,
    pairs,
    request,
    span,
    value,
)

JSON = "application/json"
ASKED = "May I take my dog?"
SAID = "Yes, on a lead."
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.system": "openai"}


def record(
    name: str, body: object = None, attributes: dict[str, object] | None = None, **fields: Any
) -> dict[str, Any]:
    return {
        "timeUnixNano": str(START_NS + 1_000_000),
        "eventName": name,
        "traceId": TRACE_ID,
        "spanId": f"{2:016x}",
        "body": value(body),
        "attributes": pairs(attributes or {}),
        **fields,
    }


def logs(*records: dict[str, Any]) -> bytes:
    resource = {"attributes": pairs({"service.name": "ferry-desk"})}
    scopes = [{"scope": {"name": "tests"}, "logRecords": list(records)}]
    return json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": scopes}]}).encode()


MESSAGES = (
    record("gen_ai.system.message", {"content": "Be brief."}),
    record("gen_ai.user.message", {"content": ASKED}),
    record("gen_ai.choice", {"index": 0, "message": {"role": "assistant", "content": SAID}}),
)
DETAILS = "gen_ai.client.inference.operation.details"
SENT = [{"role": "user", "parts": [{"type": "text", "content": ASKED}]}]
RETURNED = [{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]
FORMS: dict[str, Sequence[dict[str, Any]]] = {
    "an_event_each": MESSAGES,
    "texts": (record("gen_ai.user.message", ASKED), record("gen_ai.choice", SAID)),
    "attributes": (
        record("gen_ai.user.message", None, {"content": ASKED}),
        record("gen_ai.choice", None, {"message": json.dumps({"content": SAID}), "index": 0}),
    ),
    "json_of_messages": (
        record("gen_ai.user.message", json.dumps({"role": "user", "content": ASKED})),
        record(
            "gen_ai.choice",
            json.dumps(
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": SAID},
                    "finish_reason": "stop",
                }
            ),
        ),
    ),
    "json_with_more": (
        record("gen_ai.user.message", json.dumps({"role": "user", "content": ASKED, "turn": 1})),
        record("gen_ai.choice", json.dumps({"message": {"content": SAID}, "turn": 2})),
    ),
    "json_of_parts": (
        record("gen_ai.user.message", json.dumps({"content": [{"type": "text", "text": ASKED}]})),
        record(
            "gen_ai.choice",
            json.dumps({"message": {"parts": [{"type": "text", "content": SAID}]}, "index": 0}),
        ),
    ),
    "json_in_json": (
        record("gen_ai.user.message", json.dumps(json.dumps({"content": ASKED}))),
        record("gen_ai.choice", json.dumps({"message": json.dumps({"content": SAID})})),
    ),
    "json_of_parts_alone": (
        record("gen_ai.user.message", json.dumps([{"type": "text", "text": ASKED}])),
        record("gen_ai.choice", json.dumps([{"type": "output_text", "text": SAID}])),
    ),
    "parts_alone": (
        record("gen_ai.user.message", [{"type": "text", "text": ASKED}]),
        record("gen_ai.choice", [{"type": "text", "text": SAID}]),
    ),
    "json_details": (
        record(
            DETAILS,
            json.dumps({"gen_ai.input.messages": SENT, "gen_ai.output.messages": RETURNED}),
        ),
    ),
    "json_input_and_output": (
        record("", json.dumps({"input": {"messages": SENT}, "output": {"messages": RETURNED}})),
    ),
    "older_names": (
        record("", {"content": ASKED}, {"event.name": "gen_ai.user.message"}),
        record("", {"message": {"content": SAID}}, {"event.name": "gen_ai.choice"}),
    ),
    "details": (
        record(DETAILS, None, {"gen_ai.input.messages": SENT, "gen_ai.output.messages": RETURNED}),
    ),
    "details_as_json": (
        record(DETAILS, {"gen_ai.input.messages": json.dumps(SENT)}),
        record(DETAILS, None, {"gen_ai.output.messages": json.dumps(RETURNED)}),
    ),
    "one_body": (
        record(
            "some.scope",
            {
                "input": {"messages": [{"role": "user", "content": {"content": ASKED}}]},
                "output": {"messages": [{"role": "assistant", "content": {"message": SAID}}]},
            },
        ),
    ),
}


async def _sent(*bodies: tuple[str, bytes]) -> Trace:
    """The trace of requests in this order."""
    sink = Sink()
    receiver = Receiver(sink)
    for kind, body in bodies:
        receive = receiver.receive_logs if kind == "logs" else receiver.receive_traces
        reply = await receive(body, JSON, None, "p")
        assert (reply.status, reply.body) == (200, b"{}")
    blobs = [(b.format, b.payload) for batch in sink.batches for b in batch.blobs]
    assert not any(
        b.has_root or b.complete for b in sink.batches[0].blobs if bodies[0][0] == "logs"
    )
    trace = derive("p", blobs, RECEIVED)
    assert trace is not None
    return trace


SPANS = (
    "traces",
    request(span(1, "POST /ask", ms=(0, 90)), span(2, "chat m", CHAT, parent=1, ms=(1, 80))),
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", ["spans", "logs"])
async def test_messages_in_log_records_are_read(form: str, first: str) -> None:
    order = [SPANS, ("logs", logs(*FORMS[form]))]
    trace = await _sent(*(order if first == "spans" else reversed(order)))
    assert (trace.question, trace.answer, trace.model) == (ASKED, SAID, "m")
    assert trace.timings.end_to_end_ms == 90
    assert trace.attributes["span_count"] == 2


@pytest.mark.parametrize(
    "asked", ['{"level": "error", "message": "no route"}', '{"a": 1}', "[1, 2]", '"quoted"']
)
async def test_json_that_a_user_wrote_is_the_question(asked: str) -> None:
    said = json.dumps({"index": 0, "message": {"content": SAID}})
    body = logs(record("gen_ai.user.message", asked), record("gen_ai.choice", said))

    trace = await _sent(SPANS, ("logs", body))

    assert (trace.question, trace.answer) == (asked, SAID)


async def test_a_choice_without_words_is_no_answer() -> None:
    calls = json.dumps(
        {"index": 0, "message": {"role": "assistant", "tool_calls": [{"id": "1"}]},
         "finish_reason": "tool_calls"}
    )  # fmt: skip
    body = logs(record("gen_ai.user.message", ASKED), record("gen_ai.choice", calls))

    trace = await _sent(SPANS, ("logs", body))

    assert (trace.question, trace.answer) == (ASKED, None)


async def test_log_records_that_come_twice_change_nothing() -> None:
    body = ("logs", logs(*MESSAGES))
    assert await _sent(SPANS, body, body) == await _sent(SPANS, body)


async def test_messages_are_kept_where_their_span_never_comes() -> None:
    trace = await _sent(("logs", logs(*MESSAGES)))
    assert (trace.question, trace.answer, trace.app) == (ASKED, SAID, "ferry-desk")
    assert trace.timings.end_to_end_ms is None
    assert trace.started_at == utc_from_ns(START_NS + 1_000_000)


async def test_protobuf_brings_the_same() -> None:
    sink = Sink()
    message = ExportLogsServiceRequest()
    scope = message.resource_logs.add().scope_logs.add()
    for name, key, text in (
        ("gen_ai.user.message", "content", ASKED),
        ("gen_ai.choice", "message", SAID),
    ):
        item = scope.log_records.add(
            event_name=name, trace_id=bytes.fromhex(TRACE_ID), span_id=bytes(7) + b"\2"
        )
        item.body.kvlist_value.values.add(key=key).value.string_value = text
    content = message.SerializeToString()
    reply = await Receiver(sink).receive_logs(content, "application/x-protobuf", None, "p")
    assert (reply.status, reply.body) == (200, b"")
    (blob,) = sink.batches[0].blobs
    trace = derive("p", [(blob.format, blob.payload)], RECEIVED)
    assert trace is not None
    assert (trace.question, trace.answer, blob.spans) == (ASKED, SAID, 2)


@pytest.mark.parametrize(
    "unread",
    [
        {**MESSAGES[1], "traceId": ""},
        {**MESSAGES[1], "spanId": ""},
        record("app.log", "a line"),
        record("app.log", {"input": 1, "level": "info"}),
    ],
)
async def test_a_log_record_without_messages_of_a_span_is_not_kept_and_the_reply_says_so(
    unread: dict[str, Any],
) -> None:
    sink = Sink()
    reply = await Receiver(sink).receive_logs(logs(*MESSAGES, unread), JSON, None, "p")
    said = json.loads(reply.body)["partialSuccess"]
    assert said["errorMessage"].startswith("log records not kept: 1 (")
    assert [blob.spans for blob in sink.batches[0].blobs] == [3]


async def test_a_sender_is_asked_to_try_again_when_messages_cannot_be_kept() -> None:
    sink = Sink()
    sink.failure = StoreUnavailable()
    reply = await Receiver(sink).receive_logs(logs(*MESSAGES), JSON, None, "p")
    assert (reply.status, reply.headers.get("Retry-After")) == (503, "5")
