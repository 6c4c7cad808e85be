"""From what a judge says to the probabilities of the fault table: logistic regressions.

The weights are learnt together, through the table, from the `seen` half of the scripted
applications in `benchmarks/planted_faults` (its `learn.py` prints them): eight planted faults and
none, Chinese and English, said of by the embedded judge, each class weighted by one over the square
root of its size, so that the probabilities are those of traffic with more faults than most. Half of
the searches look in one knowledge base, half in five: in more passages one fits by chance more
often. The weights only stretch and shift what a judge says: another judge's probabilities keep
their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import Final

_EXTREME: Final = 0.02
"""Probabilities are cut to this and one minus this: a judge is never that certain."""

REFUSED: Final = (-1.42, 2.0, 0.9, -0.55)
"""P(the contexts suffice) of an answer that declines: intercept, sufficiency, best relevance, and
by how much the best earlier passage fits better (log odds; 0: nobody has searched)."""
ANSWERED: Final = (0.44, 1.4, 0.81, 0.01, -0.84)
"""The same of any other answer: intercept, sufficiency, grade, best relevance, and by how much the
best earlier passage fits better."""
UNSUPPORTED: Final = (-1.81, -0.94, 1.93, 1.94, 2.98, 3.79)
"""P(something in the answer is unsupported): intercept, support of its most doubtful statement,
whether that states a number or date that the passages lack, a name that they lack, whether no
passage covers it, and whether it gives another value than its passage."""
CONTRADICTS: Final = (-2.6, 6.1)
"""P(a passage states otherwise): intercept, share of the statement's words that it holds."""
RANKED_LOW: Final = (1.93, -6.38)
"""P(useful passages stand too low): intercept, their average precision."""
HELD_ELSEWHERE: Final = (0.08, 1.49, 1.76)
"""P(a knowledge base holds what the contexts lack), after a search that found a passage: intercept,
P(it alone suffices), and what it adds to the contexts (log odds)."""
NOT_FOUND: Final = 0.16
"""The same after a search that found nothing: it knows only what was retrieved before."""
CUT_OFF: Final = 0.97
"""The same where the passage was retrieved for this very trace: that it ranks above all contexts
by its words tells most."""


def logit(probability: float) -> float:
    """log(p / (1 - p)) of a probability that is not extreme."""
    kept = min(1 - _EXTREME, max(_EXTREME, probability))
    return log(kept / (1 - kept))


def moved(probability: float, by: float) -> float:
    """A probability whose log odds are changed by so much; 0 and 1 stay."""
    if not 0 < probability < 1:
        return probability
    return 1 / (1 + exp(-by) * (1 - probability) / probability)


def weighed(weights: Sequence[float], *features: float) -> float:
    """The probability that a logistic regression gives; the first weight is the intercept."""
    total = weights[0]
    for weight, feature in zip(weights[1:], features, strict=True):
        total += weight * feature
    return 1 / (1 + exp(-total))
