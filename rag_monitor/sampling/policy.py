"""With what probability a trace is judged, and why.

The probability depends on the cheap score, the past and attributes of the trace; never on anything
seen after it was judged. It never falls below the floor: without that no estimate is valid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.domain.decision import SamplingReason
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.trace import Trace, TraceStatus
from rag_monitor.sampling.hash_sampling import rounded_up
from rag_monitor.sampling.options import STRATUM_KINDS, SamplingOptions

PREFERRED: Final = ("answer_supported", "faithfulness")
"""Cheap scores that are read as the probability of a good answer, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingState:
    """What the policy knows of the past. Replaced at window boundaries, never inside one."""

    mean_uncertainty: Mapping[str, float] = field(default_factory=dict)
    """Per app: mean of sqrt(f (1 - f)) over the previous window."""
    expected_traces: Mapping[str, float] = field(default_factory=dict)
    """Per app: traces of the previous window."""
    new_releases: frozenset[tuple[str, str]] = frozenset()
    """(app, release) that appeared recently."""
    budget: BudgetState = field(default_factory=lambda: BudgetState(remaining=1.0))


START_UNCERTAINTY: Final = 0.35
"""Mean of sqrt(f (1 - f)) assumed before the first window."""


@dataclass(frozen=True, slots=True)
class Inclusion:
    """The probability of one trace."""

    probability: float
    reason: SamplingReason
    stratum: str = ""


def uncertainty(score: float) -> float:
    """sqrt(f (1 - f)): the standard deviation of a label whose probability is `score`."""
    inside = min(1.0, max(0.0, score))
    return math.sqrt(inside * (1.0 - inside))


def inclusion(
    options: SamplingOptions,
    state: SamplingState,
    trace: Trace,
    baseline_scores: Mapping[str, float] | None,
) -> Inclusion:
    """The probability with which an expensive judge sees the trace.

    The spread of an answer whose probability of being good is f is sqrt(f (1 - f)): sampling in
    proportion to it gives the narrowest interval for the same number of judged traces. An answer
    that the baseline judge is unsure of is sampled more often than a sure one:

        >>> from rag_monitor.testing import make_trace
        >>> options, past, trace = SamplingOptions(rate=0.1), SamplingState(), make_trace()
        >>> inclusion(options, past, trace, {"faithfulness": 0.5})
        Inclusion(probability=0.13, reason=<SamplingReason.UNCERTAIN: 'uncertain'>, stratum='')
        >>> inclusion(options, past, trace, {"faithfulness": 0.99}).probability
        0.058
        >>> inclusion(options, past, trace, {"faithfulness": 1.0}).probability  # the floor
        0.04

    Args:
        options: The design.
        state: What is known of the window before.
        trace: Its app, release, status, tags and knowledge bases count.
        baseline_scores: The baseline judge's scores by metric; None: it has given none.
    """
    stratum, rate = _stratum(options, trace)
    reason = SamplingReason.STRATUM if stratum else SamplingReason.BASE_RATE
    expected = state.expected_traces.get(trace.app)
    if expected:
        rate = max(rate, min(1.0, options.min_per_window / expected))
    floor = options.floor_share * rate
    chosen = Inclusion(rate, reason, stratum)
    score = _baseline_score(baseline_scores)
    if score is not None and rate < 1.0:  # a rate of 1 is every trace, the certain ones too
        typical = state.mean_uncertainty.get(trace.app) or START_UNCERTAINTY
        probability = min(1.0, floor + (rate - floor) / typical * uncertainty(score))
        unsure = SamplingReason.UNCERTAIN if probability > rate else reason
        chosen = Inclusion(probability, unsure, stratum)
    if (trace.app, trace.release) in state.new_releases:
        chosen = _at_least(chosen, options.new_release_rate, SamplingReason.NEW_RELEASE)
    if trace.status is TraceStatus.ERROR:
        chosen = _at_least(chosen, options.error_rate, SamplingReason.ERROR)
    chosen = _within_budget(options, state.budget, chosen, floor)
    return Inclusion(rounded_up(chosen.probability), chosen.reason, chosen.stratum)


def _stratum(options: SamplingOptions, trace: Trace) -> tuple[str, float]:
    if not options.strata:
        return "", options.rate
    knowledge_bases = dict.fromkeys(
        retrieval.knowledge_base for retrieval in trace.retrievals if retrieval.knowledge_base
    )
    values: dict[str, tuple[str | None, ...]] = {
        "app": (trace.app,),
        "knowledge_base": tuple(knowledge_bases),
        "tag": trace.tags,
        "release": (trace.release,),
        "environment": (trace.environment,),
    }
    for kind in STRATUM_KINDS:
        for value in values[kind]:
            rate = options.strata.get(f"{kind}={value}")
            if rate is not None:
                return f"{kind}={value}", rate
    return "", options.rate


def _baseline_score(baseline_scores: Mapping[str, float] | None) -> float | None:
    if not baseline_scores:
        return None
    for metric in PREFERRED:
        if metric in baseline_scores:
            return baseline_scores[metric]
    return sum(baseline_scores.values()) / len(baseline_scores)


def _at_least(chosen: Inclusion, probability: float, reason: SamplingReason) -> Inclusion:
    if probability <= chosen.probability:
        return chosen
    return Inclusion(probability, reason, chosen.stratum)


def _within_budget(
    options: SamplingOptions, budget: BudgetState, chosen: Inclusion, floor: float
) -> Inclusion:
    remaining = 0.0 if budget.exhausted else budget.remaining
    if remaining >= options.budget_soft or chosen.probability <= floor:
        return chosen
    lowered = floor + (chosen.probability - floor) * remaining / options.budget_soft
    return Inclusion(lowered, SamplingReason.BUDGET, chosen.stratum)
