"""The request's frame and the reply, held against protobuf's own reading and writing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from rag_monitor.sdk.options import Options
from rag_monitor.sdk.wire import Envelope, rejected_spans


@given(
    rejected=st.integers(min_value=-(2**63), max_value=2**63 - 1),
    message=st.text(max_size=300),
)
def test_a_refusal_is_read_as_protobuf_reads_it(rejected: int, message: str) -> None:
    reply = ExportTraceServiceResponse()
    reply.partial_success.rejected_spans = rejected
    reply.partial_success.error_message = message

    assert rejected_spans(reply.SerializeToString()) == max(0, rejected)


@given(st.binary(max_size=200))
def test_whatever_a_server_answers_is_a_number_of_spans(reply: bytes) -> None:
    found = rejected_spans(reply)

    assert 0 <= found < 2**63


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\x0a",
        b"\x0a\x7f\x08",
        b"\x0a\x02\x08",
        b"\xff" * 20,
        b"\x0b\x0c",
        b"<html>",
        b"\x08\x05",
        b"\x0a\x02\x0d\x01",
    ],
)
def test_an_odd_reply_refused_nothing(reply: bytes) -> None:
    assert rejected_spans(reply) == 0


@pytest.mark.parametrize("app", ["bank-faq", "贷款助手", "a\ud800b", "x" * 300, ""])
def test_the_frame_is_what_protobuf_reads(app: str) -> None:
    options = Options(app=app, environment="prod", release="v1")
    span = b"\x0a\x10" + bytes(range(16))

    body = Envelope(options, "1.2.3").wrap([span, span], {"queue_full": 3})

    (resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
    told = {item.key: item.value.string_value for item in resource.resource.attributes}
    (scope,) = resource.scope_spans
    assert told["service.name"] == app.replace("\ud800", "?")
    assert told["rag_monitor.dropped"] == '{"queue_full": 3}'
    assert set(told.values()) >= {"prod", "v1", "rag-monitor", "python", "1.2.3"}
    assert (scope.scope.name, scope.scope.version) == ("rag_monitor", "1.2.3")
    assert [found.trace_id for found in scope.spans] == [bytes(range(16))] * 2
