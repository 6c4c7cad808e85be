"""Where a finished trace goes: into one root span, child spans on request, or host spans."""

from __future__ import annotations

from collections.abc import Callable

from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.encoding import EncodedTrace, Encoder
from rag_monitor.sdk.record import LiveTrace
from rag_monitor.sdk.share import HostSpans
from rag_monitor.sdk.steps import Step


class SpanExport:
    """Turns finished traces into spans for the sender."""

    def __init__(
        self, encoder: Encoder, shared: HostSpans | None, counters: Counters, *, steps: bool
    ) -> None:
        self._encoder = encoder
        self._shared = shared
        self._counters = counters
        self._child = _protobuf_child() if steps else None

    def spans(self, live: LiveTrace) -> list[bytes]:
        """Protobuf spans, the root first; empty when the host's provider took the trace."""
        if self._shared is not None and live.otel_span is not None:
            self._shared.close(live)
            self._counters.deliver(1)
            return []
        encoded = self._encoder.describe(live)
        root = self._encoder.root(live, encoded)
        child = self._child
        if child is None:
            return [root]
        return [root, *(child(live, encoded, step) for step in live.steps)]


def _protobuf_child() -> Callable[[LiveTrace, EncodedTrace, Step], bytes]:
    """Imported when steps are asked for: protobuf takes 25 ms, and the root span needs none."""
    from rag_monitor.sdk.child_span import child_span

    return child_span
