"""What a simulation reports: one bar a row, and how much it simulates."""

from __future__ import annotations

from dataclasses import dataclass

Row = dict[str, object]


@dataclass(frozen=True)
class Size:
    """How much is simulated."""

    quick: bool
    glide_python: str | None = None
    """The Python of an environment with glide-py."""

    def of(self, full: int, quick: int) -> int:
        """The number of runs of this version."""
        return quick if self.quick else full


def row(bar: str, observed: float, limit: float, *, at_least: bool, noise: float = 0.0) -> Row:
    """One bar; `noise` is the one-sided 95% Monte Carlo allowance."""
    holds = observed >= limit - noise if at_least else observed <= limit + noise
    return {
        "bar": bar,
        "observed": round(observed, 5),
        "limit": limit,
        "at_least": at_least,
        "monte_carlo_allowance": round(noise, 5),
        "holds": holds,
    }
