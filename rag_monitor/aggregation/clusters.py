"""Traces that stand or fall together: which cluster a trace is of, and sums per bucket of clusters.

A cluster is a session; where no session is known, a user. Beside them a single trace is a cluster
of its own. `statistics.clusters` says what the buckets are for. Of a session rollups keep which of
64 buckets it falls in, nothing more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.rollup import CLUSTER_BUCKETS
from rag_monitor.domain.trace import Trace
from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect, Sizes, design_effect
from rag_monitor.statistics.difference import LabelSums, RatioSums
from rag_monitor.statistics.moments import MeanEstimate, mean_from_sums


def cluster_of(trace: Trace) -> str | None:
    """The session of a trace, else its user; None: neither is known, it stands alone."""
    if trace.session_id:
        return f"session\0{trace.session_id}"
    return f"user\0{trace.user_id}" if trace.user_id else None


def bucket_of(trace: Trace) -> int:
    """The bucket of its cluster, or of itself where it stands alone."""
    return _bucket(cluster_of(trace) or f"trace\0{trace.trace_id}")


@lru_cache(maxsize=4096)
def _bucket(name: str) -> int:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % CLUSTER_BUCKETS


_NONE: Final = (0.0,) * CLUSTER_BUCKETS


def per_bucket(totals: Totals, quantity: str, proxy: str = "") -> Sequence[float]:
    """The sums of one quantity, by bucket; 0 where none were kept."""
    return totals.clusters.get(keys.cluster(quantity, proxy), _NONE)


def score_sizes(totals: Totals, proxy_totals: Totals | None = None) -> Sizes:
    """Of what a judge scored; beside a proxy of all traces, from which pairs are counted better."""
    if proxy_totals is None or not proxy_totals.count:
        squares = totals.weight_squares
        return Sizes(
            buckets=per_bucket(totals, "r"),
            weight=totals.weight,
            squares=squares,
            judged_squares=squares,
        )
    traces = float(proxy_totals.count)
    scale = traces / totals.weight if totals.weight else 0.0
    return Sizes(
        buckets=per_bucket(proxy_totals, "r"),
        weight=traces,
        squares=traces,
        judged_squares=totals.weight_squares * scale * scale,
    )


def mean_influence(totals: Totals, mean: float) -> list[float]:
    """What each bucket adds to a (Hajek) mean: sum w (y - mean), over sum w."""
    pairs = zip(per_bucket(totals, "y"), per_bucket(totals, "r"), strict=True)
    return [(y - mean * r) / totals.weight for y, r in pairs]


def ratio_influence(
    totals: Totals, proxy: str, proxy_totals: Totals, sums: RatioSums, value: float, lam: float
) -> list[float]:
    """What each bucket adds to the ratio form: its sum of w_i / A (`statistics.difference`)."""
    own = mean_influence(totals, value)
    mean, c = sums.proxy_mean, sums.answered
    columns = zip(
        own,
        per_bucket(totals, "r"),
        per_bucket(totals, "o", proxy),
        per_bucket(totals, "f", proxy),
        per_bucket(proxy_totals, "r"),
        per_bucket(proxy_totals, "y"),
        strict=True,
    )
    return [
        u - lam * (f - mean * (r + o) - c * (all_f - mean * n)) / sums.r
        for u, r, o, f, n, all_f in columns
    ]


def plain_influence(
    totals: Totals, proxy: str, proxy_totals: Totals, value: float, lam: float
) -> list[float]:
    """What each bucket adds to mean(D)."""
    traces = proxy_totals.count
    columns = zip(
        per_bucket(totals, "y"),
        per_bucket(totals, "f", proxy),
        per_bucket(proxy_totals, "r"),
        per_bucket(proxy_totals, "y"),
        strict=True,
    )
    return [(y - lam * (f - all_f) - value * n) / traces for y, f, n, all_f in columns]


def label_influence(totals: Totals, labels: LabelSums) -> list[float]:
    """What each bucket adds to the judge's bias against people."""
    bias = labels.rd / labels.r
    pairs = zip(per_bucket(totals, "d"), per_bucket(totals, "h"), strict=True)
    return [(d - bias * h) / labels.r for d, h in pairs]


def latency_design(totals: Totals, over: Totals) -> DesignEffect:
    """The design effect of the mean logarithm of a latency, from a stretch that holds the window.

    Quantiles go by it: whether a trace is above one depends on its session less than how slow it
    is, so that their intervals are rather too wide.
    """
    count = float(over.count)
    places = [
        (index, n)
        for name, n in over.moments.items()
        if (index := keys.latency_index(name)) is not None
    ]
    if count < 2.0 or sum(n for _, n in places) != count:
        return INDEPENDENT
    mean = mean_from_sums(count, sum(i * n for i, n in places), sum(i * i * n for i, n in places))
    influence = _influence_of_count(over, mean, count)
    return design_effect(influence, mean.se**2, count_sizes(over), count_sizes(totals))


def _influence_of_count(totals: Totals, mean: MeanEstimate, count: float) -> Sequence[float]:
    pairs = zip(per_bucket(totals, "y"), per_bucket(totals, "r"), strict=True)
    return [(y - mean.value * r) / count for y, r in pairs]


def count_sizes(totals: Totals) -> Sizes:
    """Of traces that count one each."""
    count = float(totals.count)
    return Sizes(buckets=per_bucket(totals, "r"), weight=count, squares=count, judged_squares=count)
