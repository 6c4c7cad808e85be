"""Spans about the monitor's own work, for a project of their own. Off unless an address is set.

Each piece of work is one root span with numbers and names of ours; no text of a trace, no id. Work
that self-tracing itself causes must not be recorded, or every span would bring the next. The
monitor's spans carry `semconv.SELF_SCOPE`, wherever they come back from.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Final

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Status, StatusCode

from rag_monitor import semconv

INGEST: Final = "rag-monitor ingest"
JUDGE: Final = "rag-monitor judge"
RULES: Final = "rag-monitor rules"
_QUEUE: Final = 2048
"""Spans that may wait to be sent; more are dropped."""


class SelfTracing:
    """Records finished work as spans. Thread-safe; never blocks, never raises.

        >>> from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        >>> exporter = InMemorySpanExporter()
        >>> tracing = SelfTracing(exporter, version="1.0")
        >>> tracing.record(JUDGE, tracing.begin(), {"traces": 3})
        >>> tracing.close()
        >>> [span] = exporter.get_finished_spans()
        >>> span.name, span.attributes["rag_monitor.traces"]
        ('rag-monitor judge', 3)

    Args:
        exporter: Where spans go; used on a thread of its own.
        version: This release.
        ingest_rate: Share of ingest requests that are recorded, 0 to 1.
        every_s: Seconds between two exports.
        draw: A number from 0 to 1, for the share.
    """

    def __init__(
        self,
        exporter: SpanExporter,
        *,
        version: str,
        ingest_rate: float = 0.01,
        every_s: float = 5.0,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._ingest_rate = ingest_rate
        self._draw = draw
        # Ours alone: never the process's provider, and nothing of OTEL_* about applications.
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource(
                {semconv.SERVICE_NAME: "rag-monitor", semconv.SERVICE_VERSION: version}
            ),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter, max_queue_size=_QUEUE, schedule_delay_millis=every_s * 1000
            )
        )
        self._tracer = self._provider.get_tracer(semconv.SELF_SCOPE)

    def begin(self) -> int:
        """The present, for `record`."""
        return time.time_ns()

    def draws_ingest(self) -> bool:
        """Whether to record this ingest request."""
        return self._draw() < self._ingest_rate

    def record(
        self,
        name: str,
        began: int,
        figures: Mapping[str, str | int | float],
        error: Exception | None = None,
    ) -> None:
        """Record work that ends now.

        Args:
            name: What was done.
            began: What `begin` returned when it began.
            figures: How much; names and numbers of ours only.
            error: Why it failed; its type is recorded, its text is not.
        """
        span = self._tracer.start_span(
            name,
            Context(),
            start_time=began,
            attributes={
                semconv.COMPLETE: True,
                **{f"rag_monitor.{k}": v for k, v in figures.items()},
            },
        )
        if error is not None:
            span.set_attribute(semconv.ERROR_TYPE, type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def close(self) -> None:
        """Send what waits, and stop. Blocks for as long as one export may take."""
        self._provider.shutdown()
