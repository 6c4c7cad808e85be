"""Latencies and routing of a window as the server shows them: what an estimate source returns."""

from __future__ import annotations

from typing import Protocol

from rag_monitor.domain.hit import HitKind


class LatencySummary(Protocol):
    """Latency of a window, in milliseconds."""

    @property
    def count(self) -> int:
        """Traces with this timing."""
        ...

    @property
    def p50(self) -> float | None:
        """Median."""
        ...

    @property
    def p90(self) -> float | None:
        """90th percentile."""
        ...

    @property
    def p99(self) -> float | None:
        """99th percentile."""
        ...

    @property
    def mean(self) -> float | None:
        """Arithmetic mean."""
        ...

    def interval(self, share: float, /) -> tuple[float | None, float | None]:
        """Both ends of the 95% interval of a quantile (0 to 1); None: it has no such end."""
        ...


class RoutingConfusion(Protocol):
    """How routing to one name compares with its labels."""

    @property
    def kind(self) -> HitKind:
        """What kind of thing."""
        ...

    @property
    def name(self) -> str:
        """Which one."""
        ...

    @property
    def tp(self) -> int:
        """Expected and hit."""
        ...

    @property
    def fp(self) -> int:
        """Hit although not expected."""
        ...

    @property
    def tn(self) -> int:
        """Neither."""
        ...

    @property
    def fn(self) -> int:
        """Expected and not hit."""
        ...

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP)."""
        ...

    @property
    def recall(self) -> float | None:
        """TP / (TP + FN)."""
        ...

    @property
    def f1(self) -> float | None:
        """2 TP / (2 TP + FP + FN)."""
        ...

    @property
    def false_positive_rate(self) -> float | None:
        """FP / (FP + TN)."""
        ...

    @property
    def false_negative_rate(self) -> float | None:
        """FN / (FN + TP)."""
        ...

    @property
    def accuracy(self) -> float | None:
        """(TP + TN) / all; misleads when one class is rare."""
        ...
