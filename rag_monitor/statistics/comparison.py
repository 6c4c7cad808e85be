"""The difference of two independent estimates, with an interval from their own intervals.

Source: Newcombe 1998 (method 10), generalised as MOVER by Zou and Donner 2008. Assumes that the two
estimates rest on different traces.
"""

from __future__ import annotations

import math

from rag_monitor.statistics.wilson import Interval


def mover_difference(
    first: float, first_interval: Interval, second: float, second_interval: Interval
) -> Interval:
    """The interval of first - second, at the confidence the two intervals have."""
    value = first - second
    below = math.hypot(first - first_interval.lower, second_interval.upper - second)
    above = math.hypot(first_interval.upper - first, second - second_interval.lower)
    return Interval(value - below, value + above)
