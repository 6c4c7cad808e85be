"""Whether a passage that was retrieved before holds what the contexts of a trace lack, by words."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.relevance import relevance
from rag_monitor.language.normalise import fold
from rag_monitor.language.tokens import term_set

_RATED: Final = 10
"""Passages that share most words with the question; only these are rated."""
_LIKELY: Final = 0.5


class MissedPassage(NamedTuple):
    """A passage that holds what was needed."""

    text: str
    probability: float


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


def missed_passage(
    question: str, contexts: Sequence[str], indexes: Iterable[PassageIndex]
) -> MissedPassage | None:
    """The passage that most probably holds the answer; None: none is likely to.

    It has to be likelier than every passage of the contexts, which did not suffice.
    """
    question_terms = term_set(fold(question))
    shared_words: dict[str, int] = {}
    for index in indexes:
        shared_words |= {text: shared for shared, text in index.sharing(question_terms)}
    sharing = [(shared, text) for text, shared in shared_words.items() if text not in contexts]
    # Of equals the order stays: the newest first.
    best = sorted(sharing, key=lambda item: -item[0])[:_RATED]
    if not best:
        return None
    texts = [*contexts, *(text for _, text in best)]
    rated = [value for value, _ in relevance(EvidenceIndex.build(texts, question), question)]
    best_context = max(rated[: len(contexts)], default=0.0)
    likeliest = max(range(len(contexts), len(texts)), key=lambda place: rated[place])
    if rated[likeliest] < _LIKELY or rated[likeliest] <= best_context:
        return None
    return MissedPassage(texts[likeliest], rated[likeliest])
