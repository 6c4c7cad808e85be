"""Per-minute sums that make every dashboard query independent of how many traces there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Final

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.score import Score
from rag_monitor.domain.trace import Trace
from rag_monitor.domain.window import Window

LATENCY_BUCKETS_S: Final = tuple(0.01 * 2**n for n in range(14))
"""Upper bounds in seconds, 0.01 to 81.92; one more bucket is open (DESIGN, "Prometheus")."""
SCORE_BUCKETS: Final = tuple(n / 20 for n in range(1, 21))
"""Upper bounds of the score histogram."""

TRACES_METRIC: Final = "traces"
"""`dimension` is the trace status; `count` the traces."""
HIT_RATE_METRIC: Final = "hit_rate"
"""`dimension` is `kind:name:basis`; `count` the denominator, `total` the hits."""
ROUTING_METRIC: Final = "routing"
"""`dimension` is `kind:name:tp|fp|tn|fn`; `count` the traces."""
LATENCY_METRICS: Final = ("first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms")
"""Values in milliseconds, histogram over `LATENCY_BUCKETS_S`."""
LATE_MOMENT: Final = "late"
"""Further sum of `TRACES_METRIC`: traces that arrived long after they began."""
LATE_AFTER: Final = timedelta(hours=1)
"""A trace that arrives so long after it began is history, not a sign that the app is sending."""
CLUSTER_BUCKETS: Final = 64
"""Buckets that sessions are dealt to by a hash: how much alike their traces are is told from sums
per bucket, which are as many however many sessions there are."""
REFUSAL_METRIC: Final = "refusal_rate"
"""`count` the answers, `total` those that decline."""
SATISFACTION_METRIC: Final = "satisfaction_rate"
"""`count` the answers that users rated, `total` those that satisfied them; no judge."""


def is_history(started_at: datetime, received_at: datetime) -> bool:
    """Whether a trace arrived so long after it began that it was imported."""
    return received_at - started_at > LATE_AFTER


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupKey:
    """What one rollup row counts."""

    project: str
    app: str
    metric: str
    minute: datetime
    """Start of the minute of `Trace.started_at`, aware UTC."""
    release: str = ""
    """Empty when the application sends none."""
    judge: str = ""
    """`str(JudgeIdentity)`; empty for what needs no judge."""
    dimension: str = ""
    arrived: date | None = None
    """UTC day on which these traces arrived, as far as it matters: sums of the traces of one day
    outlive them. None: of any day, as of all sums that are read back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupQuery:
    """Which rollups to read; what is None or empty does not filter."""

    project: str
    window: Window
    """The minutes that begin in it."""
    app: str | None = None
    metric: str | None = None
    release: str | None = None
    judge: str | None = None
    apps: tuple[str, ...] = ()
    """In place of `app`: any of these, read together."""
    metrics: tuple[str, ...] = ()
    """In place of `metric`: any of these."""

    def wants(self, key: RollupKey) -> bool:
        """Whether a row of any minute is asked for."""
        return (
            key.project == self.project
            and (self.app is None or key.app == self.app)
            and (self.metric is None or key.metric == self.metric)
            and (self.release is None or key.release == self.release)
            and (self.judge is None or key.judge == self.judge)
            and (not self.apps or key.app in self.apps)
            and (not self.metrics or key.metric in self.metrics)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollup:
    """Sums over the traces of one key. Two rollups of different minutes add up field by field."""

    key: RollupKey
    count: int = 0
    """Values that entered `total` (for scores: those with status scored)."""
    total: float = 0.0
    squares: float = 0.0
    bad: int = 0
    """Scored values below the metric's `bad_below`."""
    failed: int = 0
    not_applicable: int = 0
    suspect: int = 0
    histogram: tuple[int, ...] = ()
    weight: float = 0.0
    """Sum of 1/π over scored traces."""
    weighted_total: float = 0.0
    weight_squares: float = 0.0
    weighted_squares: float = 0.0
    """Sum of value²/π over scored traces."""
    moments: dict[str, float] = field(default_factory=dict)
    """Further sums an estimator needs (difference estimator: sums over pairs of judges)."""
    clusters: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """By quantity: one sum per bucket of `CLUSTER_BUCKETS`; empty where no session is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFacts:
    """A trace with its current scores: what rollups are made of."""

    trace: Trace
    """Texts and passages may be left out (None) when loaded for rollups."""
    scores: tuple[Score, ...] = ()
    probabilities: dict[str, float] = field(default_factory=dict)
    """π by judge name; `PEOPLE` is among them where people were asked to label the trace."""
    labels: Mapping[str, float] = field(default_factory=dict)
    """What people say, by metric."""
    faults: Mapping[str, Mapping[Fault, float]] = field(default_factory=dict)
    """The probability of each fault, by the identity of the judge as text."""
    received_at: datetime | None = None
    """When the trace arrived; None: unknown, taken as live."""
    day: date | None = None
    """The UTC day by which the trace is kept: that of its first evidence. None: unknown."""
