"""Two numbers side by side: what changed from one to the other, and whether chance may have.

Of many numbers that did not change some look as if they had. What is shown together is therefore
tested together (Benjamini and Hochberg): of the changes that are marked one in twenty is chance on
average, however many were looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rag_monitor.aggregation.comparison import Difference, compare, on_one_judge
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.server.ports import EstimateSource
from rag_monitor.statistics.comparison import p_from_interval
from rag_monitor.statistics.multiplicity import benjamini_hochberg
from rag_monitor.statistics.wilson import Interval, wilson_interval

MIN_JUDGED: Final = 20
"""Fewer scored traces than this on either side bear no comparison."""
ERRORS: Final = "error_share"
_SMALLER_IS_BETTER: Final = frozenset({REFUSAL_METRIC, ERRORS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A number here and there."""

    metric: str
    name: str = ""
    """Of what was hit; empty for a metric."""
    a: Estimate
    b: Estimate
    change: Difference
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
        return "better" if (change.value > 0) != (self.metric in _SMALLER_IS_BETTER) else "worse"

    @property
    def digits(self) -> int:
        """As many as it takes to see that the interval leaves zero out."""
        ends = (self.change.lower, self.change.upper)
        hidden = any(end is not None and abs(end) < 0.005 for end in ends)
        return 3 if hidden and self.change.beyond_chance else 2


def together(found: Sequence[Changed]) -> list[Changed]:
    """The same in their order, each judged among all that bear a comparison."""
    bearing = {index: p for index, one in enumerate(found) if (p := _p_value(one)) is not None}
    told = dict(zip(bearing, benjamini_hochberg(list(bearing.values())).rejected, strict=True))
    return [
        replace(one, among=len(bearing), stands_out=told.get(index, False))
        for index, one in enumerate(found)
    ]


def _p_value(one: Changed) -> float | None:
    """Of no change; None where the two do not bear a comparison."""
    change = one.change
    if change.value is None or change.lower is None or change.upper is None:
        return None
    return p_from_interval(change.value, Interval(change.lower, change.upper), one.a.confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What is held against something else: an app, or a release of it, over a window."""

    window: Window
    release: str | None = None

    def estimate(self, source: EstimateSource, project: str, app: str, metric: str) -> Estimate:
        """A metric of it."""
        series = Series(
            project=project, app=app, metric=metric, judge=COMBINED, release=self.release
        )
        return source.estimate(series, self.window, min_judged=MIN_JUDGED)


def of_metric(
    source: EstimateSource, project: str, app: str, metric: str, a: Side, b: Side
) -> Changed | None:
    """A metric of both, by one judge where they rest on different ones; None: neither has one."""
    first, second = (side.estimate(source, project, app, metric) for side in (a, b))
    if first.value is None and second.value is None:
        return None
    first, second = on_one_judge(source, first, second, min_judged=MIN_JUDGED)
    return Changed(metric=metric, a=first, b=second, change=compare(first, second))


def of_errors(
    source: EstimateSource, project: str, app: str, a: Window, b: Window
) -> Changed | None:
    """The share of traces that failed."""
    first, second = (
        _share(project, app, window, source.traces(project, app, window)) for window in (a, b)
    )
    if first.value is None and second.value is None:
        return None
    return Changed(metric=ERRORS, a=first, b=second, change=compare(first, second))


def of_hits(source: EstimateSource, project: str, app: str, a: Window, b: Window) -> list[Changed]:
    """How often each thing was hit, where it was expected if anybody said so."""
    names = dict.fromkeys(
        name for window in (a, b) for name in source.hit_names(project, app, window)
    )
    found = []
    for kind, name in names:
        for basis in ("expected", "all"):
            first, second = (
                source.hit_rate(project, app, kind, name, basis, window) for window in (a, b)
            )
            if first.value is None and second.value is None:
                continue
            change = compare(first, second)
            found.append(
                Changed(
                    metric=kind, name=name, a=first, b=second, change=change,
                    judged=basis == "expected",
                )
            )  # fmt: skip
            break
    return found


def _share(project: str, app: str, window: Window, counts: Mapping[str, int]) -> Estimate:
    total, failed = sum(counts.values()), counts.get("error", 0)
    series = Series(project=project, app=app, metric=ERRORS, judge="")
    ends = wilson_interval(failed, total) if total else None
    return Estimate(
        series=series,
        window=window,
        value=failed / total if total else None,
        lower=ends.lower if ends and total >= MIN_JUDGED else None,
        upper=ends.upper if ends and total >= MIN_JUDGED else None,
        traces=total,
        judged=total,
    )
