"""Whether a passage that was retrieved before holds what the contexts of a trace lack, by words."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rag_monitor.evaluation.fault_weights import logit
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.relevance import relevance
from rag_monitor.judges.embedded.sufficiency import sufficiency
from rag_monitor.language.normalise import fold
from rag_monitor.language.tokens import term_set

_RATED: Final = 10
"""Passages that share most words with the question; only these are rated."""
_LIKELY: Final = 0.5


class MissedPassage(NamedTuple):
    """A passage that holds what was needed."""

    text: str
    probability: float
    """P(it alone suffices)."""
    gain: float
    """Log odds that the contexts suffice with it, less those without it."""


class Search(NamedTuple):
    """What a search among earlier passages tells."""

    lead: float
    """Log odds that the best of them is relevant, less those of the best of the contexts.

    Not below 0 where few share a word with the question: that none of a handful fits says little.
    """
    missed: MissedPassage | None
    """None: none is likely to hold what was needed."""


class PassageIndex:
    """Passages that were retrieved before by their words, ready to be searched often.

    Args:
        passages: Those that count first, first.
    """

    def __init__(self, passages: Iterable[str]) -> None:
        self.texts: Final = tuple(dict.fromkeys(passages))
        self._places: dict[str, array[int]] = {}
        for place, text in enumerate(self.texts):
            for term in term_set(fold(text)):
                places = self._places.get(term)
                if places is None:
                    places = self._places[term] = array("I")
                places.append(place)

    def sharing(self, terms: Iterable[str]) -> Iterator[tuple[int, str]]:
        """How many of some words each passage holds, in their order; without those of none."""
        counts = Counter(place for term in terms for place in self._places.get(term, ()))
        return ((counts[place], self.texts[place]) for place in sorted(counts))


def search_earlier(
    question: str, contexts: Sequence[str], indexes: Iterable[PassageIndex]
) -> Search:
    """Look among earlier passages for the one that most probably holds the answer.

    It is a find where it is likelier than not, and than every passage of the contexts.
    """
    question_terms = term_set(fold(question))
    shared_words: dict[str, int] = {}
    for index in indexes:
        shared_words |= {text: shared for shared, text in index.sharing(question_terms)}
    sharing = [(shared, text) for text, shared in shared_words.items() if text not in contexts]
    # Of equals the order stays: the newest first.
    best = sorted(sharing, key=lambda item: -item[0])[:_RATED]
    texts = [*contexts, *(text for _, text in best)]
    if not texts:
        return Search(0.0, None)
    rated = [value for value, _ in relevance(EvidenceIndex.build(texts, question), question)]
    best_context = max(rated[: len(contexts)], default=0.0)
    best_other = max(rated[len(contexts) :], default=0.0)
    lead = logit(best_other) - logit(best_context)
    if len(best) < _RATED:
        lead = max(0.0, lead)
    if best_other < _LIKELY or best_other <= best_context:
        return Search(lead, None)
    text = texts[rated.index(best_other, len(contexts))]
    alone, before, after = (
        sufficiency(EvidenceIndex.build(passages, question), question).probability
        for passages in ([text], contexts, [*contexts, text])
    )
    return Search(lead, MissedPassage(text, alone, logit(after) - logit(before)))
