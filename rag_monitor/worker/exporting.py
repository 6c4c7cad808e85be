"""The job that passes scores on: at least once, in order, and never in evaluation's way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.exposition.options import ExportOptions
from rag_monitor.exposition.score_sender import Taken, send
from rag_monitor.store.score_rows import ScoreExportFeed
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
        roots = {key: _root(payloads) for key, payloads in self._spans.with_roots(keys)}
        return {key: root for key, root in roots.items() if root is not None}


def _root(payloads: Iterable[bytes]) -> str | None:
    try:
        evidence = TracesData.FromString(b"".join(payloads))
    except DecodeError:
        return None
    roots = (
        span
        for resource in evidence.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
        if not any(span.parent_span_id)
    )
    root = min(roots, key=lambda span: span.start_time_unix_nano, default=None)
    return None if root is None else _span_id_of_host(root).hex()


def _span_id_of_host(root: Span) -> bytes:
    """Our SDK's root, beside a host's tracing, links to the span of the host it belongs to."""
    for link in root.links:
        if link.trace_id == root.trace_id:
            return link.span_id
    return root.span_id


_log = logging.getLogger(__name__)

CURSOR: Final = "export"


class ScoreExport:
    """Sends what was scored since the stored cursor. Only the leader runs it.

    The cursor moves after the receiver said yes, so a crash in between sends a batch again. While
    the receiver is away scores wait in the database; the first run begins with the present, not
    with history.
    """

    def __init__(
        self, scores: ScoreExportFeed, roots: Roots, clock: Clock, options: ExportOptions
    ) -> None:
        self._scores = scores
        self._roots = roots
        self._clock = clock
        self._options = options
        self._complained = False

    @property
    def every_s(self) -> float:
        """Seconds between two looks."""
        return self._options.every_s

    async def begin(self) -> None:
        """Set the cursor, where there is none yet, to the present."""
        await asyncio.to_thread(self._scores.cursor, CURSOR, self._clock.now())

    async def send_due(self) -> int:
        """Send one batch; returns how many scores were dealt with."""
        return await asyncio.to_thread(self._send)

    def _send(self) -> int:
        now = self._clock.now()
        after = self._scores.cursor(CURSOR, now)
        until = now - timedelta(seconds=self._options.settle_s)
        if after > now:
            # However little: what is scored until then would lie before the cursor, and stay there.
            _log.warning("the mark of the export lies ahead: the clock was set back; it follows")
            self._scores.rewind(CURSOR, until)
            after = until
        batch = self._scores.between(after, until, self._options.batch)
        if not batch:
            return 0
        roots = self._roots.of(batch) if self._options.form == "spans" else {}
        receipt = send(batch, self._options, now, roots=roots)
        if receipt.taken is Taken.LATER:
            telemetry.JOB_FAILURES.labels(job="export").inc()
            self._complain(f"scores wait: {receipt.reason}")
            return 0
        rejected = len(batch) if receipt.taken is Taken.NEVER else receipt.rejected
        if rejected:
            telemetry.dropped("export", "rejected", rejected)
            self._complain(f"{rejected} scores were rejected: {receipt.reason}")
        else:
            self._complained = False
        last = batch[-1].score.created_at
        if last is not None:
            self._scores.advance(CURSOR, last)
        return len(batch)

    def _complain(self, what: str) -> None:
        """Log the first of a run of failures; the counters have the rest."""
        if not self._complained:
            _log.warning("export to %s: %s", self._options.url, what)
        self._complained = True
