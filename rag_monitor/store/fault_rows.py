"""What was at fault as rows, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault, FaultEvidence

_EVIDENCE_FIELDS: Final = tuple(field.name for field in fields(FaultEvidence))


def dump_diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    """The columns of a diagnosis that do not name its trace."""
    return {
        "judge": diagnosis.judge,
        "fault": diagnosis.fault.value,
        "probability": diagnosis.probability,
        "probabilities": {f.value: p for f, p in diagnosis.probabilities.items()},
        "evidence": [_dump_evidence(item) for item in diagnosis.evidence],
    }


def load_diagnosis(row: Any) -> Diagnosis:
    """A row of `faults`."""
    return Diagnosis(
        judge=row.judge,
        probabilities={Fault(name): value for name, value in row.probabilities.items()},
        evidence=tuple(_load_evidence(item) for item in row.evidence),
    )


def _dump_evidence(evidence: FaultEvidence) -> dict[str, Any]:
    values = ((name, getattr(evidence, name)) for name in _EVIDENCE_FIELDS)
    return {name: value for name, value in values if value not in (None, "")}


def _load_evidence(item: Mapping[str, Any]) -> FaultEvidence:
    return FaultEvidence(**{**item, "kind": EvidenceKind(item["kind"])})
