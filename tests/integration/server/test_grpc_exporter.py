"""OpenTelemetry's own exporter over gRPC, with its default settings, and a server as it is run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rag_monitor.domain.ports import IngestBatch
from rag_monitor.errors import StoreUnavailable
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.receiver import Receiver
from tests.chaos.monitor import Monitor
from tests.chaos.test_ingest import rows

pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc", reason="needs the exporter for gRPC")

ROOT = Path(__file__).resolve().parents[3]
_APPLICATION = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider(resource=Resource.create({"service.name": "faq"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("app").start_as_current_span("chat small") as span:
    span.set_attribute("gen_ai.operation.name", "chat")
    span.set_attribute("input.value", "How long is the warranty?")
    span.set_attribute("output.value", "24 months.")
print(f"{span.get_span_context().trace_id:032x}")
provider.shutdown()
"""


def run_application(port: int, **variables: str) -> str:
    """Trace id that the application printed; what it logged must be nothing."""
    done = subprocess.run(
        [sys.executable, "-c", _APPLICATION],
        env=os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://localhost:{port}"} | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "Failed" not in done.stderr
    return done.stdout.strip()


def test_the_standard_exporter_delivers(database_url: str, tmp_path: Path) -> None:
    monitor = Monitor(database_url, tmp_path)
    monitor.start()
    try:
        plain = run_application(monitor.grpc_port)
        packed = run_application(monitor.grpc_port, OTEL_EXPORTER_OTLP_COMPRESSION="gzip")
    finally:
        monitor.end()

    stored = {row[0] for row in rows(database_url, "SELECT trace_id FROM spans")}
    assert stored == {plain, packed}


async def test_the_standard_exporter_sends_again_when_it_is_told_to_wait() -> None:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult

    from rag_monitor.server.app import create_app
    from rag_monitor.server.grpc_otlp import GrpcOtlp
    from tests.unit.server.fakes import make_services

    class Late:
        def __init__(self) -> None:
            self.refusals = 2
            self.batches: list[IngestBatch] = []

        async def write(self, batch: IngestBatch) -> None:
            if self.refusals:
                self.refusals -= 1
                raise StoreUnavailable
            self.batches.append(batch)

    sink = Late()
    receiver = Receiver(sink, IngestOptions(retry_after_store_s=1))
    services = replace(make_services(), receiver=receiver)
    door = GrpcOtlp(create_app(services), max_bytes=10**6, max_inflight_bytes=10**7)
    port = door.bind("127.0.0.1", 0)
    await door.start()
    with TracerProvider().get_tracer("app").start_as_current_span("chat") as span:
        assert isinstance(span, ReadableSpan)
    exporter = OTLPSpanExporter(endpoint=f"http://localhost:{port}")
    try:
        result = await asyncio.to_thread(exporter.export, [span])
    finally:
        await asyncio.to_thread(exporter.shutdown)
        await door.stop(0)

    assert result is SpanExportResult.SUCCESS
    assert sink.refusals == 0
    assert len(sink.batches) == 1
