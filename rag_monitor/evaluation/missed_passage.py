"""Whether a passage that was retrieved before holds what the contexts of a trace lack, by words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.relevance import relevance
from rag_monitor.language.normalise import fold
from rag_monitor.language.tokens import term_set

_RATED: Final = 10
"""Candidates that share most with the question; only these are rated."""
_LIKELY: Final = 0.5


class Candidate(NamedTuple):
    """A passage that was retrieved before."""

    text: str
    terms: frozenset[str]


class MissedPassage(NamedTuple):
    """A passage that holds what was needed."""

    text: str
    probability: float


def candidates_of(passages: Iterable[str]) -> list[Candidate]:
    """Passages with their words, ready to be searched often."""
    return [Candidate(text, term_set(fold(text))) for text in passages]


def missed_passage(
    question: str, contexts: Sequence[str], candidates: Sequence[Candidate]
) -> MissedPassage | None:
    """The candidate that most probably holds the answer; None: none is likely to.

    It has to be likelier than every passage of the contexts, which did not suffice.
    """
    question_terms, context_texts = term_set(fold(question)), frozenset(contexts)
    sharing = [
        (len(question_terms & c.terms), c) for c in candidates if c.text not in context_texts
    ]
    sharing = [item for item in sharing if item[0]]
    # The order of equals is that of the candidates: the newest first.
    best = sorted(sharing, key=lambda item: -item[0])[:_RATED]
    if not best:
        return None
    texts = [*contexts, *(candidate.text for _, candidate in best)]
    rated = [value for value, _ in relevance(EvidenceIndex.build(texts, question), question)]
    best_context = max(rated[: len(contexts)], default=0.0)
    likeliest = max(range(len(contexts), len(texts)), key=lambda place: rated[place])
    if rated[likeliest] < _LIKELY or rated[likeliest] <= best_context:
        return None
    return MissedPassage(texts[likeliest], rated[likeliest])
