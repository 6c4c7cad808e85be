"""Two numbers side by side: what changed from one to the other, and whether chance may have.

Of many numbers that did not change some look as if they had. What is shown together is therefore
tested together (Benjamini and Hochberg): of the changes that are marked one in twenty is chance on
average, however many were looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rag_monitor.aggregation.comparison import Difference, compare, on_one_judge
from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.aggregation.latencies import LatencySummary
from rag_monitor.domain.fault import FAULT_METRICS, is_share_at_fault
from rag_monitor.domain.rollup import LATENCY_METRICS, REFUSAL_METRIC
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.session_outcome import (
    ABANDONED_RATE,
    COMPLAINT_RATE,
    REPEATED_QUESTION_RATE,
    SESSION_METRICS,
    SESSION_TURNS,
)
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.metrics.names import ERROR_SHARE
from rag_monitor.server.quality import MIN_COMPARED
from rag_monitor.statistics.comparison import benjamini_hochberg, p_from_interval
from rag_monitor.statistics.wilson import Interval

SMALLER_IS_BETTER: Final = frozenset(
    {
        REFUSAL_METRIC,
        ERROR_SHARE,
        *LATENCY_METRICS,
        *filter(is_share_at_fault, FAULT_METRICS),
        REPEATED_QUESTION_RATE,
        COMPLAINT_RATE,
        ABANDONED_RATE,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A number before and after."""

    metric: str
    name: str = ""
    """Of what was hit; empty for a metric."""
    quantile: float | None = None
    """Which quantile of a latency, in milliseconds; None: it is none."""
    before: Estimate
    after: Estimate
    change: Difference
    """After minus before."""
    judged: bool = True
    """Whether a more is a better or a worse; a share of all traffic is neither."""
    among: int = 1
    """So many numbers were compared together."""
    stands_out: bool = True
    """Whether it is beyond chance among them, too."""

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `other`, `same`, or why there is none.

        `among`: beyond chance alone, but not among so many; `judges`; `unknown`.
        """
        change = self.change
        if "different_judges" in change.notes:
            return "judges"
        if change.value is None or change.lower is None:
            return "unknown"
        if not change.beyond_chance:
            return "same"
        if not self.stands_out:
            return "among"
        if not self.judged:
            return "other"
        return "better" if (change.value > 0) != (self.metric in SMALLER_IS_BETTER) else "worse"

    @property
    def digits(self) -> int:
        """As many as it takes to see that the interval leaves zero out."""
        ends = (self.change.lower, self.change.upper)
        hidden = any(end is not None and abs(end) < 0.005 for end in ends)
        return 3 if hidden and self.change.beyond_chance else 2


def together(rows: Sequence[Changed]) -> list[Changed]:
    """The same in their order, each judged among all that bear a comparison."""
    bearing = {index: p for index, one in enumerate(rows) if (p := _p_value(one)) is not None}
    rejected = dict(zip(bearing, benjamini_hochberg(list(bearing.values())).rejected, strict=True))
    return [
        replace(one, among=len(bearing), stands_out=rejected.get(index, False))
        for index, one in enumerate(rows)
    ]


def _p_value(one: Changed) -> float | None:
    """Of no change; None where the two do not bear a comparison."""
    change = one.change
    if change.value is None or change.lower is None or change.upper is None:
        return None
    return p_from_interval(change.value, Interval(change.lower, change.upper), one.after.confidence)


def of_metric(
    source: Estimates, metric: str, before: Selection, after: Selection
) -> Changed | None:
    """A metric of both, by one judge where they rest on different ones; None: neither has one."""
    first, second = (
        source.estimate(side.series(metric, COMBINED), side.window, min_judged=MIN_COMPARED)
        for side in (before, after)
    )
    if first.value is None and second.value is None:
        return None
    first, second = on_one_judge(source, first, second, min_judged=MIN_COMPARED)
    return _changed(metric, first, second)


def of_metrics(
    source: Estimates, metrics: Sequence[str], before: Selection, after: Selection
) -> dict[str, Changed]:
    """Those metrics that either has, by name, each judged among all."""
    rows = (of_metric(source, metric, before, after) for metric in metrics)
    return {row.metric: row for row in together([row for row in rows if row is not None])}


def of_faults(source: Estimates, before: Selection, after: Selection) -> list[Changed]:
    """The share of each fault that either side has, and of no fault."""
    rows = (of_metric(source, metric, before, after) for metric in FAULT_METRICS)
    return [
        row
        for row in rows
        if row is not None
        if row.before.value or row.after.value or not is_share_at_fault(row.metric)
    ]


def of_sessions(source: Estimates, before: Selection, after: Selection) -> list[Changed]:
    """The metrics of sessions; more turns are neither better nor worse."""
    rows = (of_metric(source, metric, before, after) for metric in SESSION_METRICS)
    return [replace(row, judged=row.metric != SESSION_TURNS) for row in rows if row is not None]


def of_errors(source: Estimates, before: Selection, after: Selection) -> Changed | None:
    """The share of traces that failed."""
    first, second = (_share(source, side) for side in (before, after))
    if first.value is None and second.value is None:
        return None
    return _changed(ERROR_SHARE, first, second)


def of_hits(source: Estimates, before: Selection, after: Selection) -> list[Changed]:
    """How often each thing was hit, where it was expected if anybody said so."""
    names = dict.fromkeys(name for side in (after, before) for name in source.hit_names(side))
    rows = []
    for kind, name in names:
        for basis in ("expected", "all"):
            first, second = (source.hit_rate(side, kind, name, basis) for side in (before, after))
            if first.value is None and second.value is None:
                continue
            changed = _changed(kind, first, second)
            rows.append(replace(changed, name=name, judged=basis == "expected"))
            break
    return rows


def of_latencies(
    source: Estimates,
    metrics: Sequence[str],
    quantiles: Sequence[float],
    before: Selection,
    after: Selection,
) -> list[Changed]:
    """Quantiles of the latencies that both have, in milliseconds."""
    rows = []
    for metric in metrics:
        summaries = [(side, source.latency(side, metric)) for side in (before, after)]
        if not all(summary.count for _, summary in summaries):
            continue
        for quantile in quantiles:
            first, second = (
                _quantile(summary, quantile, side.series(metric), side.window)
                for side, summary in summaries
            )
            rows.append(replace(_changed(metric, first, second), quantile=quantile))
    return rows


def _changed(metric: str, before: Estimate, after: Estimate) -> Changed:
    return Changed(metric=metric, before=before, after=after, change=compare(after, before))


def _quantile(summary: LatencySummary, quantile: float, series: Series, window: Window) -> Estimate:
    lower, upper = summary.interval(quantile)
    return Estimate(
        series=series,
        window=window,
        value=summary.quantile(quantile),
        lower=lower,
        upper=upper,
        traces=summary.count,
        judged=summary.count,
    )


def _share(source: Estimates, selection: Selection) -> Estimate:
    share = source.status_share(selection, TraceStatus.ERROR)
    enough = share.traces >= MIN_COMPARED
    return replace(
        share,
        series=selection.series(ERROR_SHARE),
        lower=share.lower if enough else None,
        upper=share.upper if enough else None,
    )
