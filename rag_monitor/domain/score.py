"""A Score: one metric's number for one trace, or the reason why there is none.

A ReportedScore is another tool's. It is shown beside ours and never part of an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from rag_monitor.domain.judgement import JudgeIdentity, Verdict


class ScoreStatus(StrEnum):
    """Whether there is a number. Only `SCORED` values enter a mean."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    """The metric has no meaning for this trace."""
    FAILED = "failed"
    """It should have a value, but the judge gave none."""
    SUSPECT = "suspect"
    """The text tried to influence the judge; counts as the worst case in lower bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One metric for one revision of one trace by one judge."""

    metric: str
    status: ScoreStatus
    value: float | None = None
    """0 to 1, larger is better; None unless scored (or suspect, where it is what was read)."""
    reason: str | None = None
    """Why there is no value; a stable machine word."""
    detail: str | None = None
    """Of a failed one, the sentence of the judge's server or of the reader of its reply: one line,
    without secrets. A `Message` where it is one of ours."""
    flagged: bool | None = None
    """`answer_supported` only: below the judge's threshold."""
    judge: JudgeIdentity | None = None
    """None for metrics that need no judge."""
    verdicts: tuple[Verdict, ...] = ()
    created_at: datetime | None = None
    inferred: bool = False
    """The key points behind it were inferred by the judge."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSessionScore:
    """The same of a whole session: what another tool says of a conversation."""

    project: str
    session_id: str
    source: str
    """As of `ReportedScore`, and so are the fields below."""
    name: str
    value: float | None = None
    label: str | None = None
    explanation: str | None = None
    error: str | None = None
    reported_at: datetime
    received_at: datetime

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What may stand once."""
        return (self.project, self.session_id, self.source, self.name)


class ReportedScoreSink(Protocol):
    """Where ingest puts scores of other tools."""

    def add(self, scores: list[ReportedScore], /) -> None:
        """Store them and return once they are committed. Blocks.

        Raises:
            StoreUnavailable: The database does not answer or is full; answer 503.
        """
        ...

    def add_of_sessions(self, scores: list[ReportedSessionScore], /) -> None:
        """The same of whole sessions."""
        ...
