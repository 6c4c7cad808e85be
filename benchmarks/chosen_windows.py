"""False alarms of a drop rule over the windows that are chosen for apps, in 30 days without change.

And how often it finds a fall in one look. A rule looks 240 times per window, as the engine does,
at a stream of judged traces whose share of good ones never changes; a count is of alarms that stood
for two minutes and are apart by a window.

    python -m benchmarks.chosen_windows
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np

from rag_monitor.statistics.wilson import z_two_sided

LEVEL, MIN_DROP, DAYS, LOOKS, HOLD_S = 0.999, 0.10, 30, 240, 120.0
CASES = ((600, 100), (600, 400), (3600, 100), (21_600, 100), (86_400, 100))
"""Window in seconds, judged per window."""
DRAWS = 100_000


def wilson(share: np.ndarray, count: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the interval."""
    n = np.maximum(count, 1)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return middle - half, middle + half


def false_alarms(window_s: float, judged: float, good: float, chance: np.random.Generator) -> int:
    """Alarms of one stream."""
    step_s = max(15.0, window_s / LOOKS)
    steps, per_window = round(DAYS * 86_400 / step_s), round(window_s / step_s)
    counts = chance.poisson(judged / per_window, steps)
    goods = chance.binomial(counts, good)
    n, g = (np.concatenate([[0], np.cumsum(one)]) for one in (counts, goods))
    n, g = ((one[per_window:] - one[:-per_window]) for one in (n, g))
    now_n, before_n = n[per_window:], n[:-per_window]
    now, before = g[per_window:] / np.maximum(now_n, 1), g[:-per_window] / np.maximum(before_n, 1)
    z = z_two_sided(LEVEL)
    upper, lower = wilson(now, now_n, z)[1], wilson(before, before_n, z)[0]
    top = now - before + np.sqrt((upper - now) ** 2 + (before - lower) ** 2)
    active = (top < 0) & (now - before <= -MIN_DROP) & (np.minimum(now_n, before_n) >= 50)
    hold = math.ceil(HOLD_S / step_s) + 1
    stood = np.convolve(active, np.ones(hold), "valid") == hold
    places: Sequence[int] = np.flatnonzero(stood).tolist()
    alarms, last = 0, -per_window
    for place in places:
        alarms += place - last >= per_window
        last = place
    return alarms


def found(judged: int, before: float, now: float, chance: np.random.Generator) -> float:
    """Share of falls that a single look finds, with so many judged on each side."""
    count = np.full(DRAWS, judged)
    old, new = (chance.binomial(judged, share, DRAWS) / judged for share in (before, now))
    z = z_two_sided(LEVEL)
    upper, lower = wilson(new, count, z)[1], wilson(old, count, z)[0]
    top = new - old + np.sqrt((upper - new) ** 2 + (old - lower) ** 2)
    return float(np.mean((top < 0) & (new - old <= -MIN_DROP)))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=60)
    streams = parser.parse_args().streams
    chance = np.random.default_rng(27)
    for window_s, judged in CASES:
        told = [
            sum(false_alarms(window_s, judged, good, chance) for _ in range(streams)) / streams
            for good in (0.90, 0.95)
        ]
        print(f"{window_s / 60:g} min, {judged} judged: {told[0]:.2f} / {told[1]:.2f} in 30 days")
    for judged in (50, 100):
        share = found(judged, 0.95, 0.64, chance)
        print(f"a fall from 0.95 to 0.64 with {judged} judged on each side: found in {share:.0%}")


if __name__ == "__main__":
    main()
