"""What a judge is asked and what it answers.

A Metric asks, a Judge answers, a Verdict is the answer, a Score is the number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from rag_monitor.domain.conversation import EarlierTurn


class Aspect(StrEnum):
    """One kind of question put to a judge about a trace."""

    SUPPORT = "support"
    """Per statement of the answer: do the contexts support it?"""
    ANSWER_SUPPORTED = "answer_supported"
    """Once: is no statement of the answer unsupported?"""
    RELEVANCE = "relevance"
    """Per passage: is it relevant to the question?"""
    USEFULNESS = "usefulness"
    """Per passage: was it useful in arriving at the answer?"""
    USE = "use"
    """Per passage: did the answer actually draw on it?"""
    SUFFICIENCY = "sufficiency"
    """Once: do the contexts hold what a complete answer to the question needs?"""
    COVERAGE = "coverage"
    """Per key point: does any passage cover it?"""
    GRADE = "grade"
    """Once, 0 to 1: does the answer answer the question, without padding?"""
    NONCOMMITTAL = "noncommittal"
    """Once: does the answer decline or stay evasive?"""
    QUESTION_SIMILARITY = "question_similarity"
    """Per regenerated question: its cosine to the question."""
    SUMMARY_QUESTION = "summary_question"
    """Per key-phrase question of the contexts: does the answer answer it?"""

    CITED_SUPPORT = "cited_support"
    """Per statement of an answer that cites: do the passages that it cites support it?"""
    CITATION = "citation"
    """Per citation: does its passage support a statement, or is it needed beside others?"""


class KeyPointSource(StrEnum):
    """Where a key point came from."""

    LABELLED = "labelled"
    REFERENCE = "reference"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPoint:
    """Something the passages should cover."""

    text: str
    source: KeyPointSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One checkable statement of an answer, with its place in it."""

    text: str
    """Self-contained wording; may differ from the slice when a pronoun was resolved."""
    start: int
    """Character offset into the answer (Python string indexing)."""
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedStatement(Statement):
    """A statement with what it cites."""

    citations: tuple[int, ...]
    """Numbers of citations, 0-based; empty where it cites nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citations:
    """What an answer cites, and for what."""

    statements: tuple[CitedStatement, ...]
    """All of the answer, in order."""
    passages: tuple[tuple[int, ...], ...]
    """Of each citation, which passages it points at, 0-based: none where there is no such passage,
    several where they are of one document."""
    labels: tuple[str, ...]
    """What each calls its passage, as written."""
    loose: tuple[tuple[int, ...], ...] = ()
    """The same of citations that stand with no statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """Everything a judge may know about one trace, and the union of what the metrics ask."""

    question: str
    answer: str
    contexts: tuple[str, ...] | None
    """Passages in the order they reached the model; empty: recalled nothing; None: unknown."""
    aspects: frozenset[Aspect]
    query: str | None = None
    """What the passages were retrieved for, when it is not the question."""
    history: tuple[EarlierTurn, ...] = ()
    """The turns before the question, in order, where it depends on them; empty: it stands alone."""
    statements: tuple[Statement, ...] | None = None
    """None: the judge splits the answer itself."""
    key_points: tuple[KeyPoint, ...] | None = None
    """None: none are labelled; a judge that can may infer them."""
    references: tuple[str, ...] = ()
    citations: Citations | None = None
    """None: the answer has none."""
    key: str = ""
    """Opaque name for logs, caches and drawn boundaries; never shown to a model."""
    project: str = "default"
    """Whose budget pays and whose cached replies may be used."""

    @property
    def passage_query(self) -> str:
        """The text that passage aspects are judged against."""
        return self.query or self.question


def texts_of(request: JudgeRequest) -> list[str]:
    """All that a model is shown of a request: untrusted, and paid for."""
    turns = [text for turn in request.history for text in (turn.question, turn.answer)]
    return [*turns, request.question, request.answer, *(request.contexts or ())]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeIdentity:
    """Which judge answered. Scores of different identities never share a series."""

    name: str
    """`embedded`, `embedded-lexical`, `openai_compatible`, `packed` …"""
    model: str
    prompts: str = ""
    """Hash of the whole prompt set, or of the feature set and weights."""
    calibration: str = ""
    """Version of the calibration that made probabilities of raw scores; empty: none."""
    served_model: str = ""
    """The model that a server says it answered with; empty: the configured one, or unknown."""

    def __str__(self) -> str:
        served = f"{_SERVED}{self.served_model}" if self.served_model else ""
        parts = (self.name, self.model, self.prompts, self.calibration, served)
        return "/".join(part for part in parts if part)


_SERVED: Final = "served="
_SERVED_PART: Final = re.compile(rf"/{_SERVED}.*?(?= \| |$)")
"""To the end of an identity, or of one of those that an ensemble is made of."""


def as_configured(judge: str) -> str:
    """An identity as text without the model that a server answered with."""
    return _SERVED_PART.sub("", judge)


def is_embedded(judge: str) -> bool:
    """Whether a judge's name, or an identity as text, is an embedded judge's.

    It sees every trace and costs nothing; beside another judge its score is the cheap one.
    """
    name = judge.partition("/")[0]
    return name == "embedded" or name.startswith("embedded-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judge's answer to one question of one aspect."""

    aspect: Aspect
    probability: float
    """Calibrated, 0 to 1: probability that the answer is yes (for GRADE and
    QUESTION_SIMILARITY: the value itself)."""
    raw: float | None = None
    """The number before calibration, so that a new calibration can be applied later."""
    index: int = 0
    """Which statement, passage or key point: 0-based, in the order asked."""
    text: str = ""
    start: int | None = None
    end: int | None = None
    evidence: int | None = None
    """0-based index of the passage the verdict rests on."""
    reason: str | None = None
    """Short machine word or sentence, e.g. `number_mismatch`."""

    @property
    def holds(self) -> bool:
        """The hard verdict 1[p >= 0.5]."""
        return self.probability >= 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUsage:
    """What a judgement cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    gpu_seconds: float = 0.0
    cost: float = 0.0
    """In the currency of `[judge.price]`; 0 when no price is configured."""
    cached: bool = False

    @property
    def spent(self) -> bool:
        """Whether tokens, a GPU or money went into it, or would have without the cache."""
        used = self.input_tokens + self.output_tokens + self.gpu_seconds + self.cost
        return self.cached or used > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """All verdicts one judge gave on one trace."""

    identity: JudgeIdentity
    verdicts: tuple[Verdict, ...] = ()
    missing: Mapping[Aspect, str] = field(default_factory=dict)
    """Aspects that were asked and not answered, with the reason (`unsupported_aspect`,
    `no_statements`, `verdict_missing` …)."""
    details: Mapping[Aspect, str] = field(default_factory=dict)
    """Of some of these, what the server or the reader of its reply said."""
    refusal: bool = False
    """The answer declines to answer. Recognised before anything else."""
    suspect: str | None = None
    """Why the judge believes the text tried to influence it, or None."""
    threshold: float = 0.5
    """`answer_supported` below this is flagged; stored with the calibration."""
    coverage: float = 1.0
    """Share of the input the judge could see; below 1 when it had to cut."""
    usage: JudgeUsage = field(default_factory=JudgeUsage)

    def of(self, aspect: Aspect) -> tuple[Verdict, ...]:
        """The verdicts of one aspect, by index."""
        return tuple(
            sorted((v for v in self.verdicts if v.aspect is aspect), key=lambda v: v.index)
        )
