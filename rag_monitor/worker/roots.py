"""Which span of a stored trace is its root, for those who hang something below it."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from rag_monitor.domain.stored import PlacedScore
from rag_monitor.store.spans import Spans


class Roots:
    """Reads the evidence of traces again."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    def of(self, scores: Iterable[PlacedScore]) -> dict[tuple[str, str], str]:
        """Span id of the root by project and trace id.

        Traces that came as Trace JSON, whose evidence is gone, or whose root never came have none.
        """
        keys = {(placed.project, placed.trace_id) for placed in scores}
        found = {key: _root(payloads) for key, payloads in self._spans.with_roots(keys)}
        return {key: root for key, root in found.items() if root is not None}


def _root(payloads: Iterable[bytes]) -> str | None:
    try:
        evidence = TracesData.FromString(b"".join(payloads))
    except DecodeError:
        return None
    found = (
        span
        for resource in evidence.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
        if not any(span.parent_span_id)
    )
    root = min(found, key=lambda span: span.start_time_unix_nano, default=None)
    return None if root is None else _known_elsewhere(root).hex()


def _known_elsewhere(root: Span) -> bytes:
    """Our SDK's root, beside a host's tracing, links to the span of the host it belongs to."""
    for link in root.links:
        if link.trace_id == root.trace_id:
            return link.span_id
    return root.span_id
