"""Incidents: alerts of one application that began together, and the story they tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rag_monitor.domain.fault import Fault, FaultEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentAlert:
    """An alert as a part of its incident."""

    id: str
    rule: str
    kind: str = ""
    """A `RuleKind`; empty: of an alert that an earlier release saved."""
    runbook_url: str = ""
    """Of the rule; empty: the page on its kind."""
    started_at: datetime
    fired_at: datetime
    resolved_at: datetime | None = None
    broke_at: datetime | None = None
    """When the course of what it watches broke; None: not known, but no later than it began."""

    @property
    def began_at(self) -> datetime:
        """When its course broke, where that is known, else when it became active."""
        return self.broke_at or self.started_at


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultGrowth:
    """By how much the share of judged answers with one fault rose."""

    fault: Fault
    share: float
    """Of the judged answers since the begin."""
    share_before: float
    lower: float
    """Of share - share_before; simultaneous for all faults."""
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """Where the trouble is: one value of one dimension in which the share at fault rose more."""

    dimension: str
    """`release`, `knowledge_base`, `model` or `topic`."""
    value: str
    excess: float
    """By how much more the share of bad answers rose in it than elsewhere."""
    lower: float
    """Of the excess; simultaneous for all values that were compared. Above 0."""
    upper: float
    of_bad: float
    """Its share of the bad answers since the begin."""
    of_traffic: float
    """Its share of all judged answers since the begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A trace that shows what is wrong."""

    trace_id: str
    fault: Fault | None = None
    """None: nobody diagnosed it, and it is an example of what the first alert watches."""
    probability: float | None = None
    question: str | None = None
    """Cut; None: withheld, or left out."""
    evidence: tuple[FaultEvidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """What to do next: a row of the table of `alerting.incidents.next_step`, and where it leads."""

    key: str
    dimension: str | None = None
    value: str | None = None
    against: str | None = None
    """The release before, where releases are to be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What can be told of an incident from the traces before and since it began."""

    told_at: datetime
    since: datetime
    """The answers since then are held against those before."""
    first: str
    """Id of the alert that broke first."""
    judged: int
    """Answers since `since` that were looked at."""
    judged_before: int
    growths: tuple[FaultGrowth, ...] = ()
    """Faults that rose beyond chance, the greatest rise first."""
    concentrations: tuple[Concentration, ...] = ()
    """The greatest lower end first."""
    compared: int = 0
    """Values that were compared; 0: there was nothing to compare by."""
    examples: tuple[Example, ...] = ()
    step: NextStep

    @property
    def fault(self) -> Fault | None:
        """The fault that rose most; None: none did beyond chance."""
        return self.growths[0].fault if self.growths else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Alerts of one application that began together."""

    id: str
    """Stable for the alert that it began with."""
    project: str
    app: str
    began_at: datetime
    """Of the alert that broke first."""
    ended_at: datetime | None = None
    """When the last of its alerts was over; None: one still fires."""
    alerts: tuple[IncidentAlert, ...]
    """In the order in which they broke."""
    story: Story | None = None
    """None: not told yet."""

    @property
    def first(self) -> IncidentAlert:
        """The alert that broke first."""
        return self.alerts[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentTrace:
    """What a story is told from: one trace, without its texts."""

    trace_id: str
    started_at: datetime
    failed: bool = False
    release: str | None = None
    model: str | None = None
    knowledge_bases: tuple[str, ...] = ()
    topic: str | None = None
    """Its name, or its number where it has none; None: its question is of no topic."""
    latencies: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by metric, of those that are known."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """By metric."""
    fault: Fault | None = None
    """None: not diagnosed."""
    probability: float = 0.0
    """Of the fault."""
