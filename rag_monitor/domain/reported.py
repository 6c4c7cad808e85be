"""A score that another tool reported to us. Shown beside ours, never part of an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedScore:
    """What another tool says of a trace, or of one span of it, as it says it.

    Nothing is known of how it was measured: its scale, its judge and its sampling are its own. One
    stands for each source, name and span; the latest reported counts.
    """

    project: str
    trace_id: str
    source: str
    """The tool: its instrumentation scope, else its `service.name`; empty: it gives neither."""
    name: str
    """The metric as the tool calls it."""
    span_id: str = ""
    """Of the span it is about; empty: the whole trace."""
    value: float | None = None
    """On the tool's own scale; None: it gave a label or failed."""
    label: str | None = None
    explanation: str | None = None
    error: str | None = None
    """The evaluation failed."""
    reported_at: datetime
    """When the tool says it gave it."""
    received_at: datetime

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What may stand once."""
        return (self.project, self.trace_id, self.source, self.name, self.span_id)


class ReportedScoreSink(Protocol):
    """Where ingest puts scores of other tools."""

    def add(self, scores: list[ReportedScore], /) -> None:
        """Store them and return once they are committed. Blocks.

        Raises:
            StoreUnavailable: The database does not answer or is full; answer 503.
        """
        ...
