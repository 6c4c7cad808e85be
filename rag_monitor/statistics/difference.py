"""Difference estimators: a proxy score on all traces, corrected by a judge on a designed sample.

Source: reference/statistics.md 3.2 (active statistical inference, Zrnic and Candes 2024). With
r = xi/pi: D_i = lam f_i + r_i (J_i - lam f_i); the estimate is mean(D), se = sd(D)/sqrt(N).
Unbiased for any lam that does not look at this window's labels; f must not be trained on them.

Some sampled traces have no verdict: the judge failed, or the metric does not apply. The ratio form
(Hajek 1971; Sarndal, Swensson and Wretman 1992, ch. 10, for a domain that only the judge knows)
allows for that. Over the N traces with a proxy score f, of mean F: a = a verdict with a value,
m = a, or a verdict that says that the trace is outside the metric. Failures are neither: they are
missing at random. Then

    theta = [ sum a r J - lam sum m r (f - F) ] / sum a r

is the mean of J over the traces to which the metric applies, for any lam: sum m r (f - F) is 0 on
average. Dividing by N instead would count every missing verdict as lam f, at lam 0 as 0.

The error is linearised for traffic drawn from a stream. With A = sum a r and c = sum m r / N,
trace i moves theta by w_i / A,

    w_i = a_i r_i (J_i - theta) - lam (m_i r_i - c) (f_i - F),    se^2 = n/(n-1) sum w_i^2 / A^2,

n the verdicts with a value; the w_i add up to 0 over all N. At lam 0 this is the Hajek mean and its
error. `lam c (f_i - F)` is what the estimated F adds.

`LabelSums` adds a third level, people on some of the judged traces (reference/statistics.md 3.3):
unbiased for the mean of their labels whatever the quality of the score and the judge. It assumes
that the human draw uses its own salt, so that it is independent of the judge's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rag_monitor.statistics.moments import MeanEstimate, without_noise


@dataclass(frozen=True, slots=True)
class DifferenceEstimate:
    """The estimate with the tuning that was used."""

    value: float
    """May leave [0, 1]; clip only for display."""
    se: float
    lam: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceSums:
    """Sums over traces that make the difference estimate for any lam; windows add field by field.

    a = f (r - 1), b = J r, r = xi/pi; then D = b - lam a.
    """

    n: float = 0.0
    """All traces with a proxy score."""
    judged: float = 0.0
    a: float = 0.0
    b: float = 0.0
    aa: float = 0.0
    bb: float = 0.0
    ab: float = 0.0

    def estimate(self, lam: float = 1.0) -> DifferenceEstimate:
        """mean(D) and sd(D)/sqrt(n).

        Raises:
            ValueError: Fewer than two traces.
        """
        if self.n < 2:
            raise ValueError("a difference estimate needs two traces or more")
        total = self.b - lam * self.a
        squares = self.bb - 2.0 * lam * self.ab + lam * lam * self.aa
        mean = total / self.n
        variance = max(0.0, squares - self.n * mean * mean) / (self.n - 1)
        return DifferenceEstimate(mean, math.sqrt(variance / self.n), lam)

    def tuned_lam(self) -> float:
        """Cov(a, b)/Var(a), clipped to [0, 1]; 1 where there is nothing to tune on."""
        if self.n < 2 or self.judged == 0:
            return 1.0
        variance = self.aa - self.a * self.a / self.n
        if variance <= 1e-12:
            return 1.0
        covariance = self.ab - self.a * self.b / self.n
        return min(1.0, max(0.0, covariance / variance))


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioSums:
    """Sums over traces that make the ratio form for any lam; windows add field by field.

    A field is named by what is summed: `rrjf` is sum r^2 J f over verdicts with a value; those that
    begin with `out` run over verdicts that put the trace outside the metric.
    """

    n: float
    """All traces with a proxy score."""
    f: float
    """sum f over all of them."""
    ff: float
    """sum f^2 over all of them."""
    judged: float
    """Verdicts with a value; two or more."""
    r: float
    rr: float
    rj: float
    rrj: float
    rrjj: float
    rf: float
    rrf: float
    rff: float
    rrff: float
    rjf: float
    rrjf: float
    out_r: float = 0.0
    out_rr: float = 0.0
    out_rf: float = 0.0
    out_rrf: float = 0.0
    out_rff: float = 0.0
    out_rrff: float = 0.0

    @property
    def proxy_mean(self) -> float:
        """F: the mean proxy score of all traces."""
        return self.f / self.n

    @property
    def answered(self) -> float:
        """c: weight of the draws that did not fail, per trace; 1 on average where none does."""
        return (self.r + self.out_r) / self.n

    def estimate(self, lam: float = 1.0) -> DifferenceEstimate:
        """The estimate theta and its linearised standard error.

        Raises:
            ValueError: Fewer than two verdicts with a value.
        """
        if self.judged < 2:
            raise ValueError("a ratio needs two verdicts with a value or more")
        theta = self._theta(lam)
        own, shared, proxy = self._squares(theta)
        spread = max(0.0, own - 2.0 * lam * shared + lam * lam * proxy)
        spread = without_noise(spread, self.rrjj + lam * lam * proxy)
        spread *= self.judged / (self.judged - 1.0)
        return DifferenceEstimate(theta, math.sqrt(spread) / self.r, lam)

    def tuned_lam(self) -> float:
        """The lam of least sum w^2, clipped to [0, 1]; 1 where there is nothing to tune on.

        theta moves with lam by less than its error; it is held at the Hajek mean.
        """
        if self.judged < 2:
            return 1.0
        _, shared, proxy = self._squares(self._theta(0.0))
        if proxy <= 1e-12:
            return 1.0
        return min(1.0, max(0.0, shared / proxy))

    def _theta(self, lam: float) -> float:
        off = self.rf + self.out_rf - self.proxy_mean * (self.r + self.out_r)
        return (self.rj - lam * off) / self.r

    def _squares(self, theta: float) -> tuple[float, float, float]:
        """The sums of u^2, u v and v^2 in w = u - lam v."""
        mean, c = self.proxy_mean, self.answered
        own = self.rrjj - 2.0 * theta * self.rrj + theta * theta * self.rr
        shared = self.rrjf - mean * self.rrj - theta * (self.rrf - mean * self.rr)
        shared -= c * (self.rjf - mean * self.rj - theta * (self.rf - mean * self.r))
        proxy = _centred(
            self.rrff + self.out_rrff, self.rrf + self.out_rrf, self.rr + self.out_rr, mean
        )
        weight = self.r + self.out_r
        proxy -= 2.0 * c * _centred(self.rff + self.out_rff, self.rf + self.out_rf, weight, mean)
        proxy += c * c * _centred(self.ff, self.f, self.n, mean)
        return own, shared, proxy


def _centred(squares: float, total: float, count: float, mean: float) -> float:
    """The sum of w (f - mean)^2 from those of w f^2, w f and w."""
    return squares - 2.0 * mean * total + mean * mean * count


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSums:
    """Sums over the traces that were drawn for people and labelled; windows add field by field.

    r = 1/pi of judging, d = H - J. People need not label every trace they were asked for, as long
    as which ones they leave out has nothing to do with the answers: the bias is a weighted mean
    over those they did label (Hajek), which for a complete sample is the third term above.
    """

    n: float = 0.0
    r: float = 0.0
    rr: float = 0.0
    rd: float = 0.0
    rrd: float = 0.0
    rrdd: float = 0.0
    rrj: float = 0.0
    rrjd: float = 0.0
    f: float = 0.0
    """sum (r^2 - r) f."""
    fd: float = 0.0
    """sum (r^2 - r) f d."""
    rf: float = 0.0
    """sum r f; as `rfd` needed for the ratio form only."""
    rfd: float = 0.0

    def bias(self) -> MeanEstimate:
        """The judge's bias against people, sum(r d)/sum(r).

        Its variance counts one disagreement more than was seen: after fifty labels without any,
        the bias may still be two points, and a standard error of 0 would hide that.

        Raises:
            ValueError: Fewer than two labels.
        """
        if self.n < 2:
            raise ValueError("a bias needs two labels or more")
        bias = self.rd / self.r
        spread = max(0.0, self.rrdd - 2.0 * bias * self.rrd + bias * bias * self.rr)
        spread *= self.n / (self.n - 1.0)
        return MeanEstimate(bias, math.sqrt(spread / self.r**2 + self.unseen))

    @property
    def unseen(self) -> float:
        """What the one disagreement more adds to the variance of the bias."""
        return self.rr / (self.n - 1.0) / self.r**2

    def corrected(
        self,
        judged: MeanEstimate,
        weight: float,
        *,
        traces: float | None = None,
        lam: float = 0.0,
        proxy_mean: float = 0.0,
        answered: float = 1.0,
    ) -> MeanEstimate:
        """The judge's estimate plus the bias, with the covariance of the two.

        A labelled trace moves the bias by r (d - b)/sum r, and the judge's estimate by D/N, or in a
        ratio by w/A (`RatioSums`, of which Hajek is lam 0). The covariance is the sum of the
        products; sum r (d - b) = 0 drops what is the same for all traces.

        Args:
            judged: Mean of the judge's values over all traffic.
            weight: sum r over all judged traces; a ratio is divided by it.
            traces: For a difference estimate that is mean(D): all traces.
            lam: For a difference estimate: its trust in the proxy score.
            proxy_mean: For a difference estimate in ratio form: `RatioSums.proxy_mean`.
            answered: For a difference estimate in ratio form: `RatioSums.answered`.
        """
        bias = self.bias()
        b = bias.value
        shift = self.rrd - b * self.rr
        covariance = self.rrjd - b * self.rrj - lam * (self.fd - b * self.f)
        if traces is None:
            # (r^2 - c r) f = (r^2 - r) f + (1 - c) r f.
            rest = (1.0 - answered) * (self.rfd - b * self.rf)
            covariance -= judged.value * shift + lam * (rest - proxy_mean * shift)
        covariance /= (weight if traces is None else traces) * self.r
        variance = judged.se**2 + bias.se**2 + 2.0 * covariance
        return MeanEstimate(judged.value + b, math.sqrt(max(0.0, variance)))
