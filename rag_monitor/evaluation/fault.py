"""What was at fault in a judged trace: a decision table over what its signals say.

Rows are read from the top. Each takes its share of the probability that the rows above have left;
what is left at the end is `none`. So an ambiguous case is divided, and nothing is guessed. An
earlier stage comes before a later one: an answer cannot be better than what it was given. s is
P(the contexts suffice), u is P(something in the answer is unsupported), c is P(a passage states
otherwise, given that it is unsupported), g is the grade of the answer. `fault_weights` says how
they are learnt from what a judge says.

| row | when | takes | fault |
|---|---|---|---|
| 1 | the request failed, or there is no answer | 1 | `backend_error` |
| | a call failed | 1 - s | `backend_error` |
| 2 | of the labelled names of a kind none was called | 1 | `wrong_route` |
| 3 | the answer declines | s | `needless_refusal` |
| 4 | the answer declines | 1 - s | the contexts did not suffice |
| 5 | its value has another one beside it, newer | 1 | `stale_source` |
| | of which nothing tells the age | 1 | `conflicting_sources` |
| 6 | any answer | 1 - s | the contexts did not suffice |
| 7 | a passage states otherwise | u * c | `contradicted` |
| 8 | what is left of u | u * (1 - c) | `invented` |
| 9 | a low grade | g below .75, divided at .25 and .5 | `off_topic`, `incomplete` |
| 10 | labelled key points | their share that the answer lacks | `incomplete` |
| 11 | a citation | P(cited passage does not support, some other does) | `wrong_citation` |
| 12 | useful passages stand low | P by their average precision | `bad_ranking` |

Contexts that did not suffice are divided: `knowledge_gap` where no knowledge base holds what was
needed; `bad_ranking` where it was retrieved and cut off; else `missed_retrieval`. While nobody has
searched, a gap and a miss are equally probable. A search also moves s: an earlier passage that fits
the question better than all contexts lowers it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault, FaultEvidence
from rag_monitor.domain.score import Score
from rag_monitor.domain.trace import Trace, passage_digest
from rag_monitor.evaluation import fault_weights
from rag_monitor.evaluation.fault_signals import Signals, evidence_item, read_signals
from rag_monitor.evaluation.fault_weights import logit, moved, weighed
from rag_monitor.evaluation.missed_passage import Search

_EVEN: Final = 0.5
_NOT_SEARCHED: Final = 0.5
"""P(a knowledge base holds it) while nobody has looked."""
_DOUBT: Final = 0.05
"""P(the contexts are at fault) from which on a search is worth its time."""
_ANSWERS: Final = 0.75
"""Grade from which on an answer is at no fault of relevance."""
_BESIDE: Final = 0.25
"""Grade below which it is wholly at fault."""

Row = tuple[float, Mapping[Fault, float]]
"""How much of what is left a row takes, and how it is divided."""


def diagnose(trace: Trace, scores: Sequence[Score], judge: str) -> Diagnosis | None:
    """What was at fault in a trace, by the scores of one judge.

    Args:
        trace: What happened.
        scores: All scores that the judge gave it.
        judge: Its identity as text.

    Returns:
        None where the request failed in nothing and the judge says nothing of it.
    """
    signals = read_signals(trace, scores)
    return None if signals is None else decide(signals, judge)


def decide(signals: Signals, judge: str) -> Diagnosis:
    """The table."""
    left = 1.0
    shares: dict[Fault, float] = {}
    for takes, divided in _rows(signals):
        for fault, share in divided.items():
            shares[fault] = shares.get(fault, 0.0) + left * takes * share
        left *= 1 - takes
    shares[Fault.NONE] = shares.get(Fault.NONE, 0.0) + left
    probabilities = {fault: value for fault, value in shares.items() if value > 0}
    diagnosis = Diagnosis(judge=judge, probabilities=probabilities)
    return replace(diagnosis, evidence=_evidence(diagnosis.fault, signals))


def searched(signals: Signals, looked_at: int, search: Search, *, cut_off: bool = False) -> Signals:
    """The same after a search for what the contexts lack among passages that were retrieved before.

    Where an earlier passage fits the question better than the contexts do, they suffice less
    probably; where none fits as well, more probably.

    Args:
        signals: Of which nobody has told whether a knowledge base holds what the contexts lack.
        looked_at: How many passages.
        search: What it told.
        cut_off: What it found was retrieved for this very trace, and did not reach the model.
    """
    if signals.held is not None:
        return signals
    missed = search.missed
    evidence = dict(signals.evidence or {})
    # What no earlier passage holds may still stand in one that was never retrieved.
    held = fault_weights.NOT_FOUND
    if missed is None:
        search_result = evidence_item(EvidenceKind.NOT_FOUND, value=float(looked_at))
    elif cut_off:
        held = fault_weights.CUT_OFF
        search_result = evidence_item(EvidenceKind.CUT_OFF, missed.text, missed.probability)
    else:
        learnt = weighed(fault_weights.HELD_ELSEWHERE, logit(missed.probability), missed.gain)
        held = max(held, learnt)
        earlier = evidence_item(EvidenceKind.EARLIER_PASSAGE, missed.text, held)
        search_result = replace(earlier, digest=passage_digest(missed.text))
    evidence["held"] = (search_result,)
    sufficient = signals.sufficient
    if sufficient is not None and not signals.labelled:
        weights = fault_weights.REFUSED if signals.declines else fault_weights.ANSWERED
        sufficient = moved(sufficient, weights[-1] * search.lead)
        evidence["sufficient"] = (evidence_item(EvidenceKind.SUFFICIENCY, value=sufficient),)
    return replace(
        signals,
        sufficient=sufficient,
        held=held,
        cut_off=float(missed is not None and cut_off),
        evidence=evidence,
    )


def needs_search(signals: Signals) -> bool:
    """Whether a search would tell a gap from a miss, or whether there is one at all."""
    probabilities = decide(signals, "").probabilities
    apart = sum(probabilities.get(fault, 0.0) for fault in _APART)
    return signals.held is None and apart >= _DOUBT


def _rows(signals: Signals) -> Sequence[Row]:
    insufficient = _insufficient(signals)
    lacking = 1 - (_EVEN if signals.sufficient is None else signals.sufficient)
    before: list[Row] = [
        (signals.failed, {Fault.BACKEND_ERROR: 1.0}),
        (signals.misrouted, {Fault.WRONG_ROUTE: 1.0}),
    ]
    if signals.declines:
        return [*before, (1 - lacking, {Fault.NEEDLESS_REFUSAL: 1.0}), (1.0, insufficient)]
    return [
        *before,
        (float(signals.stale), {Fault.STALE_SOURCE: 1.0}),
        (float(signals.conflicting), {Fault.CONFLICTING_SOURCES: 1.0}),
        (0.0 if signals.sufficient is None else lacking, insufficient),
        (
            signals.unsupported,
            {Fault.CONTRADICTED: signals.swapped, Fault.INVENTED: 1 - signals.swapped},
        ),
        _relevance(signals.grade),
        (signals.unanswered, {Fault.INCOMPLETE: 1.0}),
        (signals.miscited, {Fault.WRONG_CITATION: 1.0}),
        (_ranked_low(signals.ranking), {Fault.BAD_RANKING: 1.0}),
    ]


_APART: Final = (Fault.KNOWLEDGE_GAP, Fault.MISSED_RETRIEVAL)


def _insufficient(signals: Signals) -> Mapping[Fault, float]:
    held = _NOT_SEARCHED if signals.held is None else signals.held
    return {
        Fault.BAD_RANKING: held * signals.cut_off,
        Fault.MISSED_RETRIEVAL: held * (1 - signals.cut_off),
        Fault.KNOWLEDGE_GAP: 1 - held,
    }


def _ranked_low(precision: float | None) -> float:
    return 0.0 if precision is None else weighed(fault_weights.RANKED_LOW, precision)


def _relevance(grade: float | None) -> Row:
    if grade is None:
        return 0.0, {}
    off = _clip(1 - grade / _EVEN)
    at_fault = _clip((_ANSWERS - grade) / (_ANSWERS - _BESIDE))
    return at_fault, {Fault.OFF_TOPIC: off, Fault.INCOMPLETE: 1 - off}


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


_TOLD_BY: Final[Mapping[Fault, tuple[str, ...]]] = {
    Fault.NONE: (),
    Fault.BACKEND_ERROR: ("failed",),
    Fault.WRONG_ROUTE: ("misrouted",),
    Fault.NEEDLESS_REFUSAL: ("declines", "sufficient"),
    Fault.STALE_SOURCE: ("conflict",),
    Fault.CONFLICTING_SOURCES: ("conflict",),
    Fault.CONTRADICTED: ("support",),
    Fault.KNOWLEDGE_GAP: ("declines", "sufficient", "held"),
    Fault.MISSED_RETRIEVAL: ("declines", "sufficient", "held"),
    Fault.INVENTED: ("support",),
    Fault.OFF_TOPIC: ("grade",),
    Fault.INCOMPLETE: ("unanswered", "grade"),
    Fault.WRONG_CITATION: ("miscited",),
    Fault.BAD_RANKING: ("held", "ranking"),
}
"""Which signals each fault is told from."""


def _evidence(fault: Fault, signals: Signals) -> tuple[FaultEvidence, ...]:
    evidence = signals.of(*_TOLD_BY[fault])
    if fault in _APART and signals.held is None:
        return (*evidence, evidence_item(EvidenceKind.NOT_SEARCHED))
    return evidence
