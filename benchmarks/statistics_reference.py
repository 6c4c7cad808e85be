"""Estimators that read every trace, as the papers write them; the product keeps sums by the minute.

The rivals of `statistics.py`, and what tests hold the sums of the product against.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from rag_monitor.sampling.policy import uncertainty
from rag_monitor.statistics.moments import MeanEstimate
from rag_monitor.statistics.wilson import EffectiveInterval, Interval, wilson_interval, z_two_sided


@dataclass(frozen=True, slots=True)
class SamplingProbabilities:
    """pi_i = min(1, pi_min + c sqrt(f_i (1 - f_i)))."""

    pi_min: float
    c: float
    pi: tuple[float, ...]


def sampling_probabilities(
    f: Sequence[float], rate: float, floor_share: float = 0.4
) -> SamplingProbabilities:
    """Probabilities with mean `rate` that favour uncertain scores over a floor.

    Source: Zrnic and Candes 2024; arXiv 2506.07949.

    Args:
        f: Cheap scores, read as probabilities.
        rate: Wanted share of judged traces, in (0, 1].
        floor_share: pi_min / rate. Over-confident scores starve the traces that carry the
            surprise; the floor is their share.
    """
    if not (f and 0.0 < rate <= 1.0 and 0.0 < floor_share <= 1.0):
        raise ValueError("needs scores, a rate in (0, 1] and a floor share in (0, 1]")
    floor = floor_share * rate
    g = sorted((uncertainty(score) for score in f), reverse=True)
    c = _slope(g, rate, floor)
    return SamplingProbabilities(
        floor, c, tuple(min(1.0, floor + c * uncertainty(score)) for score in f)
    )


def _slope(g: Sequence[float], rate: float, floor: float) -> float:
    """The c with mean(min(1, floor + c g)) = rate, trying saturation sets from none upward."""
    n = len(g)
    rest = sum(g)
    if rest <= 0.0:
        return 0.0
    for saturated in range(n):
        c = max(0.0, (n * rate - saturated - (n - saturated) * floor) / rest)
        if floor + c * g[saturated] <= 1.0 + 1e-15:
            return c
        rest -= g[saturated]
        if rest <= 1e-15:
            return c
    return c


@dataclass(frozen=True, slots=True)
class DifferenceEstimate:
    """The estimate with the tuning that was used."""

    value: float
    """May leave [0, 1]; clip only for display."""
    se: float
    lam: float
    pseudo_outcomes: tuple[float, ...]


def difference_mean(
    f: Sequence[float],
    y: Sequence[float | None],
    pi: Sequence[float],
    sampled: Sequence[bool | int],
    lam: float = 1.0,
) -> DifferenceEstimate:
    """mean(D), D_i = lam f_i + xi_i/pi_i (y_i - lam f_i), with its error over two or more traces.

    Source: active statistical inference, Zrnic and Candes 2024.

    Args:
        f: Cheap score of every trace.
        y: The judge's value; read only where sampled.
        pi: Probability of judging each trace, in (0, 1].
        sampled: The draw.
        lam: Trust in the score.
    """
    _check_design(pi, sampled)
    outcomes = tuple(
        lam * fi + ((_observed(yi, d) - lam * fi) / p if d else 0.0)
        for fi, yi, p, d in zip(f, y, pi, sampled, strict=True)
    )
    return DifferenceEstimate(*_mean_se(outcomes), lam, outcomes)


@dataclass(frozen=True, slots=True)
class ThreeLevelEstimate:
    """The human-label mean and the judge's bias against people."""

    value: float
    se: float
    judge_bias: MeanEstimate
    """mean(xi eta/(pi pi') (H - J)): a drift of it is a judge regression."""
    pseudo_outcomes: tuple[float, ...]


def three_level_mean(
    f: Sequence[float],
    judge: Sequence[float | None],
    pi: Sequence[float],
    judged: Sequence[bool | int],
    human: Sequence[float | None],
    pi_human: Sequence[float],
    human_sampled: Sequence[bool | int],
) -> ThreeLevelEstimate:
    """mean(f) + mean(xi/pi (J - f)) + mean(xi eta/(pi pi') (H - J)).

    Args:
        f: Cheap score of every trace.
        judge: Judge's value; read where judged.
        pi: Probability of judging.
        judged: Draw of judging.
        human: Person's label; read where judged and sampled for people.
        pi_human: Probability of asking a person, given that the trace was judged.
        human_sampled: Draw of asking a person.
    """
    _check_design(pi, judged)
    _check_design(pi_human, human_sampled)
    outcomes: list[float] = []
    corrections: list[float] = []
    rows = zip(f, judge, pi, judged, human, pi_human, human_sampled, strict=True)
    for score, verdict, p, drawn, label, p_human, asked in rows:
        said = _observed(verdict, drawn)
        first = (said - score) / p if drawn else 0.0
        second = (_observed(label, True) - said) / (p * p_human) if drawn and asked else 0.0
        outcomes.append(score + first + second)
        corrections.append(second)
    value, se = _mean_se(outcomes)
    return ThreeLevelEstimate(value, se, MeanEstimate(*_mean_se(corrections)), tuple(outcomes))


@dataclass(frozen=True, slots=True)
class PpiEstimate:
    """The estimate, its standard error and the trust in the score that was used."""

    value: float
    """May leave [0, 1]; clip only for display."""
    se: float
    lam: float
    plain_variance: float
    """Var(Y)/n: the squared standard error of the mean of the labels alone."""
    labelled: int

    def normal_interval(self, confidence: float = 0.95) -> Interval:
        """Estimate -+ z se; covers too little when bad answers are rare."""
        half = z_two_sided(confidence) * self.se
        return Interval(self.value - half, self.value + half)


def ppi_mean(
    y_labelled: Sequence[float],
    f_labelled: Sequence[float],
    f_unlabelled: Sequence[float],
    lam: float | None = None,
    *,
    variance_ddof: int = 1,
    covariance_ddof: int = 1,
) -> PpiEstimate:
    """Prediction-powered mean (PPI++): mean_L(Y) + lam (mean_U(f) - mean_L(f)).

    Source: Angelopoulos, Duchi and Zrnic, arXiv 2311.01453. Assumes that the labelled traces are a
    uniform sample, disjoint from the unlabelled ones, and that the score was not trained on them.

    Args:
        y_labelled: Labels.
        f_labelled: The score on the labelled traces, in the same order.
        f_unlabelled: The score on the other traces.
        lam: Trust in the score; None tunes it for least variance, clipped to [0, 1].
        variance_ddof: 0 reproduces ppi-python.
        covariance_ddof: The same, for the covariance in the tuning.
    """
    n, rest = len(y_labelled), len(f_unlabelled)
    if n < 2 or rest < 2 or len(f_labelled) != n:
        raise ValueError("PPI needs two labelled and two unlabelled traces, with a score on each")
    if lam is None:
        lam = ppi_lam(y_labelled, f_labelled, f_unlabelled, covariance_ddof=covariance_ddof)
    value = _mean(y_labelled) + lam * (_mean(f_unlabelled) - _mean(f_labelled))
    residuals = [y - lam * f for y, f in zip(y_labelled, f_labelled, strict=True)]
    variance = (
        _variance(residuals, variance_ddof) / n
        + lam * lam * _variance(f_unlabelled, variance_ddof) / rest
    )
    plain = _variance(y_labelled, variance_ddof) / n
    return PpiEstimate(value, math.sqrt(variance), lam, plain, n)


def ppi_lam(
    y_labelled: Sequence[float],
    f_labelled: Sequence[float],
    f_unlabelled: Sequence[float],
    *,
    covariance_ddof: int = 1,
) -> float:
    """The tuning Cov_L(Y, f) / ((1 + n/N) Var(f)), clipped to [0, 1]; 0 for a constant score."""
    n = len(y_labelled)
    mean_y, mean_f = _mean(y_labelled), _mean(f_labelled)
    covariance = sum(
        (y - mean_y) * (f - mean_f) for y, f in zip(y_labelled, f_labelled, strict=True)
    ) / (n - covariance_ddof)
    pooled = _variance([*f_labelled, *f_unlabelled], 1)
    if pooled <= 0.0:
        return 0.0
    return min(1.0, max(0.0, covariance / ((1.0 + n / len(f_unlabelled)) * pooled)))


def ppi_effective_wilson(
    estimate: PpiEstimate, confidence: float = 0.95, clip: tuple[float, float] = (1.0, 4.0)
) -> EffectiveInterval:
    """The Wilson interval with n_eff = labelled * clip(Var(Y)/n / se^2).

    Args:
        estimate: The prediction-powered estimate.
        confidence: Two-sided level.
        clip: Bounds of the gain over the plain mean.
    """
    plain, se = estimate.plain_variance, estimate.se
    gain = plain / (se * se) if se > 0.0 else (clip[1] if plain > 0.0 else 1.0)
    size = estimate.labelled * min(clip[1], max(clip[0], gain))
    inside = min(1.0, max(0.0, estimate.value))
    # size * inside may exceed size by one rounding step.
    interval = wilson_interval(min(size, size * inside), size, confidence)
    return EffectiveInterval(interval.lower, interval.upper, size)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _variance(values: Sequence[float], ddof: int) -> float:
    mean = _mean(values)
    return sum((v - mean) ** 2 for v in values) / (len(values) - ddof)


def binormal_floored_gain(prevalence: float, auc: float, floor_share: float = 0.4) -> float:
    """Gain of designed sampling with a floor over uniform labels, small sampling fraction.

    Scores of good and bad traces are two normals of equal spread, calibrated; s is the floor share:
    p (1 - p) / E[u^2 / (s + (1 - s) u / E u)], u = sqrt(f (1 - f)).
    """
    mean = _expectation(prevalence, auc, lambda f: math.sqrt(f * (1.0 - f)))

    def cost(f: float) -> float:
        u2 = f * (1.0 - f)
        return u2 / (floor_share + (1.0 - floor_share) * math.sqrt(u2) / mean)

    return prevalence * (1.0 - prevalence) / _expectation(prevalence, auc, cost)


def _expectation(prevalence: float, auc: float, of: Callable[[float], float]) -> float:
    """E[of(P(bad | score))] by Simpson's rule over the mixture of the two normals."""
    shift = math.sqrt(2.0) * NormalDist().inv_cdf(auc)
    bad, good = NormalDist(shift, 1.0), NormalDist(0.0, 1.0)
    low, high, pieces = -9.0, shift + 9.0, 2000
    step = (high - low) / pieces
    total = 0.0
    for index in range(pieces + 1):
        x = low + index * step
        weight_bad = prevalence * bad.pdf(x)
        density = weight_bad + (1.0 - prevalence) * good.pdf(x)
        factor = 1.0 if index in {0, pieces} else (4.0 if index % 2 else 2.0)
        total += factor * density * of(weight_bad / density)
    return total * step / 3.0


@dataclass(frozen=True, slots=True)
class EbhResult:
    """Which e-values are large enough together."""

    k: int
    rejected: tuple[int, ...]
    """Positions in the input, rising."""
    scores_sorted: tuple[float, ...]
    """k e_(k) / m, e-values from the largest."""


def e_bh(e: Sequence[float], alpha: float) -> EbhResult:
    """e-BH: reject the k* largest, k* = max{k: k e_(k)/m >= 1/alpha} (arXiv 2009.02824).

    On detector values of streams with one shared clock this is e-d-BH (arXiv 2501.04130): it bounds
    false alarms per time (error over patience) by alpha, under any dependence. With one stream it
    is the threshold A = 1/alpha.
    """
    if not 0.0 < alpha <= 1.0:
        raise ValueError(f"alpha lies in (0, 1], not {alpha}")
    order = sorted(range(len(e)), key=lambda index: (-e[index], index))
    scores = tuple(rank * e[index] / len(e) for rank, index in enumerate(order, start=1))
    k = max((rank for rank, s in enumerate(scores, start=1) if s >= 1.0 / alpha), default=0)
    return EbhResult(k, tuple(sorted(order[:k])), scores)


def _check_design(pi: Sequence[float], sampled: Sequence[bool | int]) -> None:
    """Refuse a design without traces, of unequal lengths or with impossible probabilities."""
    if not pi or len(pi) != len(sampled):
        raise ValueError("a design needs one probability and one draw per trace")
    if not all(0.0 < p <= 1.0 for p in pi):
        raise ValueError("sampling probabilities lie in (0, 1]")


def _observed(value: float | None, drawn: bool | int) -> float:
    """The value of a drawn trace; 0 for one that was not drawn (its weight is 0)."""
    if not drawn:
        return 0.0
    if value is None:
        raise ValueError("a drawn trace needs a value; drop failed judgements from the design")
    return value


def _mean_se(values: Sequence[float]) -> tuple[float, float]:
    n = len(values)
    if n < 2:
        raise ValueError("an estimate needs two traces or more")
    mean = sum(values) / n
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)
