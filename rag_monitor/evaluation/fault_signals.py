"""What a trace and the scores of one judge say that a fault can be told from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rag_monitor.domain.fault import EvidenceKind, FaultEvidence, shortened
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.judgement import Aspect, Verdict
from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace, TraceStatus
from rag_monitor.evaluation import fault_weights
from rag_monitor.evaluation.fault_weights import logit, weighed
from rag_monitor.evaluation.passage_ages import PassageAges
from rag_monitor.language.normalise import fold
from rag_monitor.language.quantity import Quantity
from rag_monitor.language.tokens import term_set, worded_terms
from rag_monitor.language.value_conflicts import (
    states_another_value,
    value_conflicts,
    values_in,
    years_of,
)
from rag_monitor.metrics.rag import passages_of
from rag_monitor.metrics.rag.passages import is_blank

SUFFICIENCY_METRIC: Final = "context_sufficiency"
NOT_COVERED: Final = "not_covered"
VALUE_DIFFERS: Final = frozenset({"number_mismatch", "date_mismatch"})
NAME_DIFFERS: Final = "name_not_found"
_NO_LEAD: Final = 0.0
"""Of the best earlier passage while nobody has searched: it fits as well as the contexts."""
_ANSWERED: Final = 0.5
"""Share of a key point's words that an answer holds which tells it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Probabilities, and what each was told from. None: not known."""

    failed: float = 0.0
    """P(the request failed, or a call without which it could not succeed)."""
    misrouted: float = 0.0
    declines: bool = False
    sufficient: float | None = None
    """P(the contexts hold what a complete answer needs)."""
    labelled: bool = False
    """Whether labels tell `sufficient`: a search does not move it then."""
    held: float | None = None
    """P(a knowledge base holds it, given that the contexts do not); None: not searched."""
    cut_off: float = 0.0
    """P(it was retrieved, given that the contexts do not hold it and a knowledge base does)."""
    unsupported: float = 0.0
    swapped: float = 0.0
    """P(a passage states otherwise, given that the answer is not supported)."""
    stale: bool = False
    conflicting: bool = False
    grade: float | None = None
    unanswered: float = 0.0
    """Share of labelled key points that the answer lacks."""
    miscited: float = 0.0
    ranking: float | None = None
    """Average precision of the useful passages; None: there is none, or it is not known."""
    evidence: Mapping[str, tuple[FaultEvidence, ...]] | None = None
    """By the name of the signal."""

    def of(self, *names: str) -> tuple[FaultEvidence, ...]:
        """The evidence of some signals."""
        by_signal = self.evidence or {}
        return tuple(item for name in names for item in by_signal.get(name, ()))


def read_signals(trace: Trace, scores: Sequence[Score]) -> Signals | None:
    """The signals of a trace; None: it failed in nothing and the judge says nothing of it.

    Args:
        trace: What happened.
        scores: Of one judge. Those that are suspect, failed or not applicable say nothing.
    """
    by_metric = {s.metric: s for s in scores if s.status is ScoreStatus.SCORED}
    reader = _Reader(trace, by_metric)
    signals = reader.read()
    judged = by_metric.keys() - {"citation_validity"}
    return signals if judged or signals.failed or signals.misrouted else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOutputs:
    """What a judge says that the learnt weights turn into signals. None: it does not say."""

    declines: bool
    sufficiency: float | None
    relevance: float | None
    """Of the most relevant passage."""
    grade: float | None
    support: float | None
    """Of the least supported statement."""
    reason: str | None
    """The judge's, of that statement."""
    replaced: bool
    """Whether it gives another value than the passage it was held against."""
    words_held: float
    """Share of that statement's words that stand in the passage it was held against."""
    precision: float | None
    """Average precision of the useful passages."""


def outputs_of(trace: Trace, scores: Sequence[Score]) -> JudgeOutputs:
    """What the scores of one judge say; for learning the weights."""
    reader = _Reader(trace, {s.metric: s for s in scores if s.status is ScoreStatus.SCORED})
    return reader.outputs()


def evidence_item(
    kind: EvidenceKind, text: str = "", value: float | None = None, passage: int | None = None
) -> FaultEvidence:
    """A piece of evidence with its text cut to length."""
    return FaultEvidence(kind=kind, text=shortened(text), value=value, passage=passage)


class _Reader:
    def __init__(self, trace: Trace, scores: Mapping[str, Score]) -> None:
        self._trace = trace
        self._scores = scores
        self._passages = passages_of(trace)
        self._evidence: dict[str, tuple[FaultEvidence, ...]] = {}
        self._values: dict[int, Sequence[Quantity]] = {}
        """Of passages that statements were held against."""
        self._ages = PassageAges(trace.contexts or ())

    def read(self) -> Signals:
        declines = self._declines()
        unsupported, swapped = (0.0, 0.0) if declines else self._support()
        # A caller who goes away leaves an answer that is incomplete by nobody's fault.
        whole = self._trace.status is TraceStatus.OK
        grade = self._grade()
        sufficient = self._sufficiency(declines, grade)
        stale, conflicting = (False, False) if declines else self._conflicts()
        labelled = self._labelled_coverage() is not None
        held, cut_off = self._labelled_retrieval()
        if grade is not None:
            self._evidence["grade"] = (evidence_item(EvidenceKind.GRADE, value=grade),)
        if declines:
            self._evidence["declines"] = (
                evidence_item(EvidenceKind.REFUSAL, self._trace.answer or ""),
            )
        return Signals(
            failed=self._failed(sufficient),
            misrouted=self._misrouted(),
            declines=declines,
            sufficient=sufficient,
            labelled=labelled,
            held=held,
            cut_off=cut_off,
            unsupported=unsupported,
            swapped=swapped,
            stale=stale,
            conflicting=conflicting,
            grade=grade,
            unanswered=self._unanswered() if whole else 0.0,
            miscited=self._miscited(),
            ranking=self._ranking(),
            evidence=self._evidence,
        )

    def outputs(self) -> JudgeOutputs:
        """What the judge says, as it says it."""
        worst = self._worst
        return JudgeOutputs(
            declines=self._declines(),
            sufficiency=self._told_sufficiency(),
            relevance=self._relevance(),
            grade=self._grade(),
            support=self._value("answer_supported") if worst is None else worst.probability,
            reason=None if worst is None else worst.reason,
            replaced=worst is not None and self._replaced(worst),
            words_held=0.0 if worst is None else self._words_held(worst),
            precision=self._ranking(),
        )

    def _declines(self) -> bool:
        return (self._value(REFUSAL_METRIC) or 0.0) >= 0.5

    def _grade(self) -> float | None:
        return self._value("answer_relevance") if self._trace.status is TraceStatus.OK else None

    def _relevance(self) -> float | None:
        relevant = self._verdicts("context_relevance", Aspect.RELEVANCE)
        return max((verdict.probability for verdict in relevant), default=None)

    @cached_property
    def _worst(self) -> Verdict | None:
        """The statement that is most probably wrong: one with another value, else by support."""
        statements = self._verdicts("faithfulness", Aspect.SUPPORT)
        return min(statements, key=lambda v: (not self._replaced(v), v.probability), default=None)

    def _replaced(self, statement: Verdict) -> bool:
        place, passages = statement.evidence, self._passages or ()
        if place is None or place >= len(passages):
            return False
        if place not in self._values:
            self._values[place] = values_in(passages[place])
        question = self._trace.question or ""
        return states_another_value(statement.text, self._values[place], question)

    def _value(self, metric: str) -> float | None:
        score = self._scores.get(metric)
        return None if score is None else score.value

    def _verdicts(self, metric: str, aspect: Aspect) -> Sequence[Verdict]:
        score = self._scores.get(metric)
        return [v for v in score.verdicts if v.aspect is aspect] if score else ()

    def _failed(self, sufficient: float | None) -> float:
        trace = self._trace
        if trace.status is TraceStatus.ERROR:
            self._evidence["failed"] = (evidence_item(EvidenceKind.ERROR, trace.error or ""),)
            return 1.0
        if trace.status is TraceStatus.OK and trace.answer is not None and is_blank(trace.answer):
            self._evidence["failed"] = (evidence_item(EvidenceKind.NO_ANSWER),)
            return 1.0
        calls = [hit.name for hit in trace.hits if not hit.ok]
        calls += [r.error for r in trace.retrievals if r.error]
        if not calls:
            return 0.0
        self._evidence["failed"] = tuple(
            evidence_item(EvidenceKind.ERROR, call) for call in calls[:3]
        )
        # With what it needs in hand, an application has got over it.
        return 1.0 - (sufficient or 0.0)

    def _misrouted(self) -> float:
        if self._trace.expected is None:
            return 0.0
        missed = []
        for kind in HitKind:
            names = self._trace.expected.names(kind)
            reached = {hit.name for hit in self._trace.hits if hit.kind is kind}
            if names and reached.isdisjoint(names):
                missed.append(evidence_item(EvidenceKind.NOT_HIT, names[0]))
        self._evidence["misrouted"] = tuple(missed)
        return 1.0 if missed else 0.0

    def _sufficiency(self, declines: bool, grade: float | None) -> float | None:
        """By labelled key points, else by what the judge says of contexts and answer."""
        if self._passages is None:
            self._evidence["sufficient"] = (evidence_item(EvidenceKind.CONTEXTS_UNKNOWN),)
            return None
        sufficient = 0.0 if not self._passages else self._labelled_coverage()
        if sufficient is None:
            sufficient = self._judged_sufficiency(declines, grade)
        if sufficient is not None:
            self._evidence["sufficient"] = (
                evidence_item(EvidenceKind.SUFFICIENCY, value=sufficient),
            )
        return sufficient

    def _judged_sufficiency(self, declines: bool, grade: float | None) -> float | None:
        stated = self._told_sufficiency()
        if stated is None:
            return None
        relevance = self._relevance()
        features = logit(stated), logit(stated if relevance is None else relevance)
        if declines:
            return weighed(fault_weights.REFUSED, *features, _NO_LEAD)
        graded = 0.0 if grade is None else logit(grade)
        return weighed(fault_weights.ANSWERED, features[0], graded, features[1], _NO_LEAD)

    def _labelled_coverage(self) -> float | None:
        coverage = self._scores.get("context_recall")
        if coverage is not None and not coverage.inferred and coverage.verdicts:
            return min(verdict.probability for verdict in coverage.verdicts)
        return None

    def _told_sufficiency(self) -> float | None:
        sufficiency = self._value(SUFFICIENCY_METRIC)
        return self._relevance() if sufficiency is None else sufficiency

    def _labelled_retrieval(self) -> tuple[float | None, float]:
        """Whether labels say that a knowledge base holds it, and that it was retrieved."""
        relevant = set(self._trace.expected.relevant_ids or ()) if self._trace.expected else set()
        if not relevant:
            return None, 0.0
        context_ids = {document.id for document in self._trace.contexts or ()}
        returned = {d.id for r in self._trace.retrievals for d in r.documents}
        below = sorted(id_ for id_ in relevant & returned - context_ids if id_)
        if below:
            self._evidence["held"] = (evidence_item(EvidenceKind.CUT_OFF, below[0]),)
            return 1.0, 1.0
        missing = sorted(relevant - context_ids)
        if missing:
            self._evidence["held"] = (evidence_item(EvidenceKind.EARLIER_PASSAGE, missing[0], 1.0),)
        return (1.0, 0.0) if missing else (None, 0.0)

    def _support(self) -> tuple[float, float]:
        whole = self._value("answer_supported")
        worst = self._worst
        if worst is None:
            if whole is None:
                return 0.0, 0.0
            return weighed(fault_weights.UNSUPPORTED, logit(whole), 0.0, 0.0, 0.0, 0.0), 0.0
        self._evidence["support"] = (
            evidence_item(EvidenceKind.STATEMENT, worst.text, worst.probability, worst.evidence),
        )
        unsupported = weighed(
            fault_weights.UNSUPPORTED,
            logit(worst.probability),
            float(worst.reason in VALUE_DIFFERS),
            float(worst.reason == NAME_DIFFERS),
            float(worst.reason == NOT_COVERED),
            float(self._replaced(worst)),
        )
        swapped = weighed(fault_weights.CONTRADICTS, self._words_held(worst))
        return unsupported, swapped if self._passages else 0.0

    def _words_held(self, statement: Verdict) -> float:
        """Share of a statement's words in the passage that may state otherwise."""
        passages = self._passages or ()
        places = range(len(passages)) if statement.evidence is None else [statement.evidence]
        terms = worded_terms(fold(statement.text))
        held = (
            len(terms & worded_terms(fold(passages[place])))
            for place in places
            if place < len(passages)
        )
        return max(held, default=0) / max(1, len(terms))

    def _conflicts(self) -> tuple[bool, bool]:
        """Whether a newer passage states another value, and whether one of unknown age does."""
        trace, passages = self._trace, self._passages or ()
        question, answer = trace.question or "", trace.answer or ""
        stale = conflicting = None
        named = years_of(fold(question)) | years_of(fold(answer))
        for conflict in value_conflicts(question, answer, passages):
            ages = self._ages.of(conflict.used, conflict.other)
            if ages is None:
                conflicting = conflicting or conflict
            elif ages[0] < ages[1] and ages[0][0] not in named:
                stale = stale or conflict
        value_conflict = stale or conflicting
        if value_conflict is not None:
            self._evidence["conflict"] = (
                evidence_item(
                    EvidenceKind.VALUE_USED, value_conflict.used_text, passage=value_conflict.used
                ),
                evidence_item(
                    EvidenceKind.VALUE_BESIDE,
                    value_conflict.other_text,
                    passage=value_conflict.other,
                ),
            )
        return stale is not None, stale is None and conflicting is not None

    def _unanswered(self) -> float:
        points = self._trace.expected.key_points if self._trace.expected else None
        if not points or is_blank(self._trace.answer):
            return 0.0
        answer_terms = term_set(fold(self._trace.answer or ""))
        lacking = []
        for point in points:
            terms = term_set(fold(point))
            if len(terms & answer_terms) < _ANSWERED * len(terms):
                lacking.append(evidence_item(EvidenceKind.NOT_ANSWERED, point))
        self._evidence["unanswered"] = tuple(lacking[:3])
        return len(lacking) / len(points)

    def _miscited(self) -> float:
        validity = self._value("citation_validity")
        if validity is not None and validity < 1:
            self._evidence["miscited"] = (evidence_item(EvidenceKind.CITATION, value=0.0),)
            return 1.0
        supported = {v.text: v.probability for v in self._verdicts("faithfulness", Aspect.SUPPORT)}
        doubts: Iterable[tuple[float, Verdict]] = (
            ((1 - verdict.probability) * supported.get(verdict.text, 1.0), verdict)
            for verdict in self._verdicts("citation_recall", Aspect.CITED_SUPPORT)
            if verdict.evidence is not None
        )
        worst = max(doubts, key=lambda item: item[0], default=None)
        if worst is None:
            return 0.0
        doubt, verdict = worst
        self._evidence["miscited"] = (
            evidence_item(
                EvidenceKind.CITATION, verdict.text, verdict.probability, verdict.evidence
            ),
        )
        return doubt

    def _ranking(self) -> float | None:
        useful = self._verdicts("context_precision", Aspect.USEFULNESS)
        precision = self._value("context_precision")
        if precision is None or not any(verdict.holds for verdict in useful):
            return None
        self._evidence["ranking"] = (evidence_item(EvidenceKind.RANKING, value=precision),)
        return precision
