"""What was at fault as rows, and back.

A passage of another trace is saved by its digest alone: its text is erased with the traces that
retrieved it, and looked up while it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from sqlalchemy import Connection

from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault, FaultEvidence, shortened
from rag_monitor.store.trace_reads import load_passages

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


def load_diagnoses(connection: Connection, project: str, rows: Sequence[Any]) -> list[Diagnosis]:
    """Rows of `faults` of a project, with the passages that their evidence names."""
    diagnoses = [load_diagnosis(row) for row in rows]
    digests = {item.digest for one in diagnoses for item in one.evidence if item.digest}
    if not digests:
        return diagnoses
    texts = load_passages(connection, project, digests)
    return [
        replace(one, evidence=tuple(_with_text(item, texts) for item in one.evidence))
        for one in diagnoses
    ]


def load_diagnosis(row: Any) -> Diagnosis:
    """A row of `faults`, without the texts of passages that its evidence names."""
    return Diagnosis(
        judge=row.judge,
        probabilities={Fault(name): value for name, value in row.probabilities.items()},
        evidence=tuple(_load_evidence(item) for item in row.evidence),
    )


def _dump_evidence(evidence: FaultEvidence) -> dict[str, Any]:
    if evidence.digest:
        evidence = replace(evidence, text="")
    values = ((name, getattr(evidence, name)) for name in _EVIDENCE_FIELDS)
    return {name: value for name, value in values if value not in (None, "")}


def _load_evidence(item: Mapping[str, Any]) -> FaultEvidence:
    return FaultEvidence(**{**item, "kind": EvidenceKind(item["kind"])})


def _with_text(evidence: FaultEvidence, passages: Mapping[str, str]) -> FaultEvidence:
    if not evidence.digest:
        return evidence
    text = passages.get(evidence.digest)
    if text is None:
        return replace(evidence, kind=EvidenceKind.ERASED_PASSAGE)
    return replace(evidence, text=shortened(text))
