"""The job that works out what sessions came to, behind their traces, scores and marks."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from rag_monitor.aggregation.sessions import outcome_of
from rag_monitor.store.session_outcomes import SessionOutcomes


class SessionCounting:
    """Counts sessions of which something changed. Running it twice is harmless.

    Args:
        outcomes: Where they are kept.
        idle: So long after its last turn began a session has ended, and counts.
    """

    def __init__(self, outcomes: SessionOutcomes, idle: timedelta) -> None:
        self._outcomes = outcomes
        self._idle = idle

    async def count_due(self) -> int:
        """Count one batch; returns how many sessions it had."""
        return await asyncio.to_thread(self._count)

    def _count(self) -> int:
        changed = self._outcomes.changed()
        self._outcomes.replace([(one, outcome_of(one, self._idle)) for one in changed])
        return len(changed)
