"""OTLP/JSON as the specification has it, and as protobuf's own JSON mapping writes it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, MessageToJson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from rag_monitor import semconv
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import translate
from rag_monitor.ingest.envelope import Decoded, decode_traces
from rag_monitor.ingest.logs import logs_from_json, logs_from_protobuf
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.otlp_json import traces_from_json
from rag_monitor.ingest.spans import decode_spans
from tests.unit.ingest.evidence import START_NS, request, span

HEX_LIKE = bytes.fromhex("d35db7e39ebbf39d35db7e39ebbf39d3")
"""In base64 it has no other digits than hex ids have; its length still tells it apart."""


def export() -> ExportTraceServiceRequest:
    """A request with a value in every field that is read."""
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add(schema_url="https://opentelemetry.io/schemas/1.44.0")
    resource.resource.attributes.append(
        KeyValue(key="service.name", value=AnyValue(string_value="酒店"))
    )
    scope = resource.scope_spans.add()
    scope.scope.name, scope.scope.version = "tests", "1"
    whole = AnyValue()
    whole.array_value.values.extend([AnyValue(int_value=-(2**63)), AnyValue(double_value=0.5)])
    pairs = AnyValue()
    pairs.kvlist_value.values.append(KeyValue(key="raw", value=AnyValue(bytes_value=b"\xfb\xff?")))
    made = Span(
        trace_id=HEX_LIKE,
        span_id=HEX_LIKE[:8],
        parent_span_id=b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8",
        trace_state="a=b",
        name="answer",
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=START_NS,
        end_time_unix_nano=START_NS + 10**9,
        flags=0x100,
        dropped_attributes_count=1,
        dropped_events_count=2,
        dropped_links_count=3,
        status=Status(code=Status.STATUS_CODE_ERROR, message="it failed"),
        attributes=[
            KeyValue(key="numbers", value=whole),
            KeyValue(key="pairs", value=pairs),
            KeyValue(key="yes", value=AnyValue(bool_value=False)),
            KeyValue(key="none", value=AnyValue()),
        ],
        events=[Span.Event(name="said", time_unix_nano=START_NS + 5)],
        links=[Span.Link(trace_id=HEX_LIKE, span_id=HEX_LIKE[8:])],
    )
    scope.spans.append(made)
    scope.spans.append(Span(trace_id=HEX_LIKE, span_id=HEX_LIKE[8:], name="bare"))
    return message


def decoded(body: bytes, *, json: bool = True) -> Decoded:
    return decode_traces(body, json=json, options=IngestOptions())


def content(found: Decoded) -> list[Any]:
    assert found.rejected == 0, found.message
    return [span for blob in found.blobs for span in decode_spans(blob.payload)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_integers_for_enums": True},
        {"preserving_proto_field_name": True},
        {"preserving_proto_field_name": True, "use_integers_for_enums": True},
        {"always_print_fields_with_no_presence": True},
        {"always_print_fields_with_no_presence": True, "preserving_proto_field_name": True},
    ],
)
def test_what_message_to_json_writes_is_the_request_that_it_was_made_of(
    options: dict[str, bool],
) -> None:
    message = export()
    written = MessageToJson(message, **options).encode()
    assert content(decoded(written)) == content(decoded(message.SerializeToString(), json=False))
    first = content(decoded(written))[0]
    assert (first.status_code, first.parent_span_id) == (2, "fffefdfcfbfaf9f8")
    assert first.resource == {"service.name": "酒店"}


def test_an_id_in_hex_is_never_read_as_base64() -> None:
    assert base64.b64encode(HEX_LIKE).decode().rstrip("=").isalnum()
    (found,) = content(decoded(request(span(1, "a", traceId=HEX_LIKE.hex().upper()))))
    assert found.trace_id == HEX_LIKE.hex()


@pytest.mark.parametrize(
    "wrong",
    [
        HEX_LIKE.hex()[:24],  # as long as sixteen bytes in base64 are
        HEX_LIKE.hex()[:22],
        base64.b64encode(HEX_LIKE[:15]).decode(),
        base64.b64encode(bytes(16)).decode(),
        "!" * 24,
        "",
        7,
    ],
)
def test_an_id_of_another_size_costs_its_span_alone(wrong: object) -> None:
    found = decoded(request(span(1, "a", traceId=wrong), span(2, "b")))
    assert (found.rejected, len(found.blobs)) == (1, 1)
    assert "traceId is not 32 hex digits or 16 bytes in base64" in found.message


def test_a_wrong_field_is_named_in_chinese_too() -> None:
    resource = {"attributes": [{"key": "k", "value": {"boolValue": "yes"}}]}

    with pytest.raises(MalformedPayload) as refused:
        traces_from_json({"resourceSpans": [{"resource": resource}]}, max_spans=1)

    assert str(refused.value) == "`resource`: boolValue is not true or false"
    assert translate(refused.value, "zh") == "`resource`：boolValue 不是 true 或 false"


@pytest.mark.parametrize("field", [{"kind": "SERVER"}, {"status": {"code": "ERROR"}}, {"kind": -1}])
def test_an_enum_of_no_name_is_answered_with_the_names_there_are(field: dict[str, Any]) -> None:
    found = decoded(request(span(1, "a", **field)))
    assert found.rejected == 1
    assert "SPAN_KIND_SERVER" in found.message or "STATUS_CODE_ERROR" in found.message


@pytest.mark.parametrize("snake", [False, True])
def test_log_records_of_message_to_json_are_read(snake: bool) -> None:
    message = ExportLogsServiceRequest()
    record = (
        message.resource_logs.add()
        .scope_logs.add()
        .log_records.add(
            trace_id=HEX_LIKE,
            span_id=HEX_LIKE[:8],
            event_name=semconv.GEN_AI_EVALUATION_EVENT,
            time_unix_nano=START_NS,
            severity_number=9,  # type: ignore[arg-type]
        )
    )
    record.attributes.extend(
        [
            KeyValue(key=semconv.GEN_AI_EVALUATION_NAME, value=AnyValue(string_value="tone")),
            KeyValue(key=semconv.GEN_AI_EVALUATION_VALUE, value=AnyValue(double_value=0.5)),
        ]
    )
    written = MessageToDict(message, preserving_proto_field_name=snake)
    found = logs_from_json(json.loads(json.dumps(written)), 10)
    assert found == logs_from_protobuf(message.SerializeToString(), 10)
    (evaluation,) = found.evaluations
    assert (evaluation.trace_id, evaluation.value) == (HEX_LIKE.hex(), 0.5)
