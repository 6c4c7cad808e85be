"""Incidents as JSON bodies, and back. Examples have rows of their own: they belong to traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from rag_monitor.domain.fault import EvidenceKind, Fault, FaultEvidence
from rag_monitor.domain.incident import (
    Concentration,
    Example,
    FaultGrowth,
    Incident,
    IncidentAlert,
    NextStep,
    Story,
)


def dump_incident(incident: Incident) -> dict[str, Any]:
    """Everything of an incident, its examples without any text."""
    story = incident.story
    if story is not None:
        bare = tuple(replace(one, question=None, evidence=()) for one in story.examples)
        incident = replace(incident, story=replace(story, examples=bare))
    return asdict(incident)


def load_incident(body: Mapping[str, Any], examples: Sequence[Example] | None = None) -> Incident:
    """An incident.

    Args:
        body: As `dump_incident` made it.
        examples: Those of its story; None: as they are in the body.
    """
    story = body["story"]
    return Incident(
        id=body["id"],
        project=body["project"],
        app=body["app"],
        began_at=datetime.fromisoformat(body["began_at"]),
        ended_at=_moment(body["ended_at"]),
        alerts=tuple(_load_alert(alert) for alert in body["alerts"]),
        story=None if story is None else _load_story(story, examples),
    )


def dump_example(example: Example) -> dict[str, Any]:
    """Everything of an example."""
    return asdict(example)


def load_example(body: Mapping[str, Any]) -> Example:
    """An example."""
    fault = body["fault"]
    evidence = tuple(
        FaultEvidence(**{**item, "kind": EvidenceKind(item["kind"])}) for item in body["evidence"]
    )
    return Example(
        trace_id=body["trace_id"],
        fault=None if fault is None else Fault(fault),
        probability=body["probability"],
        question=body["question"],
        evidence=evidence,
    )


def _load_alert(body: Mapping[str, Any]) -> IncidentAlert:
    return IncidentAlert(
        id=body["id"],
        rule=body["rule"],
        kind=body["kind"],
        runbook_url=body["runbook_url"],
        started_at=datetime.fromisoformat(body["started_at"]),
        fired_at=datetime.fromisoformat(body["fired_at"]),
        resolved_at=_moment(body["resolved_at"]),
        broke_at=_moment(body["broke_at"]),
    )


def _load_story(body: Mapping[str, Any], examples: Sequence[Example] | None) -> Story:
    if examples is None:
        examples = [load_example(example) for example in body["examples"]]
    return Story(
        told_at=datetime.fromisoformat(body["told_at"]),
        since=datetime.fromisoformat(body["since"]),
        first=body["first"],
        judged=body["judged"],
        judged_before=body["judged_before"],
        growths=tuple(FaultGrowth(**{**g, "fault": Fault(g["fault"])}) for g in body["growths"]),
        concentrations=tuple(Concentration(**one) for one in body["concentrations"]),
        compared=body["compared"],
        examples=tuple(examples),
        step=NextStep(**body["step"]),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
