"""What was at fault in an answered question, how probably, and which stage must change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Fault(StrEnum):
    """What was at fault; the names stand in the database and in the API."""

    NONE = "none"
    KNOWLEDGE_GAP = "knowledge_gap"
    """No knowledge base holds what the question needs."""
    MISSED_RETRIEVAL = "missed_retrieval"
    """A knowledge base holds it, and the retriever did not return it."""
    BAD_RANKING = "bad_ranking"
    """It was retrieved, and ranked too low or cut off before the model."""
    INVENTED = "invented"
    """The answer states what no passage does."""
    CONTRADICTED = "contradicted"
    """The answer states something else than a passage does."""
    OFF_TOPIC = "off_topic"
    """The answer is about something else than the question."""
    INCOMPLETE = "incomplete"
    """The answer leaves out a part of what was asked for."""
    NEEDLESS_REFUSAL = "needless_refusal"
    """The answer declines although the passages hold what the question needs."""
    WRONG_CITATION = "wrong_citation"
    """A citation points at no passage, or at one that does not support its statement."""
    STALE_SOURCE = "stale_source"
    """The answer takes a value from a passage where a newer one states another."""
    CONFLICTING_SOURCES = "conflicting_sources"
    """Passages state different values, and nothing tells which of them holds."""
    WRONG_ROUTE = "wrong_route"
    """Another plugin, knowledge base or workflow should have been called."""
    BACKEND_ERROR = "backend_error"
    """The request, or something that it called, failed."""


class Stage(StrEnum):
    """The part of an application that is responsible."""

    KNOWLEDGE = "knowledge"
    RETRIEVAL = "retrieval"
    GENERATION = "generation"
    ROUTING = "routing"
    SYSTEM = "system"


STAGES: Final[Mapping[Fault, Stage]] = MappingProxyType(
    {
        Fault.KNOWLEDGE_GAP: Stage.KNOWLEDGE,
        Fault.STALE_SOURCE: Stage.KNOWLEDGE,
        Fault.CONFLICTING_SOURCES: Stage.KNOWLEDGE,
        Fault.MISSED_RETRIEVAL: Stage.RETRIEVAL,
        Fault.BAD_RANKING: Stage.RETRIEVAL,
        Fault.INVENTED: Stage.GENERATION,
        Fault.CONTRADICTED: Stage.GENERATION,
        Fault.OFF_TOPIC: Stage.GENERATION,
        Fault.INCOMPLETE: Stage.GENERATION,
        Fault.NEEDLESS_REFUSAL: Stage.GENERATION,
        Fault.WRONG_CITATION: Stage.GENERATION,
        Fault.WRONG_ROUTE: Stage.ROUTING,
        Fault.BACKEND_ERROR: Stage.SYSTEM,
    }
)
"""Who is responsible for each fault; nobody for none."""

FAULT_METRIC: Final = "fault"
"""Under which rollups keep the sums of all faults together."""


def fault_metric(fault: Fault) -> str:
    """What the share of traces with that fault is called as a metric: `fault:invented`."""
    return f"{FAULT_METRIC}:{fault.value}"


FAULT_METRICS: Final[Mapping[str, Fault]] = MappingProxyType(
    {fault_metric(fault): fault for fault in Fault}
)
"""The share of each fault, `none` among them, by its name as a metric."""


def is_share_at_fault(metric: str) -> bool:
    """Whether it is a share of traces that is the worse the higher."""
    return FAULT_METRICS.get(metric, Fault.NONE) is not Fault.NONE


class EvidenceKind(StrEnum):
    """What a piece of evidence says."""

    ERROR = "error"
    """The error, or the name of a call that failed, is `text`."""
    NO_ANSWER = "no_answer"
    NOT_HIT = "not_hit"
    """`text` should have been called and was not."""
    REFUSAL = "refusal"
    SUFFICIENCY = "sufficiency"
    """`value` is P(the contexts hold what a complete answer needs)."""
    CONTEXTS_UNKNOWN = "contexts_unknown"
    NOT_SEARCHED = "not_searched"
    """Earlier passages were not searched, so a gap and a miss are equally probable."""
    NOT_FOUND = "not_found"
    """No passage that was retrieved before holds it; `value` is how many were searched."""
    EARLIER_PASSAGE = "earlier_passage"
    """`text` is the passage that holds it, `value` how probably; or a labelled document's id."""
    ERASED_PASSAGE = "erased_passage"
    """A passage that held it with probability `value`, and is not kept any more."""
    CUT_OFF = "cut_off"
    """`text` was retrieved and did not reach the model."""
    STATEMENT = "statement"
    """`text` is supported with probability `value`."""
    VALUE_USED = "value_used"
    """The answer's value is that of `passage`, in `text`."""
    VALUE_BESIDE = "value_beside"
    """`passage` states another value, in `text`."""
    GRADE = "grade"
    """`value` is how well the answer answers the question."""
    NOT_ANSWERED = "not_answered"
    """The key point `text` is not in the answer."""
    CITATION = "citation"
    """What is cited for `text` supports it with probability `value`."""
    RANKING = "ranking"
    """`value` is the average precision of the useful passages."""


LONGEST_EVIDENCE: Final = 300
"""Characters of a text in the evidence."""


def shortened(text: str) -> str:
    """`text`, cut to `LONGEST_EVIDENCE`."""
    return text if len(text) <= LONGEST_EVIDENCE else text[: LONGEST_EVIDENCE - 1] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvidence:
    """One thing that a fault was told from."""

    kind: EvidenceKind
    text: str = ""
    """At most `LONGEST_EVIDENCE` characters."""
    value: float | None = None
    passage: int | None = None
    """0-based, of the contexts."""
    digest: str = ""
    """SHA-256 of a passage that another trace retrieved, in hexadecimal. Kept in place of its text,
    so that it is erased with that trace; `text` is looked up."""


_EVEN: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What one judge's verdicts on a trace say of its fault."""

    judge: str
    """The identity as text."""
    probabilities: Mapping[Fault, float]
    """Of every fault that is possible, `none` among them; they add up to 1."""
    evidence: tuple[FaultEvidence, ...] = ()

    @property
    def fault(self) -> Fault:
        """`none` where that is at least as probable as all faults together, else the likeliest.

        Of equals, the first of `Fault`.
        """
        if self.probabilities.get(Fault.NONE, 0.0) >= _EVEN:
            return Fault.NONE
        faults = [fault for fault in Fault if fault is not Fault.NONE]
        return max(faults, key=lambda fault: self.probabilities.get(fault, 0.0))

    @property
    def probability(self) -> float:
        """How probable `fault` is, 0 to 1."""
        return self.probabilities[self.fault]

    @property
    def stage(self) -> Stage | None:
        """The part of the application that is responsible; None: no fault."""
        return STAGES.get(self.fault)
