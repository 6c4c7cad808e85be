"""The job that passes scores on: at least once, in order, and never in evaluation's way."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Final

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock
from rag_monitor.exposition.export_options import ExportOptions
from rag_monitor.exposition.score_sender import Taken, send
from rag_monitor.store.fresh_scores import FreshScores
from rag_monitor.worker.roots import Roots

_log = logging.getLogger(__name__)

MARK: Final = "export"


class ScoreExport:
    """Sends what was scored since the stored mark. Only the leader runs it.

    The mark moves after the receiver said yes, so a crash in between sends a batch again. While the
    receiver is away scores wait in the database; the first run begins with the present, not with
    history.
    """

    def __init__(
        self, scores: FreshScores, roots: Roots, clock: Clock, options: ExportOptions
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
        """Set the mark, where there is none yet, to the present."""
        await asyncio.to_thread(self._scores.mark, MARK, self._clock.now())

    async def send_due(self) -> int:
        """Send one batch; returns how many scores were dealt with."""
        return await asyncio.to_thread(self._send)

    def _send(self) -> int:
        now = self._clock.now()
        after = self._scores.mark(MARK, now)
        until = now - timedelta(seconds=self._options.settle_s)
        if after > now:
            # However little: what is scored until then would lie before the mark and never be sent.
            _log.warning("the mark of the export lies ahead: the clock was set back; it follows")
            self._scores.rewind(MARK, until)
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
            self._scores.advance(MARK, last)
        return len(batch)

    def _complain(self, what: str) -> None:
        """Log the first of a run of failures; the counters have the rest."""
        if not self._complained:
            _log.warning("export to %s: %s", self._options.url, what)
        self._complained = True
