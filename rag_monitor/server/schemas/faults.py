"""What was at fault in a trace, as the API tells it."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from pydantic import Field

from rag_monitor.domain.fault import FAULT_METRICS, STAGES, Diagnosis, FaultEvidence
from rag_monitor.domain.window import Estimate
from rag_monitor.server.schemas.quality import EstimateOut
from rag_monitor.server.schemas.values import Hints, Wire, finite


class FaultEvidenceOut(Wire):
    """One thing that a fault was told from."""

    kind: str = Field(examples=["statement"])
    text: str
    value: float | None
    passage: int | None = Field(description="0-based, of the contexts.")

    @classmethod
    def from_domain(cls, evidence: FaultEvidence) -> FaultEvidenceOut:
        """The evidence as it goes out."""
        return cls(
            kind=evidence.kind.value,
            text=evidence.text,
            value=finite(evidence.value),
            passage=evidence.passage,
        )


class FaultOut(Wire):
    """What one judge's verdicts on a trace say was at fault."""

    judge: str
    fault: str = Field(examples=["needless_refusal"])
    probability: float
    stage: str | None = Field(
        description="The part of the application that is responsible; null: no fault.",
        examples=["generation"],
    )
    probabilities: dict[str, float] = Field(description="Of every fault that is possible.")
    evidence: list[FaultEvidenceOut]

    @classmethod
    def from_domain(cls, diagnosis: Diagnosis) -> FaultOut:
        """The diagnosis as it goes out."""
        return cls(
            judge=diagnosis.judge,
            fault=diagnosis.fault.value,
            probability=diagnosis.probability,
            stage=None if diagnosis.stage is None else diagnosis.stage.value,
            probabilities={f.value: p for f, p in diagnosis.probabilities.items()},
            evidence=[FaultEvidenceOut.from_domain(item) for item in diagnosis.evidence],
        )


class FaultShareOut(EstimateOut):
    """The share of traces with one fault, with its interval."""

    fault: str = Field(examples=["invented"])
    stage: str | None = Field(
        description="The part of the application that is responsible; null: no fault.",
        examples=["generation"],
    )

    @classmethod
    def from_domain(cls, estimate: Estimate) -> Self:
        """The share as it goes out."""
        fault = FAULT_METRICS[estimate.series.metric]
        stage = STAGES.get(fault)
        return cls(
            **EstimateOut.from_domain(estimate).model_dump(),
            fault=fault.value,
            stage=None if stage is None else stage.value,
        )


class AppFaultsOut(Wire):
    """The faults of one application."""

    app: str
    faults: list[FaultShareOut] = Field(
        description="Every fault, `none` first; shares of judged traces. Empty: none is judged."
    )


class FaultsOut(Wire):
    """What was at fault in every application over one window."""

    start: datetime
    end: datetime
    apps: list[AppFaultsOut]
    next: str | None = Field(description="`cursor` of the next page; null on the last one.")
    apps_folded: int = Field(description="Apps on later pages, less busy than these.")
    hints: Hints
