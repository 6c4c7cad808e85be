"""The monitor's own spans, encoded and sent: OTLP over HTTP, to where the settings say."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from rag_monitor import __version__, semconv, telemetry
from rag_monitor.errors import OutboundRefused
from rag_monitor.exposition.options import OwnTracesOptions
from rag_monitor.outbound.http import OutboundFailed, request
from rag_monitor.self_tracing import SelfTracing

_log = logging.getLogger(__name__)


def build_self_tracing(options: OwnTracesOptions) -> SelfTracing | None:
    """What takes note of our own work; None where nobody wants to know."""
    if options.endpoint is None:
        return None
    return SelfTracing(
        _Sender(options),
        version=__version__,
        ingest_rate=options.ingest_rate,
        every_s=options.every_s,
    )


class _Sender(SpanExporter):
    """One request a batch. What cannot be sent is dropped and counted: it is about us only."""

    def __init__(self, options: OwnTracesOptions) -> None:
        self._options = options
        self._complained = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send the spans."""
        options = self._options
        headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
        if options.api_key is not None:
            headers["X-API-Key"] = options.api_key
        try:
            reply = request(
                "POST",
                options.url,
                body=gzip.compress(encode_own(spans).SerializeToString(), compresslevel=3),
                headers={**options.headers, **headers},
                policy=options.policy,
                deadline_s=options.timeout_s,
            )
            problem = "" if 200 <= reply.status < 300 else f"it answers {reply.status}"
        except (OutboundFailed, OutboundRefused) as error:
            problem = str(error)
        if problem:
            telemetry.dropped("own_traces", "not_sent", len(spans))
            if not self._complained:
                _log.warning("own traces are not taken by %s: %s", options.url, problem)
        self._complained = bool(problem)
        return SpanExportResult.FAILURE if problem else SpanExportResult.SUCCESS


def encode_own(spans: Sequence[ReadableSpan]) -> ExportTraceServiceRequest:
    """Spans of one process as an OTLP request."""
    source = dict(spans[0].resource.attributes) if spans else {}
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(
                resource=Resource(attributes=_pairs(source)),
                scope_spans=[
                    ScopeSpans(
                        scope=InstrumentationScope(name=semconv.SELF_SCOPE),
                        spans=[_span(span) for span in spans],
                    )
                ],
            )
        ]
    )


def _span(span: ReadableSpan) -> Span:
    made = Span(
        trace_id=span.context.trace_id.to_bytes(16, "big"),
        span_id=span.context.span_id.to_bytes(8, "big"),
        name=span.name,
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=span.start_time or 0,
        end_time_unix_nano=span.end_time or 0,
        attributes=_pairs(dict(span.attributes or {})),
    )
    made.status.code = span.status.status_code.value  # type: ignore[assignment]
    return made


def _pairs(values: Mapping[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_value(value)) for key, value in values.items()]


def _value(value: object) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=str(value))
