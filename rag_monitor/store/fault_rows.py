"""What was at fault as rows, and back.

A passage of another trace is saved by its digest alone: its text is erased with the traces that
retrieved it, and looked up while it is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select

from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault, FaultEvidence, shortened
from rag_monitor.domain.window import Window
from rag_monitor.store.tables import faults
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
        probabilities=_probabilities(row),
        evidence=tuple(_load_evidence(item) for item in row.evidence),
    )


def load_probabilities(
    connection: Connection, project: str, trace_ids: Sequence[str], days: Collection[date]
) -> dict[str, dict[str, dict[Fault, float]]]:
    """The probabilities of faults by trace and judge."""
    by_trace: dict[str, dict[str, dict[Fault, float]]] = defaultdict(dict)
    statement = select(faults.c.trace_id, faults.c.judge, faults.c.probabilities).where(
        faults.c.project == project,
        faults.c.trace_id.in_(trace_ids),
        faults.c.day.in_(days),
    )
    for row in connection.execute(statement):
        by_trace[row.trace_id][row.judge] = _probabilities(row)
    return dict(by_trace)


def most_at_fault(project: str, app: str, fault: Fault, window: Window, limit: int) -> Select[Any]:
    """Ids of the traces with that fault, the most probable first; of `none`, with any other."""
    same = faults.c.fault == fault.value
    return (
        select(faults.c.trace_id)
        .where(
            faults.c.project == project,
            faults.c.app == app,
            same if fault is not Fault.NONE else ~same,
            faults.c.started_at >= window.start,
            faults.c.started_at < window.end,
        )
        .group_by(faults.c.trace_id)
        .order_by(func.max(faults.c.probability).desc(), faults.c.trace_id)
        .limit(limit)
    )


def _probabilities(row: Any) -> dict[Fault, float]:
    return {Fault(name): value for name, value in row.probabilities.items()}


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
