"""Coverage of the difference estimate when the judge leaves drawn traces without a verdict.

A part of `benchmarks/statistics.py`. Failures are drawn at random; what is not applicable depends
on the cheap score, so that the traces the metric applies to have another mean than all. lam is 0,
1, and tuned on the window before. The rival divides by all traces, as mean(D) does.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from benchmarks.bars import Row, Size, row
from benchmarks.populations import AUC, population
from benchmarks.statistics_reference import sampling_probabilities
from rag_monitor.statistics.difference import DifferenceSums, LabelSums, RatioSums
from rag_monitor.statistics.moments import MeanEstimate
from rag_monitor.statistics.wilson import effective_wilson

BAD = 0.15
TRACES = 2000
MISSING = ((0.0, 0.0), (0.05, 0.0), (0.09, 0.0), (0.2, 0.0), (0.0, 0.1), (0.0, 0.4), (0.09, 0.4))
"""Share of draws that failed, share of traces outside the metric."""
LABELLED = 0.4
"""Share of the scored draws that people label."""
_LAMS = ("0", "tuned", "1")


@dataclass(frozen=True)
class Draw:
    """One drawn trace."""

    f: float
    pi: float
    verdict: float | None
    """None: outside the metric, or failed."""
    failed: bool = False
    label: float | None = None


class Tally:
    """Intervals that hold the truth, and errors."""

    def __init__(self, truth: float) -> None:
        self._truth = truth
        self._hits = 0
        self._errors: list[float] = []

    def add(self, found: MeanEstimate, size: float) -> None:
        """One estimate."""
        self._errors.append(found.value - self._truth)
        self._hits += self._truth in effective_wilson(found.value, found.se, size).interval

    @property
    def covered(self) -> float:
        """Share of the 95% intervals that hold the truth."""
        return self._hits / len(self._errors)

    @property
    def bias(self) -> float:
        """Mean error."""
        return fmean(self._errors)


def missing_verdicts(size: Size, seed: int) -> Iterator[Row]:
    """The ratio form covers whatever is missing; mean(D) does not. With people, too."""
    runs = size.of(2000, 150)
    noise = 1.645 * math.sqrt(0.93 * 0.07 / runs) if size.quick else 0.0
    for pi in (0.1, 0.3) if not size.quick else (0.3,):
        for failed, outside in MISSING if not size.quick else ((0.09, 0.1),):
            given = f"{failed:.0%} failed, {outside:.0%} not applicable, pi {pi}"
            for lam, (ours, rival) in simulate(seed, failed, outside, pi, runs).items():
                name = f"{given}, lam {lam}"
                bar = f"coverage where verdicts are missing, {name}"
                yield row(bar, ours.covered, 0.93, at_least=True, noise=noise) | {
                    "rivals": {"mean(D)": round(rival.covered, 4)}
                }
                error = 0.0 if not size.quick else 1.645 * 0.03 / math.sqrt(runs)
                bar = f"bias where verdicts are missing, {name}"
                yield row(bar, abs(ours.bias), 0.005, at_least=False, noise=error) | {
                    "rivals": {"mean(D)": round(rival.bias, 4)}
                }
    runs = size.of(1000, 60)
    noise = 1.645 * math.sqrt(0.93 * 0.07 / runs)
    for failed, outside in ((0.0, 0.0), (0.2, 0.0), (0.09, 0.4)):
        found = with_people(seed, failed, outside, runs)
        bar = f"coverage with people, {failed:.0%} failed, {outside:.0%} not applicable"
        yield row(bar, found.covered, 0.93, at_least=True, noise=noise) | {
            "bias": round(found.bias, 4)
        }


def simulate(
    seed: object, failed: float, outside: float, pi: float, runs: int
) -> dict[str, tuple[Tally, Tally]]:
    """By lam: the ratio form, and mean(D)."""
    rng = random.Random(f"{seed}-missing-{failed}-{outside}-{pi}")
    truth = _truth(outside)
    found = {name: (Tally(truth), Tally(truth)) for name in _LAMS}
    tuned = [forms.tuned_lam() for forms in sums_of(*window(rng, failed, outside, pi))]
    for _ in range(runs):
        both = sums_of(*window(rng, failed, outside, pi))
        for name, tallies in found.items():
            lams = tuned if name == "tuned" else [float(name)] * 2
            for tally, sums, lam in zip(tallies, both, lams, strict=True):
                estimate = sums.estimate(lam)
                tally.add(MeanEstimate(estimate.value, estimate.se), sums.judged)
        tuned = [forms.tuned_lam() for forms in both]
    return found


def with_people(seed: object, failed: float, outside: float, runs: int) -> Tally:
    """People correct a judge that overlooks bad answers, a quarter drawn, lam 1."""
    rng = random.Random(f"{seed}-missing-people-{failed}-{outside}")
    tally = Tally(_truth(outside))
    for _ in range(runs):
        f, draws = window(rng, failed, outside, 0.25, overlooked=0.1, flagged=0.05)
        sums, _ = sums_of(f, draws)
        found, labels = sums.estimate(1.0), labels_of(draws)
        corrected = labels.corrected(
            MeanEstimate(found.value, found.se),
            sums.r,
            lam=1.0,
            proxy_mean=sums.proxy_mean,
            answered=sums.answered,
        )
        tally.add(corrected, labels.n)
    return tally


def window(
    rng: random.Random,
    failed: float,
    outside: float,
    pi: float,
    *,
    overlooked: float = 0.0,
    flagged: float = 0.0,
) -> tuple[list[float], list[Draw]]:
    """Cheap scores of all traces (1 is good) and the drawn ones; labels are the truth."""
    wrong, doubts = population(rng, TRACES, BAD, AUC)
    draws = []
    for bad, doubt, p in zip(wrong, doubts, sampling_probabilities(doubts, pi).pi, strict=True):
        if rng.random() >= p:
            continue
        if rng.random() < failed:
            draws.append(Draw(1.0 - doubt, p, None, failed=True))
        elif rng.random() < _outside(doubt, outside):
            draws.append(Draw(1.0 - doubt, p, None))
        else:
            mistaken = rng.random() < (overlooked if bad else flagged)
            label = 1.0 - bad if rng.random() < LABELLED else None
            draws.append(Draw(1.0 - doubt, p, float(bad == mistaken), label=label))
    return [1.0 - doubt for doubt in doubts], draws


def sums_of(f: Sequence[float], draws: Sequence[Draw]) -> tuple[RatioSums, DifferenceSums]:
    """The sums of both forms over traces with these cheap scores, of which these were drawn."""
    sums = dict.fromkeys((field.name for field in fields(RatioSums)), 0.0)
    sums |= {"n": float(len(f)), "f": sum(f), "ff": sum(v * v for v in f)}
    for draw in draws:
        r, v, said = 1.0 / draw.pi, draw.f, draw.verdict
        if said is not None:
            _add(sums, judged=1.0, r=r, rr=r * r, rf=r * v, rrf=r * r * v, rff=r * v * v)
            _add(sums, rj=r * said, rrj=r * r * said, rrjj=(r * said) ** 2)
            _add(sums, rrff=(r * v) ** 2, rjf=r * said * v, rrjf=r * r * said * v)
        elif not draw.failed:
            _add(sums, out_r=r, out_rr=r * r, out_rf=r * v, out_rrf=r * r * v)
            _add(sums, out_rff=r * v * v, out_rrff=(r * v) ** 2)
    rival = DifferenceSums(
        n=sums["n"],
        judged=sums["judged"],
        a=sums["rf"] - sums["f"],
        b=sums["rj"],
        aa=sums["rrff"] - 2.0 * sums["rff"] + sums["ff"],
        bb=sums["rrjj"],
        ab=sums["rrjf"] - sums["rjf"],
    )
    return RatioSums(**sums), rival


def labels_of(draws: Sequence[Draw]) -> LabelSums:
    """The sums over draws that people labelled."""
    sums = dict.fromkeys((field.name for field in fields(LabelSums)), 0.0)
    for draw in draws:
        if draw.label is None or draw.verdict is None:
            continue
        r, v, said = 1.0 / draw.pi, draw.f, draw.verdict
        d = draw.label - said
        _add(sums, n=1.0, r=r, rr=r * r, rd=r * d, rrd=r * r * d, rrdd=(r * d) ** 2)
        _add(sums, rrj=r * r * said, rrjd=r * r * said * d, rf=r * v, rfd=r * v * d)
        _add(sums, f=(r * r - r) * v, fd=(r * r - r) * v * d)
    return LabelSums(**sums)


def _add(sums: dict[str, float], **values: float) -> None:
    for name, value in values.items():
        sums[name] += value


def _outside(doubt: float, share: float) -> float:
    """Chance that the metric does not apply: it grows with doubt and is `share` on average."""
    return min(1.0, share * (1.0 + 2.0 * (doubt - BAD)))


def _truth(outside: float) -> float:
    """Share of good answers where the metric applies; doubts are calibrated."""
    if not outside:
        return 1.0 - BAD
    _, doubts = population(random.Random("truth"), 300_000, BAD, AUC)
    inside = [1.0 - _outside(v, outside) for v in doubts]
    # The share of bad answers is known over all traces: only the difference is left to the draw.
    within = sum(v * p for v, p in zip(doubts, inside, strict=True)) / sum(inside)
    return 1.0 - BAD + fmean(doubts) - within
