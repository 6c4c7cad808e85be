"""What faults, stages and evidence are called on pages and in messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault, Stage
from rag_monitor.i18n import msgid

FAULTS: Final[Mapping[Fault, str]] = {
    Fault.NONE: msgid("No fault found"),
    Fault.KNOWLEDGE_GAP: msgid("Missing from the knowledge base"),
    Fault.MISSED_RETRIEVAL: msgid("Missed by the retriever"),
    Fault.BAD_RANKING: msgid("Ranked too low"),
    Fault.INVENTED: msgid("Invented"),
    Fault.CONTRADICTED: msgid("Contradicts its passages"),
    Fault.OFF_TOPIC: msgid("Off topic"),
    Fault.INCOMPLETE: msgid("Incomplete"),
    Fault.NEEDLESS_REFUSAL: msgid("Refused needlessly"),
    Fault.WRONG_CITATION: msgid("Wrong citation"),
    Fault.STALE_SOURCE: msgid("Outdated source"),
    Fault.CONFLICTING_SOURCES: msgid("Conflicting sources"),
    Fault.WRONG_ROUTE: msgid("Wrong route"),
    Fault.BACKEND_ERROR: msgid("Back-end error"),
}
STAGES: Final[Mapping[Stage, str]] = {
    Stage.KNOWLEDGE: msgid("Knowledge"),
    Stage.RETRIEVAL: msgid("Retrieval"),
    Stage.GENERATION: msgid("Generation"),
    Stage.ROUTING: msgid("Routing"),
    Stage.SYSTEM: msgid("System"),
}
EVIDENCE: Final[Mapping[EvidenceKind, str]] = {
    EvidenceKind.ERROR: msgid("Failed"),
    EvidenceKind.NO_ANSWER: msgid("The answer is empty."),
    EvidenceKind.NOT_HIT: msgid("Expected and not called"),
    EvidenceKind.REFUSAL: msgid("The answer declines"),
    EvidenceKind.SUFFICIENCY: msgid("Chance that the passages hold a complete answer"),
    EvidenceKind.CONTEXTS_UNKNOWN: msgid("The passages are not known"),
    EvidenceKind.NOT_SEARCHED: msgid(
        "Earlier passages were not searched: a gap and a miss are equally probable"
    ),
    EvidenceKind.NOT_FOUND: msgid("Earlier passages searched without a find"),
    EvidenceKind.EARLIER_PASSAGE: msgid("Passage that holds it"),
    EvidenceKind.ERASED_PASSAGE: msgid("The passage that holds it was erased"),
    EvidenceKind.CUT_OFF: msgid("Retrieved, and not given to the model"),
    EvidenceKind.STATEMENT: msgid("Least supported statement"),
    EvidenceKind.VALUE_USED: msgid("The answer's value"),
    EvidenceKind.VALUE_BESIDE: msgid("Another value"),
    EvidenceKind.GRADE: msgid("How well it answers the question"),
    EvidenceKind.NOT_ANSWERED: msgid("Missing from the answer"),
    EvidenceKind.CITATION: msgid("Chance that the cited passage supports it"),
    EvidenceKind.RANKING: msgid("Average precision of the useful passages"),
}
LIKELY: Final = 0.1
"""Probability from which on another fault is shown beside the label."""


def likely_faults(diagnoses: Sequence[Diagnosis]) -> list[Fault]:
    """What a person is asked about first: what a judge thinks possible, and that nothing was."""
    highest = {
        fault: max(diagnosis.probabilities.get(fault, 0.0) for diagnosis in diagnoses)
        for fault in Fault
        if diagnoses and fault is not Fault.NONE
    }
    likely = [fault for fault, p in highest.items() if p >= LIKELY]
    return [*sorted(likely, key=lambda fault: -highest[fault]), Fault.NONE]
