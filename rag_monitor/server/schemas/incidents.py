"""Incidents, as the API tells them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from rag_monitor.alerting.incidents.next_step import path_of
from rag_monitor.alerting.incidents.wording import sentences
from rag_monitor.alerting.runbooks import runbook_url
from rag_monitor.domain.fault import STAGES
from rag_monitor.domain.incident import (
    Concentration,
    Example,
    FaultGrowth,
    Incident,
    IncidentAlert,
    Story,
)
from rag_monitor.server.schemas.faults import FaultEvidenceOut
from rag_monitor.server.schemas.values import Hints, Wire


class IncidentAlertOut(Wire):
    """An alert as a part of its incident."""

    id: str
    rule: str
    started_at: datetime
    fired_at: datetime
    resolved_at: datetime | None
    broke_at: datetime | None = Field(
        description="When the course of what it watches broke; null: not known."
    )
    runbook_url: str = Field(description="The rule's own; else a page of this server.")

    @classmethod
    def from_domain(cls, alert: IncidentAlert) -> IncidentAlertOut:
        """The alert as it goes out."""
        return cls(
            id=alert.id,
            rule=alert.rule,
            started_at=alert.started_at,
            fired_at=alert.fired_at,
            resolved_at=alert.resolved_at,
            broke_at=alert.broke_at,
            runbook_url=runbook_url(alert.kind, alert.runbook_url),
        )


class FaultGrowthOut(Wire):
    """A fault whose share of judged answers rose beyond chance."""

    fault: str = Field(examples=["invented"])
    stage: str = Field(examples=["generation"])
    share: float
    share_before: float
    lower: float = Field(description="Of the difference; simultaneous for all faults.")
    upper: float

    @classmethod
    def from_domain(cls, growth: FaultGrowth) -> FaultGrowthOut:
        """The growth as it goes out."""
        return cls(
            fault=growth.fault.value,
            stage=STAGES[growth.fault].value,
            share=growth.share,
            share_before=growth.share_before,
            lower=growth.lower,
            upper=growth.upper,
        )


class ConcentrationOut(Wire):
    """A value in which the share of bad answers rose more than elsewhere, beyond chance."""

    dimension: str = Field(examples=["release"])
    value: str = Field(examples=["v43"])
    excess: float = Field(description="By how much more the share of bad answers rose in it.")
    lower: float = Field(description="Of the excess; simultaneous for all values compared.")
    upper: float
    of_bad: float = Field(description="Its share of the bad answers since the begin.")
    of_traffic: float = Field(description="Its share of all judged answers since the begin.")

    @classmethod
    def from_domain(cls, place: Concentration) -> ConcentrationOut:
        """The place as it goes out."""
        return cls(
            dimension=place.dimension,
            value=place.value,
            excess=place.excess,
            lower=place.lower,
            upper=place.upper,
            of_bad=place.of_bad,
            of_traffic=place.of_traffic,
        )


class ExampleOut(Wire):
    """A trace that shows what is wrong."""

    trace_id: str
    fault: str | None = Field(description="null: it was not diagnosed.")
    probability: float | None
    question: str | None = Field(description="Its first 160 characters; null: withheld.")
    evidence: list[FaultEvidenceOut]

    @classmethod
    def from_domain(cls, example: Example) -> ExampleOut:
        """The example as it goes out."""
        return cls(
            trace_id=example.trace_id,
            fault=None if example.fault is None else example.fault.value,
            probability=example.probability,
            question=example.question,
            evidence=[FaultEvidenceOut.from_domain(item) for item in example.evidence],
        )


class StoryOut(Wire):
    """What can be told of the answers before and since."""

    told_at: datetime
    since: datetime = Field(description="Answers since then are held against the day before it.")
    first: str = Field(description="Id of the alert that broke first.")
    judged: int
    judged_before: int
    faults: list[FaultGrowthOut] = Field(description="The greatest rise first.")
    concentrations: list[ConcentrationOut]
    compared: int = Field(description="Values that were compared.")
    examples: list[ExampleOut]

    @classmethod
    def from_domain(cls, story: Story) -> StoryOut:
        """The story as it goes out."""
        return cls(
            told_at=story.told_at,
            since=story.since,
            first=story.first,
            judged=story.judged,
            judged_before=story.judged_before,
            faults=[FaultGrowthOut.from_domain(growth) for growth in story.growths],
            concentrations=[ConcentrationOut.from_domain(one) for one in story.concentrations],
            compared=story.compared,
            examples=[ExampleOut.from_domain(example) for example in story.examples],
        )


class IncidentOut(Wire):
    """Alerts of one application that began together."""

    id: str
    app: str
    began_at: datetime
    ended_at: datetime | None = Field(description="null: an alert of it still fires.")
    alerts: list[IncidentAlertOut] = Field(description="In the order in which they broke.")
    sentences: list[str] = Field(description="The story in words, in the language asked for.")
    next_path: str | None = Field(
        description="Page of this server that the next step begins on; null: the runbook."
    )
    story: StoryOut | None = Field(description="null: not told yet.")

    @classmethod
    def from_domain(cls, incident: Incident, language: str) -> IncidentOut:
        """The incident as it goes out."""
        return cls(
            id=incident.id,
            app=incident.app,
            began_at=incident.began_at,
            ended_at=incident.ended_at,
            alerts=[IncidentAlertOut.from_domain(alert) for alert in incident.alerts],
            sentences=sentences(incident, language),
            next_path=path_of(incident),
            story=None if incident.story is None else StoryOut.from_domain(incident.story),
        )


class IncidentsOut(Wire):
    """Incidents, newest first."""

    incidents: list[IncidentOut]
    hints: Hints
