"""How often the interval of a fault's share holds the true one after 60 labels.

    python -m benchmarks.fault_rates [--runs 2000]

An application with 2,000 traces, a share of them at the fault. The model's probability of the fault
is beta distributed, apart for traces with it and without it, and wrong in the way that a row says.
People labelled 60 traces that were drawn for them by chance. The sums are those that rollups keep,
the estimators and the interval those of the product.
"""

from __future__ import annotations

import argparse

import numpy as np

from rag_monitor.statistics.difference import LabelSums
from rag_monitor.statistics.moments import MeanEstimate, mean_from_sums
from rag_monitor.statistics.wilson import effective_wilson

TRACES = 2_000
LABELS = 60
SHARES = (0.02, 0.05, 0.15, 0.4)
MODELS = {
    "tells them apart": (0.0, 1.0),
    "too low by up to .3": (-0.3, 1.0),
    "too high by up to .3": (0.3, 1.0),
    "knows nothing": (0.0, 0.0),
}
"""What is added to the probability, and how much of its signal is left."""


def probabilities(
    chance: np.random.Generator, true: np.ndarray, shift: float, signal: float
) -> np.ndarray:
    """The model's probabilities of the fault."""
    with_fault, without = chance.beta(4.0, 2.0, true.size), chance.beta(1.0, 6.0, true.size)
    drawn = np.where(true, with_fault, without) if signal else chance.permutation(without)
    return np.clip(drawn + shift * chance.random(true.size), 0.0, 1.0)


def corrected(p: np.ndarray, true: np.ndarray, asked: np.ndarray) -> MeanEstimate:
    """The estimate with the labels, from the sums that rollups keep; every trace is judged."""
    judged, d = p[asked], true[asked] - p[asked]
    n = float(asked.size)
    labels = LabelSums(
        n=n,
        r=n,
        rr=n,
        rd=float(d.sum()),
        rrd=float(d.sum()),
        rrdd=float((d * d).sum()),
        rrj=float(judged.sum()),
        rrjd=float((judged * d).sum()),
    )
    point = mean_from_sums(p.size, float(p.sum()), float((p * p).sum()))
    return labels.corrected(point, float(p.size))


def cell(share: float, shift: float, signal: float, runs: int, seed: int) -> tuple[float, ...]:
    """Coverage with labels and without, and the mean width with labels."""
    chance = np.random.default_rng(seed)
    held = alone = width = 0.0
    for _ in range(runs):
        true = chance.random(TRACES) < share
        p = probabilities(chance, true, shift, signal)
        asked = chance.choice(TRACES, LABELS, replace=False)
        told = corrected(p, true.astype(float), asked)
        ends = effective_wilson(told.value, told.se, float(LABELS), 0.95)
        held += ends.lower <= share <= ends.upper
        width += ends.upper - ends.lower
        plain = mean_from_sums(TRACES, float(p.sum()), float((p * p).sum()))
        without = effective_wilson(plain.value, plain.se, float(TRACES), 0.95)
        alone += without.lower <= share <= without.upper
    return held / runs, alone / runs, width / runs


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print("| model | share | with 60 labels | model alone | width |")
    print("|---|---|---|---|---|")
    for name, (shift, signal) in MODELS.items():
        for seed, share in enumerate(SHARES):
            held, alone, width = cell(share, shift, signal, runs, seed)
            print(f"| {name} | {share:.0%} | {held:.3f} | {alone:.3f} | {width:.3f} |")


if __name__ == "__main__":
    main()
