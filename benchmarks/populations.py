"""Made-up traffic for simulations of estimates. The standard library only: rivals draw it too."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

SIZE = 4000
"""Traces of a simulated window."""
AUC = 0.85
"""How well the cheap score tells bad answers from good ones."""
CELLS = (
    *((0.02, 50), (0.02, 100), (0.02, 200), (0.05, 50), (0.05, 100), (0.05, 200)),
    *((0.15, 50), (0.15, 100), (0.4, 50), (0.4, 200)),
)
"""Share of bad answers and number of labels."""
QUICK_CELLS = ((0.05, 100), (0.15, 100))


def stream(seed: object, bad: float, labels: int) -> random.Random:
    """The draws of one cell."""
    return random.Random(f"{seed}-coverage-{bad}-{labels}")


def population(rng: random.Random, n: int, bad: float, auc: float) -> tuple[list[int], list[float]]:
    """Labels (1 = bad) and calibrated binormal scores."""
    shift = math.sqrt(2.0) * NormalDist().inv_cdf(auc)
    odds = math.log(bad / (1.0 - bad))
    labels, scores = [], []
    for _ in range(n):
        label = int(rng.random() < bad)
        x = rng.gauss(shift * label, 1.0)
        labels.append(label)
        scores.append(1.0 / (1.0 + math.exp(-(odds + shift * x - shift * shift / 2.0))))
    return labels, scores
