"""When a share rose: the likeliest place of one step upwards in a sequence of good and bad draws.

Source: Hinkley and Hinkley 1970, "Inference about the change-point in a sequence of binomial
variables": the place that maximises the likelihood with one rate before and a higher one from it
on. A step costs two parameters, its height and its place, and is taken where the log-likelihood
gains more than they cost by Schwarz's criterion (BIC), log(draws).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_MIN_DRAWS: Final = 40
"""In fewer, Schwarz's criterion takes chance for a step too often."""


def step_up(bad: Sequence[bool]) -> int | None:
    """Index of the first draw after the likeliest step upwards; None: no step is worth its cost."""
    draws, total = len(bad), sum(bad)
    if draws < _MIN_DRAWS:
        return None
    best, place = math.log(draws), None
    level = _log_likelihood(total, draws)
    before = 0
    for index in range(1, draws):
        before += bad[index - 1]
        after = total - before
        if before * (draws - index) >= after * index:
            continue  # no rise
        gain = _log_likelihood(before, index) + _log_likelihood(after, draws - index) - level
        if gain > best:
            best, place = gain, index
    return place


def _log_likelihood(bad: int, draws: int) -> float:
    """Of so many bad draws at the rate that fits them best."""
    if bad in (0, draws):
        return 0.0
    share = bad / draws
    return bad * math.log(share) + (draws - bad) * math.log1p(-share)
