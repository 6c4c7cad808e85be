"""Distribution-free intervals of quantiles, from order statistics.

Source: David and Nagaraja, Order Statistics, 3rd ed., 7.1; Hahn and Meeker, Statistical Intervals,
5.2. Assumes independent draws, and nothing about what they are drawn from: of n values the number
below the quantile is binomial, so that ranks of values hold it with a known probability. Where even
the largest (or smallest) value may well lie short of it, that side of the interval has no end.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

_FAR = 12.0
"""Standard deviations beyond which a binomial tail is nothing (1e-30)."""
_NEAR = 60
"""The same in counts, where the tail is a Poisson's."""


class Ranks(NamedTuple):
    """Which of the ordered values (1: the smallest) are the ends of an interval."""

    lower: int | None
    """None: no value is low enough, the interval has no lower end."""
    upper: int | None
    """None: no value is high enough, the interval has no upper end."""


@lru_cache(maxsize=4096)
def quantile_ranks(n: int, share: float, confidence: float = 0.95) -> Ranks:
    """Ranks of the values between which the `share` quantile lies, each side with half the risk.

    Args:
        n: Values, 0 or more.
        share: 0 to 1, both exclusive; 0.99 is the p99.
        confidence: Two-sided level; what is held is at least that.
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"a quantile with an interval lies between 0 and 1, not at {share}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence is a share between 0 and 1, not {confidence}")
    if n < 0:
        raise ValueError(f"there cannot be {n} values")
    risk = (1.0 - confidence) / 2.0
    upper = _rank_above(n, share, risk)
    # Seen from the other end the lower rank is an upper one.
    lower = n + 1 - _rank_above(n, 1.0 - share, risk)
    return Ranks(lower if lower >= 1 else None, upper if upper <= n else None)


def least_for_upper(share: float, confidence: float = 0.95) -> int:
    """So many values it takes until the interval of the `share` quantile has an upper end."""
    return math.ceil(math.log((1.0 - confidence) / 2.0) / math.log(share))


def _rank_above(n: int, share: float, risk: float) -> int:
    """The least u with P(Binomial(n, share) >= u) <= risk; n + 1 where there is none below."""
    if n == 0:
        return 1
    odds = share / (1.0 - share)
    far = n * share + _FAR * math.sqrt(n * share * (1.0 - share)) + _NEAR
    k = min(n, math.ceil(far))
    mass = math.exp(
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(share)
        + (n - k) * math.log1p(-share)
    )
    tail = 0.0
    while k >= 0 and tail + mass <= risk:
        tail += mass
        mass *= k / ((n - k + 1) * odds)
        k -= 1
    return k + 1
