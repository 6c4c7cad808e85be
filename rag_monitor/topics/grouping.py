"""Groups of questions that share words, among those that belong to no topic yet.

Term vectors are TF-IDF (as scikit-learn's `TfidfVectorizer(binary=True, smooth_idf=True)`) times
how well a term tells groups apart; that is learnt from the groups themselves, in a few rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rag_monitor.topics.linkage import average_linkage
from rag_monitor.topics.options import CUT
from rag_monitor.topics.terms import Terms

_ROUNDS: Final = 3
_COLUMNS: Final = 8_192
"""Most frequent terms that are compared."""
_UNKNOWN: Final = 0.5
"""P(same group) of two questions that share a term of which nothing is known yet."""

Floats = NDArray[np.float32]


def inverse_frequency(questions: float, holding: float) -> float:
    """How much a term tells that `holding` of `questions` hold; at least 1."""
    return log((1 + questions) / (1 + min(holding, questions))) + 1


def concentration(counts: Iterable[float]) -> float:
    """P(two questions that share a term are of one group), from how many of each group hold it.

    One pair is added that is as probably of one group as not.

    >>> round(concentration([10, 0, 0]), 2), round(concentration([5, 5]), 2), concentration([])
    (0.99, 0.45, 0.5)
    """
    held = list(counts)
    together = sum(count * max(0.0, count - 1) for count in held)
    total = sum(held)
    return (together + _UNKNOWN) / (total * max(0.0, total - 1) + 1)


def group(
    questions: Sequence[Terms], weights: Sequence[int], idf: Callable[[int], float]
) -> list[int]:
    """The group of each question, numbered from 0; many have one of their own.

    Args:
        questions: Different ones; memory grows with their number squared.
        weights: How often each was asked.
        idf: The inverse frequency of a term.
    """
    columns = _columns(questions, weights)
    held, norms = _vectors(questions, columns, idf)
    tells = np.full(len(columns), _UNKNOWN, np.float32)
    groups = np.arange(len(questions))
    for _ in range(_ROUNDS + 1):
        # Terms that one question holds join nothing, but say that it is about something else too.
        vectors = held * tells
        lengths = np.sqrt((vectors**2).sum(1) + _UNKNOWN**2 * norms)
        vectors /= np.maximum(lengths, 1e-9)[:, None]
        distances = np.clip(1 - vectors @ vectors.T, 0, 1).astype(np.float32)
        groups = average_linkage(distances, weights, CUT)
        tells = _concentrations(held > 0, groups, weights)
    return [int(number) for number in groups]


def _columns(questions: Sequence[Terms], weights: Sequence[int]) -> Mapping[int, int]:
    counts: Counter[int] = Counter()
    asked_often: Counter[int] = Counter()
    for terms, weight in zip(questions, weights, strict=True):
        counts.update(terms)
        asked_often.update(dict.fromkeys(terms, weight))
    shared = [(-asked_often[term], term) for term, count in counts.items() if count > 1]
    return {term: place for place, (_, term) in enumerate(sorted(shared)[:_COLUMNS])}


def _vectors(
    questions: Sequence[Terms], columns: Mapping[int, int], idf: Callable[[int], float]
) -> tuple[Floats, Floats]:
    """Inverse frequencies of the terms held, and the sum of squares of those without a column."""
    held = np.zeros((len(questions), len(columns)), np.float32)
    norms = np.zeros(len(questions), np.float32)
    for row, terms in enumerate(questions):
        for term in terms:
            place = columns.get(term)
            if place is None:
                norms[row] += idf(term) ** 2
            else:
                held[row, place] = idf(term)
    return held, norms


def _concentrations(
    held: NDArray[np.bool_], groups: NDArray[np.intp], weights: Sequence[int]
) -> Floats:
    counts = np.zeros((int(groups.max()) + 1, held.shape[1]))
    np.add.at(counts, groups, held * np.asarray(weights)[:, None])
    total = counts.sum(0)
    together = (counts * np.maximum(0, counts - 1)).sum(0)
    return np.asarray((together + _UNKNOWN) / (total * np.maximum(0, total - 1) + 1), np.float32)
