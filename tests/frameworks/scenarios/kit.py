"""What every scenario needs: the exporter of OpenTelemetry, and a choice of case by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from texts import QUESTION, SERVICE, passages_json


def provider() -> Any:
    """A tracer provider that exports, made the global one."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    made = TracerProvider(resource=Resource({"service.name": SERVICE}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(made)
    return made


def log_provider() -> Any:
    """A logger provider that exports, made the global one."""
    from opentelemetry import _logs
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.resources import Resource

    made = LoggerProvider(resource=Resource({"service.name": SERVICE}))
    made.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    _logs.set_logger_provider(made)
    return made


def searched(tracer: Any) -> None:
    """A search that the application reports itself, as the GenAI conventions have it."""
    with tracer.start_as_current_span("retrieval faq") as span:
        span.set_attribute("gen_ai.operation.name", "retrieval")
        span.set_attribute("gen_ai.data_source.id", "faq")
        span.set_attribute("gen_ai.retrieval.query.text", QUESTION)
        span.set_attribute("gen_ai.retrieval.documents", passages_json())


def main(cases: dict[str, Callable[[], object]]) -> None:
    """Run the case that the command line names; without a name, list the cases."""
    if len(sys.argv) < 2:
        print("\n".join(cases))
        return
    cases[sys.argv[1]]()
    from opentelemetry import trace

    flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    if flush is not None:
        flush()
