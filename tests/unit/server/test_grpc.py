"""OTLP over gRPC, with real calls to a server over fakes: what it hands on, and how it refuses."""

from __future__ import annotations

import asyncio
import base64
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

grpc = pytest.importorskip("grpc", reason="needs the extra `grpc`")

from google.rpc.error_details_pb2 import RetryInfo  # noqa: E402
from google.rpc.status_pb2 import Status  # noqa: E402
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: E402
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from rag_monitor import telemetry  # noqa: E402
from rag_monitor.domain.ports import IngestBatch  # noqa: E402
from rag_monitor.domain.stored import KeyScope  # noqa: E402
from rag_monitor.errors import (  # noqa: E402
    MalformedPayload,
    NotIngesting,
    PayloadTooLarge,
    QueueFull,
    StoreUnavailable,
)
from rag_monitor.ingest.receiver import Receiver  # noqa: E402
from rag_monitor.server.app import create_app  # noqa: E402
from rag_monitor.server.grpc_otlp import GrpcOtlp  # noqa: E402
from rag_monitor.server.services import Services  # noqa: E402
from tests.unit.server.fakes import make_services  # noqa: E402

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
LIMIT = 1_000_000
Refusal = grpc.aio.AioRpcError


@asynccontextmanager
async def calling(
    services: Services, *, inflight: int = 8 * LIMIT, compression: Any = None
) -> AsyncIterator[Any]:
    door = GrpcOtlp(create_app(services), max_bytes=LIMIT, max_inflight_bytes=inflight)
    port = door.bind("127.0.0.1", 0)
    await door.start()
    options = (("grpc.max_send_message_length", -1),)
    address = f"127.0.0.1:{port}"
    try:
        async with grpc.aio.insecure_channel(address, options, compression) as channel:
            yield channel
    finally:
        await door.stop(0)


@pytest.fixture
async def channel(services: Services) -> AsyncIterator[Any]:
    async with calling(services) as channel:
        yield channel


async def refused(call: Any) -> Any:
    with pytest.raises(Refusal) as caught:
        await call
    return caught.value


def details(refusal: Any) -> Status:
    return Status.FromString(dict(refusal.trailing_metadata())["grpc-status-details-bin"])


def retry_s(refusal: Any) -> int | None:
    found = details(refusal).details
    if not found:
        return None
    info = RetryInfo()
    assert found[0].Unpack(info)
    assert dict(refusal.trailing_metadata())["google.rpc.retryinfo-bin"] == info.SerializeToString()
    return info.retry_delay.seconds


async def test_traces_and_logs_are_handed_to_the_receiver(channel: Any, services: Services) -> None:
    for method in (TRACES, LOGS):
        await channel.unary_unary(method)(b"bytes")

    received = services.receiver.received
    assert received == [("traces", b"bytes", "default"), ("logs", b"bytes", "default")]


async def test_metrics_are_accepted_and_ignored(channel: Any, services: Services) -> None:
    assert await channel.unary_unary(METRICS)(b"anything") == b""
    assert services.receiver.received == []


@pytest.mark.parametrize(
    "method",
    ["/opentelemetry.proto.collector.trace.v1.TraceService/Import", "/a.Service/Export"],
)
async def test_an_unknown_method_is_unimplemented(channel: Any, method: str) -> None:
    refusal = await refused(channel.unary_unary(method)(b""))

    assert refusal.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_a_compressed_message_is_read(services: Services, compression: Any) -> None:
    async with calling(services, compression=compression) as channel:
        await channel.unary_unary(TRACES)(b"a" * 10_000)

    assert services.receiver.received == [("traces", b"a" * 10_000, "default")]


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_a_message_above_the_limit_is_refused_for_good(
    services: Services, compression: Any
) -> None:
    before = telemetry.DROPPED.labels(stage="server", reason="unreadable_message")._value.get()
    async with calling(services, compression=compression) as channel:
        refusal = await refused(channel.unary_unary(TRACES)(bytes(LIMIT + 1)))
        await channel.unary_unary(TRACES)(bytes(LIMIT))

    assert refusal.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "google.rpc.retryinfo-bin" not in dict(refusal.trailing_metadata() or ())
    assert [len(body) for _, body, _ in services.receiver.received] == [LIMIT]
    after = telemetry.DROPPED.labels(stage="server", reason="unreadable_message")._value.get()
    assert after == before + 1


async def test_a_gzip_bomb_takes_no_memory(services: Services) -> None:
    bomb = bytes(300 * 2**20)
    async with calling(services, compression=grpc.Compression.Gzip) as channel:
        call = channel.unary_unary(TRACES, request_serializer=lambda _: bomb)
        await refused(call(b""))  # the client's own memory is counted from now on
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        refusal = await refused(call(b""))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    assert refusal.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert grown < 100 * 1024
    assert services.receiver.received == []


async def test_a_call_without_a_message_is_malformed(channel: Any) -> None:
    async def nothing() -> AsyncIterator[bytes]:
        for never in ():
            yield never

    refusal = await refused(channel.stream_unary(TRACES)(nothing()))

    assert refusal.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert details(refusal).message == "The call holds no message."


Key = Callable[[str], tuple[str, str]]


def _basic(key: str) -> tuple[str, str]:
    return "authorization", "Basic " + base64.b64encode(f"public:{key}".encode()).decode()


@pytest.mark.parametrize(
    "shown",
    [lambda key: ("x-api-key", key), lambda key: ("authorization", f"Bearer {key}"), _basic],
    ids=["x-api-key", "bearer", "basic"],
)
async def test_a_key_opens_its_project(locked: Services, shown: Key) -> None:
    secret, _ = locked.keys.create("shop", "app", {KeyScope.INGEST})
    async with calling(locked) as channel:
        await channel.unary_unary(TRACES)(b"one", metadata=(shown(secret),))
        wrong = await refused(channel.unary_unary(TRACES)(b"two", metadata=(shown("guess"),)))

    assert locked.receiver.received == [("traces", b"one", "shop")]
    assert wrong.code() is grpc.StatusCode.UNAUTHENTICATED
    assert retry_s(wrong) is None


async def test_metrics_need_a_key_as_well(locked: Services) -> None:
    async with calling(locked) as channel:
        refusal = await refused(channel.unary_unary(METRICS)(b""))

    assert refusal.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_a_key_that_may_not_send_is_denied(locked: Services) -> None:
    secret, _ = locked.keys.create("shop", "reader", {KeyScope.READ})
    async with calling(locked) as channel:
        refusal = await refused(
            channel.unary_unary(TRACES)(b"one", metadata=(("x-api-key", secret),))
        )

    assert refusal.code() is grpc.StatusCode.PERMISSION_DENIED
    assert "`ingest`" in refusal.details()


async def test_a_session_of_a_browser_opens_nothing(locked: Services) -> None:
    async with calling(locked) as channel:
        cookie = ("cookie", "rag_monitor_session=anything")
        refusal = await refused(channel.unary_unary(TRACES)(b"one", metadata=(cookie,)))

    assert refusal.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_the_key_is_looked_at_before_the_message_comes(locked: Services) -> None:
    async with calling(locked) as channel:
        call = channel.stream_unary(TRACES)()  # sends its metadata, and no message
        async with asyncio.timeout(10):
            assert await call.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_a_key_over_its_limit_is_told_when_to_come_again(locked: Services) -> None:
    secret, _ = locked.keys.create("shop", "noisy", {KeyScope.INGEST}, requests_per_minute=6)
    metadata = (("x-api-key", secret),)
    async with calling(locked) as channel:
        await channel.unary_unary(TRACES)(b"one", metadata=metadata)
        refusal = await refused(channel.unary_unary(TRACES)(b"two", metadata=metadata))

    assert refusal.code() is grpc.StatusCode.UNAVAILABLE
    assert retry_s(refusal) == 10


async def test_guessing_keys_is_slowed_down_by_address(locked: Services) -> None:
    async with calling(locked) as channel:
        call = channel.unary_unary(TRACES)
        codes = [
            (await refused(call(b"", metadata=(("x-api-key", f"guess-{number}"),)))).code()
            for number in range(31)
        ]
        await call(b"", metadata=(("x-api-key", "master-key"),))

    assert codes[:30] == [grpc.StatusCode.UNAUTHENTICATED] * 30
    assert codes[30] is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("error", "code", "wait"),
    [
        (StoreUnavailable(), "UNAVAILABLE", 5),
        (QueueFull(), "UNAVAILABLE", 2),
        (NotIngesting(), "UNAVAILABLE", 5),
        (RuntimeError("a mistake"), "UNAVAILABLE", 5),
        (PayloadTooLarge(), "RESOURCE_EXHAUSTED", None),
        (MalformedPayload(), "INVALID_ARGUMENT", None),
    ],
)
async def test_what_the_receiver_refuses_is_a_status(
    error: Exception, code: str, wait: int | None
) -> None:
    class Failing:
        async def write(self, batch: IngestBatch) -> None:
            raise error

    receiver = Receiver(Failing())
    async with calling(make_services_with(receiver)) as channel:
        refusal = await refused(channel.unary_unary(TRACES)(one_span()))

    assert refusal.code().name == code
    assert retry_s(refusal) == wait


def make_services_with(receiver: Receiver) -> Services:
    return replace(make_services(), receiver=receiver)


def one_span(*, broken: int = 0) -> bytes:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in range(1 + broken):
        span = scope.spans.add(name="chat", start_time_unix_nano=1, end_time_unix_nano=2)
        span.trace_id = bytes(16) if number else b"t" * 16
        span.span_id = b"s" * 8
    return request.SerializeToString()


class Kept:
    def __init__(self) -> None:
        self.batches: list[IngestBatch] = []

    async def write(self, batch: IngestBatch) -> None:
        self.batches.append(batch)


async def test_rejected_spans_are_a_partial_success() -> None:
    sink = Kept()
    async with calling(make_services_with(Receiver(sink))) as channel:
        body = await channel.unary_unary(TRACES)(one_span(broken=2))

    partial = ExportTraceServiceResponse.FromString(body).partial_success
    assert partial.rejected_spans == 2
    assert partial.error_message
    assert sink.batches[0].blobs[0].spans == 1


async def test_what_is_no_request_is_malformed() -> None:
    sink = Kept()
    async with calling(make_services_with(Receiver(sink))) as channel:
        refusal = await refused(channel.unary_unary(TRACES)(b"\x0a\xff\xff\xff"))

    assert refusal.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert sink.batches == []


async def test_a_call_is_acknowledged_after_the_commit_only() -> None:
    committed = asyncio.Event()

    class Slow:
        async def write(self, batch: IngestBatch) -> None:
            await committed.wait()

    async with calling(make_services_with(Receiver(Slow()))) as channel:
        call = asyncio.ensure_future(channel.unary_unary(TRACES)(one_span()))
        done, _ = await asyncio.wait({call}, timeout=0.3)
        assert not done
        committed.set()
        assert await call == b""


async def test_what_was_sent_is_stored_though_the_sender_has_gone() -> None:
    begun, committed, stored = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Slow:
        async def write(self, batch: IngestBatch) -> None:
            begun.set()
            await committed.wait()
            stored.set()

    async with calling(make_services_with(Receiver(Slow()))) as channel:
        call = channel.unary_unary(TRACES)(one_span())
        await begun.wait()
        call.cancel()
        await asyncio.sleep(0.2)
        committed.set()
        async with asyncio.timeout(5):
            await stored.wait()


async def test_calls_that_send_nothing_do_not_keep_others_out_for_long(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_monitor.server.grpc_otlp._TURN_S", 0.3)
    async with calling(services, inflight=LIMIT) as channel:
        idle = channel.stream_unary(TRACES)()
        await idle.wait_for_connection()
        await asyncio.sleep(0.2)
        refusal = await refused(channel.unary_unary(TRACES)(b"one"))
        idle.cancel()
        await asyncio.sleep(0.2)
        await channel.unary_unary(TRACES)(b"two")

    assert refusal.code() is grpc.StatusCode.UNAVAILABLE
    assert retry_s(refusal) == 5
    assert services.receiver.received == [("traces", b"two", "default")]
