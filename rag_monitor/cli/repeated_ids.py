"""Rows of one file that are one trace: of their kind the monitor keeps a single one."""

from __future__ import annotations

from rag_monitor.cli.replay import Outcome, Row
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.errors import IngestError
from rag_monitor.ingest.text import clean_name
from rag_monitor.ingest.trace_json import row_trace_id


class RepeatedIds:
    """Counts rows whose id came before in the file, on their way to the monitor.

    The ids are those of the traces, so one id in two applications is no repetition and the same
    content twice without any id is one. Takes about 100 bytes a row.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._seen: set[int] = set()

    def look(self, number: int, row: Row) -> None:
        """Count the row; which of those of one id is kept is the monitor's decision."""
        app = row.get("app")
        name = clean_name(app) if isinstance(app, str) else ""
        try:
            trace_id = row_trace_id(row, DEFAULT_PROJECT, name or "unknown")
        except (IngestError, ValueError, RecursionError):
            return  # the monitor refuses it and says why
        seen = int(trace_id, 16)
        if seen in self._seen:
            self._outcome.repeated_ids.add(number)
        self._seen.add(seen)
