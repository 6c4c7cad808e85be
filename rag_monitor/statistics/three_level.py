"""Three levels: a proxy score on all traces, a judge on some, people on some of those.

Source: reference/statistics.md 3.3. Unbiased for the mean of the human labels whatever the quality
of the score and the judge. Assumes that the human draw uses its own salt, so that it is independent
of the judge's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rag_monitor.statistics.moments import MeanEstimate


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
        spread = (spread + self.rr / self.n) * self.n / (self.n - 1.0)
        return MeanEstimate(bias, math.sqrt(spread) / self.r)

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
