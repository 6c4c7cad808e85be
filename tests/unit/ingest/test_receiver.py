"""What senders are answered, for good and for hostile requests."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from rag_monitor import semconv, telemetry
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.errors import (
    ConfigurationError,
    QueueFull,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.ingest.replies import OtlpReply
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.ingest.evidence import TRACE_ID, Sink, pairs, protobuf, request, span

PROTOBUF = "application/x-protobuf"
JSON = "application/json"


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def receiver(sink: Sink, clock: ManualClock) -> Receiver:
    return Receiver(sink, IngestOptions(max_bytes=2**20), clock)


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


async def post(
    receiver: Receiver, body: bytes, kind: str = PROTOBUF, encoding: str | None = None
) -> OtlpReply:
    return await receiver.receive_traces(body, kind, encoding, "default")


def partial(reply: OtlpReply) -> tuple[int, str]:
    message = ExportTraceServiceResponse.FromString(reply.body).partial_success
    return message.rejected_spans, message.error_message


async def test_spans_become_one_blob_per_trace_and_are_acknowledged(
    receiver: Receiver, sink: Sink
) -> None:
    other = span(3, "other", traceId="ff" * 16)
    reply = await post(receiver, protobuf(span(1, "a"), span(2, "b", parent=1), other))
    assert (reply.status, reply.content_type, reply.body) == (200, PROTOBUF, b"")
    (batch,) = sink.batches
    assert batch.received_at == EPOCH
    assert [(b.trace_id, b.spans, b.format, b.has_root, b.complete) for b in batch.blobs] == [
        (TRACE_ID, 2, BlobFormat.OTLP, True, False),
        ("ff" * 16, 1, BlobFormat.OTLP, True, False),
    ]
    kept = ExportTraceServiceRequest.FromString(batch.blobs[0].payload)
    assert kept.resource_spans[0].resource.attributes[0].value.string_value == "shop"


@pytest.mark.parametrize(
    ("fields", "root", "complete"),
    [
        ({}, False, False),
        ({"flags": 768}, True, False),
        ({"attributes": pairs({"rag_monitor.app_root": True})}, True, False),
        ({"attributes": pairs({"rag_monitor.complete": True})}, True, True),
        ({"attributes": pairs({"rag_monitor.complete": False})}, False, False),
    ],
)
async def test_a_span_with_a_parent_is_a_root_only_when_it_says_so(
    receiver: Receiver, sink: Sink, fields: dict[str, Any], root: bool, complete: bool
) -> None:
    await post(receiver, protobuf({**span(1, "a", parent=9), **fields}))
    (blob,) = sink.batches[0].blobs
    assert (blob.has_root, blob.complete) == (root, complete)


@pytest.mark.parametrize(
    "kind", ["application/x-protobuf; charset=utf-8", "APPLICATION/X-PROTOBUF"]
)
async def test_parameters_and_case_of_the_content_type_do_not_matter(
    receiver: Receiver, kind: str
) -> None:
    assert (await post(receiver, protobuf(span(1, "a")), kind)).status == 200


@pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data; boundary=json"])
async def test_another_content_type_is_refused_with_415(receiver: Receiver, kind: str) -> None:
    reply = await post(receiver, b"{}", kind)
    assert reply.status == 415
    assert "application/json" in json.loads(reply.body)["message"]


async def test_an_empty_request_is_valid(receiver: Receiver, sink: Sink) -> None:
    assert (await post(receiver, b"")).status == 200
    assert (await post(receiver, b"{}", JSON)).status == 200
    assert (await post(receiver, b"", JSON)).status == 200
    assert sink.batches == []


def inflations(body: bytes) -> list[tuple[bytes, str]]:
    half = len(body) // 2
    return [
        (gzip.compress(body), "gzip"),
        (gzip.compress(body), "GZIP"),
        (gzip.compress(body[:half]) + gzip.compress(body[half:]), "gzip"),
        (gzip.compress(body) + b"\0" * 8, "gzip"),
        (zlib.compress(body), "deflate"),
        (zstd.compress(body), "zstd"),
        (zstd.compress(body[:half]) + zstd.compress(body[half:]), "ZSTD"),
        (body, "identity"),
    ]


async def test_compressed_bodies_are_read_whole(receiver: Receiver, sink: Sink) -> None:
    body = protobuf(*(span(n, "a") for n in range(1, 20)))
    for content, encoding in inflations(body):
        assert (await post(receiver, content, PROTOBUF, encoding)).status == 200
    assert {batch.blobs[0].spans for batch in sink.batches} == {19}
    assert len(sink.batches) == 8


def damaged(body: bytes) -> list[tuple[bytes, str, int]]:
    packed = gzip.compress(body)
    flipped = packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]
    return [
        (body, "gzip", 400),
        (packed[:-9], "gzip", 400),
        (flipped, "gzip", 400),
        (b"", "gzip", 400),
        (packed + b"junk", "gzip", 400),
        (zlib.compress(body) + b"x", "deflate", 400),
        (packed, "br", 415),
        (packed, "gzip, gzip", 415),
        (gzip.compress(b"") * 2000, "gzip", 400),
        *_damaged_zstd(body),
    ]


def _damaged_zstd(body: bytes) -> list[tuple[bytes, str, int]]:
    packed = zstd.compress(body)
    wide = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    return [
        (body, "zstd", 400),
        (packed[:-1], "zstd", 400),
        (packed + packed[:5], "zstd", 400),
        (b"", "zstd", 400),
        (packed + b"junk", "zstd", 400),
        (zstd.compress(b"") * 2000, "zstd", 400),
        # A window of 128 MiB, of which every decoder would have to hold the whole.
        (wide.compress(body) + wide.flush(), "zstd", 400),
        (gzip.compress(body), "zstd", 400),
    ]


async def test_damaged_or_foreign_compression_is_refused(receiver: Receiver, sink: Sink) -> None:
    for content, encoding, status in damaged(protobuf(span(1, "a"))):
        reply = await post(receiver, content, PROTOBUF, encoding)
        assert reply.status == status, (encoding, content[:20])
    assert sink.batches == []


@pytest.mark.parametrize(
    ("compress", "encoding"), [(gzip.compress, "gzip"), (zstd.compress, "zstd")]
)
async def test_a_bomb_is_refused_at_the_limit(
    receiver: Receiver, compress: Callable[[bytes], bytes], encoding: str
) -> None:
    bomb = compress(bytes(50 * 2**20))
    reply = await post(receiver, bomb, PROTOBUF, encoding)
    assert reply.status == 413
    assert reply.headers == {}


async def test_a_body_above_the_limit_is_refused_with_413(receiver: Receiver) -> None:
    for kind in (PROTOBUF, JSON):
        reply = await post(receiver, bytes(20 * 2**20), kind)
        assert (reply.status, reply.content_type) == (413, kind)


async def test_a_million_empty_spans_are_counted_before_any_is_built(sink: Sink) -> None:
    spans = b"\x12\x00" * 1_000_000
    body = b"".join((b"\x12", varint(len(spans)), spans))
    body = b"".join((b"\x0a", varint(len(body)), body))
    reply = await post(Receiver(sink, IngestOptions()), body)
    assert reply.status == 413


async def test_bytes_that_are_no_request_are_refused_with_a_status(receiver: Receiver) -> None:
    reply = await post(receiver, b"\xff\xff\xff")
    assert (reply.status, reply.content_type) == (400, PROTOBUF)
    assert reply.body[:2] == b"\x08\x03"
    assert b"not an OTLP trace request" in reply.body


async def test_a_message_of_another_kind_holds_no_traces(receiver: Receiver, sink: Sink) -> None:
    log = ExportLogsServiceRequest()
    log.resource_logs.add().scope_logs.add().log_records.add(severity_number=9)
    assert (await post(receiver, log.SerializeToString())).status in (200, 400)
    assert all(not batch.blobs for batch in sink.batches)


def one_of_a_hundred(change: Any) -> bytes:
    message = ExportTraceServiceRequest.FromString(
        protobuf(*(span(n, "a", {"k": "v"}) for n in range(1, 101)))
    )
    change(message.resource_spans[0].scope_spans[0].spans[50])
    return message.SerializeToString()


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def raw_request(spans: bytes) -> bytes:
    """A request around spans that no library would write."""
    return field(1, field(2, field(2, spans)))


def deep_span(depth: int) -> bytes:
    value = b"\x18\x01"
    for _ in range(depth):
        value = field(5, field(1, value))
    attribute = field(1, b"k") + field(2, value)
    return field(1, b"t" * 16) + field(2, b"s" * 8) + field(9, attribute)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: setattr(s, "trace_id", b"x" * 15), "trace id"),
        (lambda s: setattr(s, "trace_id", bytes(16)), "trace id"),
        (lambda s: s.ClearField("span_id"), "span id"),
        (lambda s: setattr(s, "parent_span_id", b"123"), "parent span id"),
    ],
)
async def test_one_bad_span_is_rejected_and_its_neighbours_live(
    receiver: Receiver, sink: Sink, change: Any, reason: str
) -> None:
    reply = await post(receiver, one_of_a_hundred(change))
    rejected, message = partial(reply)
    assert (reply.status, rejected) == (200, 1)
    assert reason in message
    assert sum(blob.spans for blob in sink.batches[0].blobs) == 99


@pytest.mark.parametrize("broken", [deep_span(200), field(5, b"\xff\xfe"), b"\x0a\x7f"])
async def test_a_span_that_cannot_be_decoded_is_rejected_alone(
    receiver: Receiver, sink: Sink, broken: bytes
) -> None:
    reply = await post(receiver, protobuf(span(1, "a")) + raw_request(broken))
    assert partial(reply) == (1, "1 x span cannot be decoded")
    assert sum(blob.spans for blob in sink.batches[0].blobs) == 1


async def test_a_resource_that_cannot_be_decoded_refuses_the_request(receiver: Receiver) -> None:
    broken = field(1, field(1, b"\x0a\x7f") + field(2, field(2, deep_span(1))))
    assert (await post(receiver, broken)).status == 400


async def test_a_deeply_nested_attribute_costs_its_span_and_no_more(
    receiver: Receiver, sink: Sink
) -> None:
    value: dict[str, Any] = {"intValue": 1}
    for _ in range(200):
        value = {"arrayValue": {"values": [value]}}
    deep = {**span(2, "deep"), "attributes": [{"key": "k", "value": value}]}
    reply = await post(receiver, request(span(1, "a"), deep), JSON)
    assert json.loads(reply.body)["partialSuccess"]["rejectedSpans"] == "1"
    assert sink.batches[0].blobs[0].spans == 1


async def test_a_hundred_thousand_brackets_are_refused_with_400(receiver: Receiver) -> None:
    for body in (b"[" * 100_000, b'{"resourceSpans":' * 50_000):
        assert (await post(receiver, body, JSON)).status == 400


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"traceId": "xyz"}, "traceId"),
        ({"traceId": "0" * 32}, "traceId"),
        ({"traceId": "CvdlGRbNQ92ESOshHIAx"}, "traceId"),
        ({"spanId": None}, "spanId"),
        ({"spanId": 7}, "spanId"),
        ({"kind": "SERVER"}, "kind"),
        ({"startTimeUnixNano": "soon"}, "startTimeUnixNano"),
        ({"startTimeUnixNano": -1}, "startTimeUnixNano"),
        ({"startTimeUnixNano": 1.5}, "startTimeUnixNano"),
        ({"attributes": {"k": "v"}}, "attributes"),
        ({"attributes": [{"key": "k", "value": "v"}]}, "AnyValue"),
        ({"attributes": [{"key": "k", "value": {"intValue": "9" * 20}}]}, "intValue"),
        ({"attributes": [{"key": "k", "value": {"stringValue": 3}}]}, "stringValue"),
        ({"attributes": [{"key": "k", "value": {"bytesValue": "%%"}}]}, "bytesValue"),
        ({"status": "OK"}, "status"),
        ({"events": [{"name": 3}]}, "event name"),
        ({"name": ["a"]}, "name"),
    ],
)
async def test_a_json_span_of_the_wrong_form_is_rejected_alone(
    receiver: Receiver, sink: Sink, fields: dict[str, Any], reason: str
) -> None:
    reply = await post(receiver, request(span(1, "a"), {**span(2, "b"), **fields}), JSON)
    report = json.loads(reply.body)["partialSuccess"]
    assert (reply.status, reply.content_type, report["rejectedSpans"]) == (200, JSON, "1")
    assert reason in report["errorMessage"]
    assert sink.batches[0].blobs[0].spans == 1


async def test_upper_case_ids_numbers_and_unknown_fields_are_read(
    receiver: Receiver, sink: Sink
) -> None:
    odd = span(1, "a", traceId=TRACE_ID.upper(), startTimeUnixNano=5, colour="red", parentSpanId="")
    assert (await post(receiver, request(odd), JSON)).body == b"{}"
    (blob,) = sink.batches[0].blobs
    assert (blob.trace_id, blob.has_root) == (TRACE_ID, True)


@pytest.mark.parametrize(
    "body",
    [
        b'{"resourceSpans": NaN}',
        b'{"resourceSpans": 1e999}',
        b'{"a": 1180591620717411303424}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": 1, "a": 2}',
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b"\xff{}",
        b"[]",
        b"null",
        b'{"resourceSpans": {}}',
        b'{"resourceSpans": [1]}',
        b'{"resource_spans": {}}',
        b'{"resourceSpans": [{"resource": 5}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": 5}]}]}',
        b'{"resourceSpans": [',
    ],
)
async def test_json_that_is_not_a_request_is_refused_with_400(
    receiver: Receiver, body: bytes
) -> None:
    reply = await post(receiver, body, JSON)
    assert (reply.status, reply.content_type) == (400, JSON)
    assert json.loads(reply.body)["message"]


async def test_too_many_json_keys_are_refused_with_413(sink: Sink) -> None:
    body = json.dumps({f"k{n}": 1 for n in range(2000)}).encode()
    receiver = Receiver(sink, IngestOptions(max_keys=1000))
    assert (await post(receiver, body, JSON)).status == 413


async def test_lone_surrogates_and_nul_are_taken_in(receiver: Receiver, sink: Sink) -> None:
    body = request(span(1, "a")).replace(b'"name": "a"', rb'"name": "\ud800\u0000"')
    assert (await post(receiver, body, JSON)).body == b"{}"
    kept = ExportTraceServiceRequest.FromString(sink.batches[0].blobs[0].payload)
    assert kept.resource_spans[0].scope_spans[0].spans[0].name == "\ufffd\ufffd"


async def test_special_numbers_and_times_end_in_a_trace_that_is_valid_json(
    receiver: Receiver, sink: Sink
) -> None:
    odd = span(
        1,
        "a",
        {"openinference.span.kind": "CHAIN", "input.value": "q", "output.value": "a"},
        startTimeUnixNano="0",
        endTimeUnixNano="9223372036854775807",
    )
    odd["attributes"] += [
        {"key": "metadata", "value": {"doubleValue": "NaN"}},
        {"key": "llm.token_count.prompt", "value": {"doubleValue": "-Infinity"}},
    ]
    assert (await post(receiver, request(odd), JSON)).status == 200
    trace = derive("default", [(BlobFormat.OTLP, sink.batches[0].blobs[0].payload)], EPOCH)
    assert trace is not None
    assert trace.started_at == EPOCH
    assert trace.timings.end_to_end_ms is None


@pytest.mark.parametrize(
    ("failure", "wait"),
    [
        (QueueFull(), "2"),
        (StoreUnavailable("SQLite /srv/secret.db: locked"), "5"),
        (StoreFull("SQLite /srv/secret.db: full"), "5"),
        (StoreError("PostgreSQL secret:5432/x"), "5"),
        (RuntimeError("secret"), "5"),
    ],
)
async def test_a_store_that_fails_is_answered_503_with_a_short_wait(
    receiver: Receiver, sink: Sink, failure: Exception, wait: str
) -> None:
    sink.failure = failure
    for kind, body in ((PROTOBUF, protobuf(span(1, "a"))), (JSON, request(span(1, "a")))):
        reply = await post(receiver, body, kind)
        assert (reply.status, reply.headers) == (503, {"Retry-After": wait})
        assert b"secret" not in reply.body


def test_a_wait_that_makes_clients_drop_is_refused_as_a_setting() -> None:
    with pytest.raises(ConfigurationError, match="1 to 5"):
        IngestOptions(retry_after_s=30)


async def test_more_bytes_in_flight_than_allowed_are_answered_503(clock: ManualClock) -> None:
    gate = asyncio.Event()

    class SlowSink(Sink):
        async def write(self, batch: Any) -> Any:
            await gate.wait()
            return await super().write(batch)

    slow = SlowSink()
    body = protobuf(span(1, "a"))
    receiver = Receiver(slow, IngestOptions(max_in_flight_bytes=len(body) + 1), clock)
    waiting = asyncio.create_task(post(receiver, body))
    await asyncio.sleep(0)
    assert (await post(receiver, body)).status == 503
    gate.set()
    assert (await waiting).status == 200
    assert (await post(receiver, body)).status == 200


async def test_large_bodies_are_decoded_off_the_loop_with_the_same_outcome(
    sink: Sink, clock: ManualClock
) -> None:
    receiver = Receiver(sink, IngestOptions(inline_bytes=1), clock)
    assert (await post(receiver, protobuf(span(1, "a")))).status == 200
    assert (await post(receiver, b"\xff")).status == 400
    assert len(sink.batches) == 1


def dropped(reason: str) -> float:
    return telemetry.DROPPED.labels(stage="sdk", reason=reason)._value.get()


async def test_what_the_sdk_lost_is_counted_by_known_reasons(receiver: Receiver) -> None:
    before = dropped("queue_full"), dropped("other")
    lost = json.dumps({"queue_full": 3, "made up": 2, "http_x": "y", "exit": -1})
    body = protobuf(span(1, "a"), resource={semconv.DROPPED: lost})
    assert (await post(receiver, body)).status == 200
    assert (dropped("queue_full"), dropped("other")) == (before[0] + 3, before[1] + 2)
