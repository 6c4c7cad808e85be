"""What a judge that reads text must ask about one trace, and what is decided without asking.

Shared by the judges that put questions to a language model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeRequest,
    KeyPoint,
    KeyPointSource,
    Statement,
    Verdict,
)
from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.hardening import quoted
from rag_monitor.judges.prompts import PromptSet
from rag_monitor.language.claims import AnswerParts, take_apart

PER_PASSAGE: Final = (Aspect.RELEVANCE, Aspect.USEFULNESS, Aspect.USE)
ONCE: Final = (Aspect.ANSWER_SUPPORTED, Aspect.SUFFICIENCY, Aspect.GRADE, Aspect.NONCOMMITTAL)
ASKABLE: Final = frozenset(Aspect) - {Aspect.CITED_SUPPORT, Aspect.CITATION}
"""What is put to a language model. Citations would take a question for each statement and set of
passages; the embedded judge, which sees every trace, tells of them."""
NEEDS_ANSWER: Final = frozenset(Aspect) - {Aspect.RELEVANCE, Aspect.SUFFICIENCY, Aspect.COVERAGE}
NEEDS_CONTEXTS: Final = frozenset(
    {
        Aspect.SUPPORT,
        Aspect.ANSWER_SUPPORTED,
        Aspect.SUFFICIENCY,
        Aspect.COVERAGE,
        Aspect.SUMMARY_QUESTION,
        *PER_PASSAGE,
    }
)
_NOT_OF_REFUSALS: Final = (Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED, Aspect.USE)
_OF_STATEMENTS: Final = (Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One yes/no question; for GRADE the probability of yes is the grade."""

    aspect: Aspect
    index: int = 0
    """Which statement, passage, key point or summary question: 0-based."""
    text: str = ""
    """What is asked about, as the trace has it; empty where the question names a number only."""
    start: int | None = None
    end: int | None = None

    def verdict(
        self, raw: float, *, evidence: int | None = None, reason: str | None = None
    ) -> Verdict:
        """The answer to this question; `raw` is the uncalibrated probability of yes."""
        return Verdict(
            aspect=self.aspect,
            probability=raw,
            raw=raw,
            index=self.index,
            text=self.text,
            start=self.start,
            end=self.end,
            evidence=evidence,
            reason=reason,
        )


@dataclass(slots=True, kw_only=True)
class Plan:
    """One request, sorted into questions, known answers and what cannot be asked."""

    request: JudgeRequest
    statements: tuple[Statement, ...] = ()
    key_points: tuple[KeyPoint, ...] = ()
    questions: list[Question] = field(default_factory=list)
    decided: list[Verdict] = field(default_factory=list)
    missing: dict[Aspect, str] = field(default_factory=dict)
    refusal: bool = False
    infer_key_points: bool = False
    """COVERAGE was asked and nobody said what must be covered."""
    regenerate: bool = False
    """QUESTION_SIMILARITY was asked."""
    summary_questions: bool = False


def split_answer(answer: str) -> tuple[Statement, ...]:
    """The statements of an answer by the rules of `language.claims`."""
    return _statements(take_apart(answer))


def make_plan(request: JudgeRequest, able: frozenset[Aspect]) -> Plan:
    """Sort what `request` asks.

    Args:
        request: The trace and the aspects wanted.
        able: What the judge can answer; others are missing as `unsupported_aspect`.
    """
    plan = Plan(request=request)
    parts = take_apart(request.answer)
    plan.refusal = parts.declines
    plan.statements = _statements(parts) if request.statements is None else request.statements
    plan.key_points = _choose_key_points(request)
    for aspect in sorted(request.aspects):
        reason = _why_not(plan, aspect, able)
        if reason is not None:
            plan.missing[aspect] = reason
        else:
            _ask(plan, aspect)
    return plan


def _why_not(plan: Plan, aspect: Aspect, able: frozenset[Aspect]) -> str | None:
    request = plan.request
    if aspect not in able:
        return "unsupported_aspect"
    if aspect in NEEDS_ANSWER and not request.answer.strip():
        return "empty_answer"
    if aspect in NEEDS_CONTEXTS and request.contexts is None:
        return "contexts_unknown"
    if plan.refusal and aspect in _NOT_OF_REFUSALS:
        return "refusal"
    if aspect in _OF_STATEMENTS and not plan.statements:
        return "no_statements"
    if aspect in (*PER_PASSAGE, Aspect.SUMMARY_QUESTION) and not request.contexts:
        return "no_contexts"
    return _no_key_points(plan) if aspect is Aspect.COVERAGE else None


def _no_key_points(plan: Plan) -> str | None:
    labelled = plan.request.key_points is not None
    if plan.key_points or (not labelled and not plan.request.references):
        return None if plan.key_points or plan.request.contexts else "no_contexts"
    return "no_key_points"


def _ask(plan: Plan, aspect: Aspect) -> None:
    if aspect is Aspect.QUESTION_SIMILARITY:
        plan.regenerate = True
    elif aspect is Aspect.SUMMARY_QUESTION:
        plan.summary_questions = True
    elif aspect is Aspect.COVERAGE and not plan.key_points:
        plan.infer_key_points = True
    else:
        for question in questions_of(plan, aspect):
            answered = _by_rule(plan, question)
            if answered is None:
                plan.questions.append(question)
            else:
                plan.decided.append(answered)


def questions_of(plan: Plan, aspect: Aspect) -> list[Question]:
    """The yes/no questions of one aspect."""
    if aspect is Aspect.SUPPORT:
        return [
            Question(aspect=aspect, index=i, text=s.text, start=s.start, end=s.end)
            for i, s in enumerate(plan.statements)
        ]
    if aspect is Aspect.COVERAGE:
        return [
            Question(aspect=aspect, index=i, text=point.text)
            for i, point in enumerate(plan.key_points)
        ]
    if aspect in PER_PASSAGE:
        return [Question(aspect=aspect, index=i) for i in range(len(plan.request.contexts or ()))]
    return [Question(aspect=aspect)]


def question_text(question: Question, prompts: PromptSet, *, has_query: bool) -> str:
    """The question in words; text of the trace stands in it as one JSON string."""
    kind = question.aspect.value
    if question.aspect is Aspect.RELEVANCE and has_query:
        kind = "relevance_to_query"
    before, after = prompts.ask[kind]
    if question.aspect in PER_PASSAGE:
        return f"{before}{question.index + 1}{after}"
    return before + (quoted(question.text) if question.text else "") + after


def _by_rule(plan: Plan, question: Question) -> Verdict | None:
    """Answers that follow from the rules: nothing recalled, a refusal, an answer of no words."""
    aspect = question.aspect
    if (
        aspect in (*_OF_STATEMENTS, Aspect.SUFFICIENCY, Aspect.COVERAGE)
        and not plan.request.contexts
    ):
        return question.verdict(0.0, reason="no_contexts")
    if aspect is Aspect.NONCOMMITTAL and plan.refusal:
        return question.verdict(1.0, reason="refusal_rule")
    if aspect is Aspect.GRADE and _says_nothing(plan.request):
        return question.verdict(0.0, reason="says_nothing")
    return None


def _says_nothing(request: JudgeRequest) -> bool:
    answer = "".join(c for c in request.answer.casefold() if c.isalnum())
    question = "".join(c for c in request.question.casefold() if c.isalnum())
    return not answer or answer == question


def _statements(parts: AnswerParts) -> tuple[Statement, ...]:
    return tuple(Statement(text=c.text, start=c.start, end=c.end) for c in parts.claims)


def _choose_key_points(request: JudgeRequest) -> tuple[KeyPoint, ...]:
    if request.key_points is not None:
        return request.key_points
    return tuple(
        KeyPoint(text=statement.text, source=KeyPointSource.REFERENCE)
        for reference in request.references
        for statement in split_answer(reference)
    )


def cosines(vectors: Sequence[Sequence[float]]) -> list[float]:
    """The cosine of the first vector with each of the others.

    Raises:
        JudgeOutputInvalid: A vector has no length, or they differ in dimension.
    """
    first, *others = [[float(x) for x in vector] for vector in vectors]
    if any(len(other) != len(first) for other in others):
        raise JudgeOutputInvalid("embeddings differ in dimension")
    norms = [math.sqrt(math.fsum(x * x for x in vector)) for vector in (first, *others)]
    if any(not math.isfinite(norm) or norm == 0.0 for norm in norms):
        raise JudgeOutputInvalid("an embedding has zero norm")
    return [
        math.fsum(a * b for a, b in zip(first, other, strict=True)) / (norms[0] * norm)
        for other, norm in zip(others, norms[1:], strict=True)
    ]
