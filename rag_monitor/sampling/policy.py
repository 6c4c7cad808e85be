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
from rag_monitor.errors import ConfigurationError
from rag_monitor.sampling.draw import MAX_SALT_BYTES
from rag_monitor.statistics.design import uncertainty

PREFERRED: Final = ("answer_supported", "faithfulness")
"""Cheap scores that are read as the probability of a good answer, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """The design. Change the salt when you change the design, so that both stay apart."""

    rate: float = 0.05
    """Share of traffic an expensive judge sees, in (0, 1]; 1: every trace."""
    floor_share: float = 0.4
    """Smallest probability / rate; 0.6 when the cheap score's calibration error exceeds 0.05."""
    min_per_window: int = 30
    """Judged traces wanted per app and window; raises the rate of quiet apps."""
    error_rate: float = 0.5
    """Least probability of a trace that failed."""
    new_release_rate: float = 0.5
    """Least probability of a trace of a release that has just appeared."""
    strata: Mapping[str, float] = field(default_factory=dict)
    """Rates of their own, by `app=…`, `environment=…`, `release=…`, `tag=…` or
    `knowledge_base=…`; the first that fits in this order of kinds is taken."""
    budget_soft: float = 0.2
    """Remaining share of a budget below which probabilities sink towards the floor."""
    salt: str = "judge"
    """Names the design; at most 64 bytes."""
    human_rate: float = 0.02
    """Share of the judged traces that people are asked to label; 0: nobody is asked."""
    human_salt: str = "people"
    """Another salt than the judge's, so that the two draws are independent."""

    def __post_init__(self) -> None:
        if self.rate == 0:
            raise ConfigurationError(
                "sampling.rate is a share from above 0 to 1, not 0.0; to have nothing judged by an "
                'expensive judge, leave `judge` at "embedded"'
            )
        for name in ("rate", "floor_share"):
            _check_share(name, getattr(self, name), least_open=True)
        for name in ("error_rate", "new_release_rate", "budget_soft", "human_rate"):
            _check_share(name, getattr(self, name))
        for name, rate in self.strata.items():
            kind, _, wanted = name.partition("=")
            if kind not in _STRATUM_KINDS or not wanted:
                raise ConfigurationError(
                    f"sampling stratum {name!r} is not understood; write one of "
                    + ", ".join(f"{kind}=NAME" for kind in _STRATUM_KINDS)
                )
            _check_share(f"strata[{name!r}]", rate, least_open=True)
        if self.min_per_window < 0:
            raise ConfigurationError("sampling.min_per_window cannot be negative")
        for name in ("salt", "human_salt"):
            if not 0 < len(getattr(self, name).encode("utf-8", "surrogatepass")) <= MAX_SALT_BYTES:
                raise ConfigurationError(f"sampling.{name} needs 1 to 64 bytes")
        if self.salt == self.human_salt:
            raise ConfigurationError("sampling.salt and sampling.human_salt must differ")

    @property
    def pi_min(self) -> float:
        """No trace has a smaller probability: the floor that weighted detectors need."""
        return _rounded(self.floor_share * min((self.rate, *self.strata.values())))


_STRATUM_KINDS: Final = ("app", "knowledge_base", "tag", "release", "environment")


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


def inclusion(
    options: SamplingOptions,
    state: SamplingState,
    trace: Trace,
    cheap: Mapping[str, float] | None,
) -> Inclusion:
    """The probability with which an expensive judge sees the trace."""
    stratum, rate = _stratum(options, trace)
    reason = SamplingReason.STRATUM if stratum else SamplingReason.BASE_RATE
    expected = state.expected_traces.get(trace.app)
    if expected:
        rate = max(rate, min(1.0, options.min_per_window / expected))
    floor = options.floor_share * rate
    chosen = Inclusion(rate, reason, stratum)
    score = _cheap_score(cheap)
    if score is not None and rate < 1.0:  # a rate of 1 is every trace, the certain ones too
        typical = state.mean_uncertainty.get(trace.app) or START_UNCERTAINTY
        wanted = min(1.0, floor + (rate - floor) / typical * uncertainty(score))
        unsure = SamplingReason.UNCERTAIN if wanted > rate else reason
        chosen = Inclusion(wanted, unsure, stratum)
    if (trace.app, trace.release) in state.new_releases:
        chosen = _at_least(chosen, options.new_release_rate, SamplingReason.NEW_RELEASE)
    if trace.status is TraceStatus.ERROR:
        chosen = _at_least(chosen, options.error_rate, SamplingReason.ERROR)
    chosen = _within_budget(options, state.budget, chosen, floor)
    return Inclusion(_rounded(chosen.probability), chosen.reason, chosen.stratum)


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
    for kind in _STRATUM_KINDS:
        for value in values[kind]:
            rate = options.strata.get(f"{kind}={value}")
            if rate is not None:
                return f"{kind}={value}", rate
    return "", options.rate


def _cheap_score(cheap: Mapping[str, float] | None) -> float | None:
    if not cheap:
        return None
    for metric in PREFERRED:
        if metric in cheap:
            return cheap[metric]
    return sum(cheap.values()) / len(cheap)


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


def _rounded(probability: float) -> float:
    """Two significant digits, upwards: few distinct probabilities, none below the floor."""
    if probability >= 1.0:
        return 1.0
    digits = 1 - math.floor(math.log10(probability))
    scale = 10.0**digits
    # The margin keeps 0.05, stored as 0.05000…03, from becoming 0.051.
    return min(1.0, round(math.ceil(probability * scale - 1e-9) / scale, digits))


def _check_share(name: str, value: float, *, least_open: bool = False) -> None:
    if not (0.0 < value <= 1.0 if least_open else 0.0 <= value <= 1.0):
        raise ConfigurationError(
            f"sampling.{name} is a share from {'above ' if least_open else ''}0 to 1, not {value}"
        )
