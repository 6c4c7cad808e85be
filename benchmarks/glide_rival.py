"""glide-py's PPI++ on the draws of `statistics.py`; run by it in an environment of glide-py's own.

    /path/to/python benchmarks/glide_rival.py RUNS SEED [--quick]

Needs glide-py (Python 3.12 or newer) and nothing of ours but `populations.py`. Prints one JSON
object: by cell, the share of intervals that hold the truth, their mean width, and the share of runs
in which it gives none (it refuses labels that are all the same).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# The script's own folder would shadow the standard library's `statistics`.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from glide.estimators import PPIMeanEstimator  # type: ignore[import-not-found,unused-ignore]

from benchmarks.populations import AUC, CELLS, QUICK_CELLS, SIZE, population, stream


def cell(runs: int, seed: str, bad: float, labels: int) -> dict[str, float]:
    """Coverage and width of 95% intervals over the runs of one cell."""
    rng = stream(seed, bad, labels)
    covered = refused = 0
    width = 0.0
    for _ in range(runs):
        y, f = population(rng, SIZE, bad, AUC)
        for _ in f:
            rng.random()  # ours draws a designed sample here
        known = np.full(SIZE, np.nan)
        known[:labels] = y[:labels]
        try:
            found = PPIMeanEstimator().estimate(known, np.array(f)).confidence_interval
        except ValueError:
            refused += 1
            continue
        covered += found.lower_bound <= bad <= found.upper_bound
        width += found.upper_bound - found.lower_bound
    told = max(1, runs - refused)
    return {
        "coverage": round(covered / told, 4),
        "width": round(width / told, 4),
        "no_interval": round(refused / runs, 4),
    }


def main() -> None:
    """Print every cell."""
    runs, seed = int(sys.argv[1]), sys.argv[2]
    cells = QUICK_CELLS if "--quick" in sys.argv else CELLS
    print(json.dumps({f"{bad}/{labels}": cell(runs, seed, bad, labels) for bad, labels in cells}))


if __name__ == "__main__":
    main()
