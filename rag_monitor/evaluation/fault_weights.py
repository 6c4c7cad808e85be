"""From what a judge says to the probabilities of the fault table: logistic regressions.

The weights are learnt together, through the table, from the `seen` half of the scripted
applications in `benchmarks/planted_faults` (its `learn.py` prints them): eight planted faults and
none, Chinese and English, said of by the embedded judge, each class weighted by one over the square
root of its size, so that the probabilities are those of traffic with more faults than most. They
only stretch and shift what a judge says: another judge's probabilities keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import Final

_EXTREME: Final = 0.02
"""Probabilities are cut to this and one minus this: a judge is never that certain."""

REFUSED: Final = (-1.26, 1.83, 1.31)
"""P(the contexts suffice) of an answer that declines: intercept, sufficiency, best relevance."""
ANSWERED: Final = (0.6, 1.46, 0.61, 0.59)
"""The same of any other answer: intercept, sufficiency, grade, best relevance."""
UNSUPPORTED: Final = (-1.57, -0.87, 2.99, 2.87)
"""P(something in the answer is unsupported): intercept, support of its least supported statement,
whether that states a value that its passage lacks, and whether no passage covers it."""
CONTRADICTS: Final = (-2.07, 6.06, -3.22)
"""P(a passage states otherwise): intercept, share of the words that it holds, and whether the judge
told it from the sense: that errs more often than a comparison of values."""
RANKED_LOW: Final = (2.04, -6.67)
"""P(useful passages stand too low): intercept, their average precision."""
HELD_ELSEWHERE: Final = (-0.84, 1.29)
"""P(a knowledge base holds what the contexts lack), after a search that found a passage: intercept,
probability that it holds it."""
NOT_FOUND: Final = 0.13
"""The same after a search that found nothing: it knows only what was retrieved before."""
CUT_OFF: Final = 0.97
"""The same where the passage was retrieved for this very trace: that it ranks above all contexts
by its words tells most."""


def logit(probability: float) -> float:
    """log(p / (1 - p)) of a probability that is not extreme."""
    kept = min(1 - _EXTREME, max(_EXTREME, probability))
    return log(kept / (1 - kept))


def weighed(weights: Sequence[float], *features: float) -> float:
    """The probability that a logistic regression gives; the first weight is the intercept."""
    total = weights[0]
    for weight, feature in zip(weights[1:], features, strict=True):
        total += weight * feature
    return 1 / (1 + exp(-total))
