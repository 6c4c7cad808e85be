"""Burn rate on quality objectives, gated by a bound so that sampling noise does not page.

Source: reference/statistics.md 7; Google SRE Workbook, alerting on SLOs. The usual factors 14.4 and
6 do not transfer: at an objective of 93% or less 14.4 can never be reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from rag_monitor.statistics.wilson import wilson_lower

GATE_CONFIDENCE: Final = 0.999
"""One-sided. A rule that is looked at every minute needs it."""
MIN_JUDGED: Final = 20
"""Judged traces in the long window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnGate:
    """What one tier saw."""

    burn_long: float
    """Raw burn of the long window: bad fraction / (1 - slo)."""
    lower_bound: float
    """One-sided bound of the long window's bad fraction."""
    threshold: float
    """multiple * (1 - slo)."""
    fires: bool


def max_burn_rate(slo: float) -> float:
    """1/(1 - slo): the burn when every answer is bad. A larger multiple can never fire."""
    _check(slo)
    return 1.0 / (1.0 - slo)


def burn_rate(bad: float, judged: float, slo: float) -> float:
    """How many times faster than allowed bad answers come: bad fraction / (1 - slo).

    Over the whole period of an objective it is the share of the error budget that is used.

        >>> round(burn_rate(3, 100, slo=0.98), 6)
        1.5

    Args:
        bad: Bad judged traces; effective counts under designed sampling.
        judged: Judged traces, likewise; more than 0.
        slo: Wanted share of good answers.
    """
    _check(slo)
    return bad / judged / (1.0 - slo)


def time_left(budget_left: float, rate: float, period: timedelta) -> timedelta | None:
    """How long the rest of an error budget lasts at a burn rate; None: longer than the period.

    A burn rate of 1 uses up a whole budget in just one period.

        >>> time_left(0.5, 2.0, timedelta(days=30))
        datetime.timedelta(days=7, seconds=43200)

    Args:
        budget_left: Share of the budget; below 0 when it is overspent.
        rate: Burn rate of now.
        period: Of the objective.
    """
    if budget_left <= 0.0:
        return timedelta(0)
    return None if rate <= budget_left else period * (budget_left / rate)


def burn_gate(
    bad_long: float,
    n_long: float,
    bad_short: float,
    n_short: float,
    *,
    slo: float,
    multiple: float,
    confidence: float = GATE_CONFIDENCE,
    n_min: float = MIN_JUDGED,
) -> BurnGate:
    """Whether a tier fires.

    The long window's bound must exceed the threshold on at least `n_min` judged; the short window's
    raw ratio must exceed it too, so that the alert clears quickly.

    Args:
        bad_long: Bad judged traces of the long window; effective counts under designed sampling.
        n_long: Judged traces of the long window, likewise.
        bad_short: Bad judged traces of the short window.
        n_short: Judged traces of the short window.
        slo: Wanted share of good answers, e.g. 0.95.
        multiple: How many times the allowance.
        confidence: One-sided level of the gate.
        n_min: Fewest judged traces in the long window.
    """
    _check(slo)
    allowance = 1.0 - slo
    threshold = multiple * allowance
    if n_long <= 0:
        return BurnGate(burn_long=0.0, lower_bound=0.0, threshold=threshold, fires=False)
    bound = wilson_lower(min(bad_long, n_long), n_long, confidence)
    fires = (
        n_long >= n_min and bound > threshold and n_short > 0 and bad_short / n_short > threshold
    )
    return BurnGate(
        burn_long=burn_rate(bad_long, n_long, slo),
        lower_bound=bound,
        threshold=threshold,
        fires=fires,
    )


def _check(slo: float) -> None:
    if not 0.0 < slo < 1.0:
        raise ValueError(f"an objective is a share between 0 and 1, not {slo}")
