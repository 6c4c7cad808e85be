"""Grouped jackknife: the spread of a figure that is no mean (corpus BLEU, macro F1).

Source: Quenouille 1949; Shao and Tu 1995, chapter 2. Rows are dealt to G groups; with t(g) the
figure without group g, se² = (G - 1)/G · sum (t(g) - mean t)².
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def jackknife_se(without: Sequence[float]) -> float:
    """Standard error from the figure computed with each group left out.

    Raises:
        ValueError: Fewer than two groups.
    """
    groups = len(without)
    if groups < 2:
        raise ValueError("a jackknife needs two groups or more")
    mean = math.fsum(without) / groups
    spread = math.fsum((value - mean) ** 2 for value in without)
    return math.sqrt((groups - 1) / groups * spread)
