"""Traces whose first page was looked for and not found: older ones are on the next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rag_monitor.domain.stored import TracePage, TraceQuery
from rag_monitor.server.services import Services
from rag_monitor.testing import EPOCH


class _Unfinished:
    def __init__(self, traces: Any) -> None:
        self._traces = traces

    def __getattr__(self, name: str) -> Any:
        return getattr(self._traces, name)

    def search(self, query: TraceQuery) -> TracePage:
        """Nothing at first."""
        if query.cursor is None:
            return TracePage(items=(), next_cursor="0", looked_back_to=EPOCH)
        found: TracePage = self._traces.search(query)
        return found


def unfinished(services: Services) -> Services:
    """The same services, whose searches begin with an empty page that is not the last."""
    return replace(services, traces=_Unfinished(services.traces))
