"""A one-token yes/no verdict read from the logprobs of the first answer token.

Source: reference/judging.md 2.4. Spellings of one label are added up; when the two labels together
hold little probability the model was about to say something else, and there is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelVerdict:
    """How the probability splits between the two labels."""

    p_positive: float | None
    """Share of the positive label; None when neither label occurs."""
    label_mass: float
    """Probability that any of the two labels is said."""
    score: float | None
    """`p_positive`, or None when the mass is too small to count."""


def label_verdict(
    top_logprobs: Mapping[str, float],
    positive: Collection[str],
    negative: Collection[str],
    min_label_mass: float = 0.5,
) -> LabelVerdict:
    """P(positive) / (P(positive) + P(negative)) over all listed spellings."""
    yes = sum(math.exp(top_logprobs[token]) for token in set(positive) & top_logprobs.keys())
    no = sum(math.exp(top_logprobs[token]) for token in set(negative) & top_logprobs.keys())
    mass = yes + no
    if mass <= 0.0:
        return LabelVerdict(None, 0.0, None)
    share = yes / mass
    return LabelVerdict(share, mass, share if mass >= min_label_mass else None)
