"""One request while it is being judged, and what is decided before the passages are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rag_monitor.domain.judgement import Aspect, JudgeRequest, Verdict
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.features import ClaimEvidence
from rag_monitor.judges.embedded.in_context import Context
from rag_monitor.judges.embedded.model import ClaimVerdict, EncoderLogits
from rag_monitor.judges.embedded.options import EmbeddedOptions
from rag_monitor.judges.embedded.relevance import relevance
from rag_monitor.judges.embedded.sufficiency_reading import SufficiencyReader
from rag_monitor.language.claims import AnswerParts, take_apart
from rag_monitor.language.language_mismatch import languages_differ
from rag_monitor.language.references import without_citations
from rag_monitor.language.script import length
from rag_monitor.language.sentences import Span

Relevance = list[tuple[float, str | None]]
"""Per passage how probably it is relevant, and what it conflicts with."""

_HAN_COUNTS: Final = 3
"""A Han character says about as much as three Latin letters, and costs as much to look up."""


@dataclass(slots=True, eq=False)
class PreparedRequest:
    """A request cut to what is judged, its answer taken apart."""

    request: JudgeRequest
    answer: str
    contexts: tuple[str, ...] | None
    parts: AnswerParts
    spans: Sequence[Span]
    """The statements."""
    coverage: float
    """Share of answer and passages that is looked at."""

    @property
    def unsupported(self) -> str | None:
        """Why there is nothing to support, if so; a refusal is recognised first."""
        if self.request.statements is None and self.parts.declines:
            return "refusal"
        if not self.spans:
            return "no_statements"
        return "contexts_unknown" if self.contexts is None else None


@dataclass(slots=True, eq=False)
class Judging:
    """One request while it is being judged."""

    prepared: PreparedRequest
    evidence: EvidenceIndex
    unsupported: str | None
    """Why nothing can be supported; None when it can."""
    verdicts: list[Verdict] = field(default_factory=list)
    missing: dict[Aspect, str] = field(default_factory=dict)
    claims: list[ClaimEvidence] = field(default_factory=list)
    read: dict[int, EncoderLogits] = field(default_factory=dict)
    """What the encoder said of each claim it read."""
    claim_verdicts: list[ClaimVerdict] = field(default_factory=list)
    related: Relevance | None = None
    context: Context | None = None
    """What the question depends on; None: it stands alone."""
    reader: SufficiencyReader | None = None
    """Reads the question beside the passages; None: no encoder that can."""

    @property
    def request(self) -> JudgeRequest:
        """What is asked."""
        return self.prepared.request

    @property
    def query_context(self) -> Context | None:
        """What the query depends on, which stands alone where it is not the question."""
        return None if self.request.query else self.context

    def asks(self, *aspects: Aspect) -> bool:
        """Whether any of `aspects` was asked."""
        return any(aspect in self.prepared.request.aspects for aspect in aspects)

    def languages_differ(self, statements: Iterable[str]) -> bool:
        """Whether folded statements are in another language than the passages."""
        return languages_differ(statements, [passage.folded for passage in self.evidence.passages])

    def relevance(self) -> Relevance:
        """How relevant the passages are to the query; worked out once."""
        if self.related is None:
            request = self.prepared.request
            self.related = relevance(self.evidence, request.passage_query, self.query_context)
        return self.related


def prepare(request: JudgeRequest, options: EmbeddedOptions) -> PreparedRequest:
    """Cut a request to the limits of the options and take its answer apart."""
    [answer] = _cut_all([request.answer], options.max_answer_chars)
    contexts = request.contexts
    parts = take_apart(answer)
    left_out = parts.claims[options.max_statements :]
    if left_out:
        answer = answer[: left_out[0].start]
        parts = replace(parts, claims=parts.claims[: options.max_statements])
    seen, whole = len(answer), len(request.answer)
    if contexts is not None:
        whole += sum(map(len, contexts))
        contexts = _cut_all(contexts, options.max_context_chars)
        seen += sum(map(len, contexts))
    return PreparedRequest(
        request=request,
        answer=answer,
        contexts=contexts,
        parts=parts,
        spans=_spans(request, parts),
        coverage=seen / whole if whole else 1.0,
    )


def _spans(request: JudgeRequest, parts: AnswerParts) -> Sequence[Span]:
    if request.statements is None:
        return parts.claims
    return [Span(without_citations(s.text), s.start, s.end) for s in request.statements]


def _cut(text: str, budget: int) -> tuple[str, int]:
    """The beginning of a text that the budget allows, and what is left of it."""
    text = text[: max(0, budget)]
    if text.isascii():
        return text, budget - len(text)
    size = length(text, han=_HAN_COUNTS)
    if size > budget:
        text = text[: len(text) * budget // size]
        return text, 0
    return text, budget - size


def _cut_all(texts: Sequence[str], budget: int) -> tuple[str, ...]:
    """The beginnings of several texts that a budget allows, the first ones first."""
    if _HAN_COUNTS * sum(map(len, texts)) <= budget:
        return tuple(texts)
    kept = []
    for text in texts:
        beginning, budget = _cut(text, budget)
        kept.append(beginning)
    return tuple(kept)
