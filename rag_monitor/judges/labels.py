"""From the masses of yes and no to a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MIN_LABEL_MASS: Final = 0.5
"""Below it the model meant to say something else than a label: no verdict."""
LOW_LABEL_MASS: Final = "low_label_mass"


@dataclass(frozen=True, slots=True)
class LabelVerdict:
    """Yes against no, for one question."""

    probability: float | None
    """None: the labels hold too little of the distribution."""
    mass: float
    """What yes and no hold together, of everything."""
    bounded: bool = False
    """One label was not listed; its mass was taken as the smallest listed one."""


def verdict_of(yes: float, no: float) -> LabelVerdict:
    """P = yes / (yes + no); never renormalised over a small label mass."""
    total = yes + no
    if total < MIN_LABEL_MASS:
        return LabelVerdict(None, total)
    return LabelVerdict(yes / total, min(total, 1.0))
