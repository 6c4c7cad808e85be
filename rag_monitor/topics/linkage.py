"""Average linkage (UPGMA) by chains of nearest neighbours, with weighted points.

Murtagh and Contreras, "Algorithms for hierarchical clustering: an overview" (2012): n points take
O(n^2) time and one n by n matrix. SciPy's `linkage(..., "average")` gives the same tree; it is not
among the server's dependencies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def average_linkage(
    distances: NDArray[np.float32], weights: Sequence[float], cut: float
) -> NDArray[np.intp]:
    """The group of each point, numbered from 0 in order of the first point.

    Args:
        distances: n by n, symmetric; overwritten.
        weights: How many observations each point stands for, above 0.
        cut: Groups are joined while the mean distance between their observations is at most this.
    """
    n = len(weights)
    size = np.array(weights, np.float64)
    np.fill_diagonal(distances, np.inf)
    parent = np.arange(n)
    active = np.ones(n, bool)
    chain: list[int] = []
    for _ in range(n - 1):
        if not chain:
            chain.append(int(np.argmax(active)))
        nearest, distance = _follow(distances, chain)
        last = chain.pop()
        chain.pop()
        if distance <= cut:
            parent[_root(parent, nearest)] = _root(parent, last)
        # The row of `last` stands for both from now on.
        both = size[last] + size[nearest]
        row = (size[last] * distances[last] + size[nearest] * distances[nearest]) / both
        size[last] = both
        active[nearest] = False
        distances[nearest] = distances[:, nearest] = np.inf
        distances[last] = distances[:, last] = row
        distances[last, last] = distances[last, nearest] = distances[nearest, last] = np.inf
    roots = [_root(parent, point) for point in range(n)]
    numbers = {root: number for number, root in enumerate(dict.fromkeys(roots))}
    return np.array([numbers[root] for root in roots], np.intp)


def _follow(distances: NDArray[np.float32], chain: list[int]) -> tuple[int, float]:
    """Grow the chain until its two last points are nearest to each other; returns the one before.

    Ties go to the point before, or a chain might never end.
    """
    while True:
        last = chain[-1]
        row = distances[last]
        nearest = int(np.argmin(row))
        if len(chain) > 1 and row[chain[-2]] <= row[nearest]:
            return chain[-2], float(row[chain[-2]])
        chain.append(nearest)


def _root(parent: NDArray[np.intp], point: int) -> int:
    while parent[point] != point:
        parent[point] = parent[parent[point]]
        point = int(parent[point])
    return point
