"""BM25 over the demo corpus: English words, Chinese character bigrams."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.demo.corpus import Passage

_TERM: Final = re.compile(r"[\u4e00-\u9fff]+|[a-z]+[0-9]*|[0-9]+(?:[.,][0-9]+)*")
_STOP: Final = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from has have how i if in is it long many may me"
        " much my must of on or the their they to until up was we what when where which who will"
        " with you your within",
    )
)
_K1: Final = 1.4
_B: Final = 0.6
_TITLE_WEIGHT: Final = 2


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage and how well it matches; larger is better."""

    passage: Passage
    score: float


def terms(text: str) -> list[str]:
    """Index terms: lower-case stemmed words and numbers, and bigrams of Chinese runs."""
    result: list[str] = []
    for run in _TERM.findall(text.lower()):
        if "\u4e00" <= run[0] <= "\u9fff":
            result.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
        elif run not in _STOP:
            result.append(_stem(run))
    return result


class Retriever:
    """A BM25 index. Immutable after construction, so threads may share it."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = tuple(passages)
        self._counts = [
            Counter(terms(p.title) * _TITLE_WEIGHT + terms(p.text)) for p in self._passages
        ]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._mean_length = sum(self._lengths) / max(1, len(self._lengths))
        frequency = Counter(term for counts in self._counts for term in counts)
        total = len(self._passages)
        self._weights = {
            term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in frequency.items()
        }

    def weight(self, term: str) -> float:
        """How telling a term is (inverse document frequency); 0 for unknown terms."""
        return self._weights.get(term, 0.0)

    def search(self, query: str, limit: int, knowledge_base: str | None = None) -> list[Hit]:
        """The best passages, best first; passages without any common term are left out."""
        wanted = terms(query)
        hits = [
            Hit(passage, score)
            for index, passage in enumerate(self._passages)
            if knowledge_base in (None, passage.knowledge_base)
            and (score := self._score(wanted, index)) > 0
        ]
        hits.sort(key=lambda item: (-item.score, item.passage.id))
        return hits[:limit]

    def from_elsewhere(self, query: str, limit: int) -> list[Hit]:
        """What a broken index returns: passages of other topics that share no word with the query.

        Deterministic for a query, so that the story can be told twice.
        """
        best = self.search(query, 1)
        home = best[0].passage.knowledge_base if best else None
        wanted = terms(query)
        strangers = [
            passage
            for index, passage in enumerate(self._passages)
            if passage.knowledge_base != home and self._score(wanted, index) == 0
        ] or [passage for passage in self._passages if passage.knowledge_base != home]
        offset = sum(map(ord, query)) % len(strangers)
        turned = strangers[offset:] + strangers[:offset]
        return [Hit(passage, 1.0 / rank) for rank, passage in enumerate(turned[:limit], 1)]

    def _score(self, wanted: Sequence[str], index: int) -> float:
        counts = self._counts[index]
        norm = _K1 * (1 - _B + _B * self._lengths[index] / self._mean_length)
        return sum(
            self._weights[term] * counts[term] * (_K1 + 1) / (counts[term] + norm)
            for term in wanted
            if term in counts
        )


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
