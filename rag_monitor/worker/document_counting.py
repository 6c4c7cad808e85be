"""The job that counts what became of documents: of each judged trace once, behind the scores."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Final

from rag_monitor import telemetry
from rag_monitor.aggregation.document_uses import METRICS, infos_of, uses_of
from rag_monitor.domain.clock import Clock
from rag_monitor.store.bulk import Key
from rag_monitor.store.document_counts import Counted
from rag_monitor.store.documents import Documents, JudgedTrace

_LOG: Final = logging.getLogger(__name__)

CURSOR: Final = "documents"
_SETTLE: Final = timedelta(seconds=10)
"""How long scores may take from their time to their commit."""
_BATCH: Final = 2_000
"""Scores per run; a trace has about ten."""


class DocumentCounting:
    """Follows the scores with a cursor. Only the leader runs it; running it twice is harmless.

    Args:
        documents: Where counts are kept.
        clock: Tells the time.
        history: How far back the very first run begins: as long as traces are kept.
        settle: Newer scores wait: others of the same time may not be committed yet.
    """

    def __init__(
        self,
        documents: Documents,
        clock: Clock,
        *,
        history: timedelta = timedelta(days=30),
        settle: timedelta = _SETTLE,
    ) -> None:
        self._documents = documents
        self._clock = clock
        self._history = history
        self._settle = settle

    async def count_due(self) -> int:
        """Count one batch of traces; returns how many were looked at."""
        return await asyncio.to_thread(self._count)

    async def fold(self) -> int:
        """Count the less retrieved documents of days that are over together."""
        return await asyncio.to_thread(self._documents.fold)

    def _count(self) -> int:
        now = self._clock.now()
        until = now - self._settle
        after = self._documents.cursor(CURSOR, until - self._history)
        if after > now:
            # What is scored until then would lie before the cursor, and never be counted.
            _LOG.warning("the mark of documents lies ahead: the clock was set back; it follows")
            self._documents.rewind(CURSOR, until)
            after = until
        keys, last = self._documents.judged(after, until, _BATCH)
        if last is None:
            return 0
        judged = self._documents.load(keys, METRICS)
        counted = {key: one for key, item in judged.items() if (one := _counted(key, item))}
        if counted:
            self._documents.save(counted)
        self._documents.advance(CURSOR, last)
        return len(keys)


def _counted(key: Key, judged: JudgedTrace) -> Counted | None:
    try:
        uses = uses_of(judged.trace, judged.scores, judged.probabilities, judged.diagnoses)
        return uses, infos_of(judged.trace)
    except Exception:  # noqa: BLE001 - one odd trace must not hold up its neighbours
        _LOG.exception("trace %s: its documents cannot be counted", key[1])
        telemetry.dropped("documents", "failed")
        return None
