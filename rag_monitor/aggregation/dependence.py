"""The design effect of a window's estimate, from the sums per bucket of a stretch that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rag_monitor.aggregation import clusters
from rag_monitor.aggregation.clusters import score_sizes
from rag_monitor.aggregation.combine import Choice, Point, point_of
from rag_monitor.aggregation.totals import Totals
from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect, design_effect
from rag_monitor.statistics.difference import RatioSums


def score_share(totals: Totals) -> float:
    """Part of the scored traces whose cluster is kept; 0: none is known to be of a session."""
    return score_sizes(totals).share


def same_judges(choice: Choice, by_judge: Mapping[str, Totals]) -> Choice:
    """The sums of other traces by the judge and the proxy of a choice."""
    proxy = by_judge.get(choice.proxy) if choice.proxy is not None else None
    return replace(choice, totals=by_judge.get(choice.judge, Totals()), proxy_totals=proxy)


def design_of(
    window: Choice, over: Choice, *, lam: float = 1.0, min_labelled: int | None = None
) -> DesignEffect:
    """What the dependence of traces of one session adds to the variance of an estimate.

    Args:
        window: Sums of the window.
        over: Sums of the stretch, of the same judge and proxy.
        lam: Of the window's estimate.
        min_labelled: As in `combine`, for the window; the stretch is corrected when the window is.
    """
    if over.totals.count < 2 or not window.totals.count:
        return INDEPENDENT
    stretch_sizes = score_sizes(over.totals, over.proxy_totals)
    if not stretch_sizes.share:
        return INDEPENDENT
    labelled = window.totals.label_sums().n
    corrected = min_labelled is not None and labelled >= max(2, min_labelled)
    point = point_of(over, lam, 2 if corrected else None)
    variance = point.mean.se**2
    if point.labels is not None:
        variance -= point.labels.unseen
    return design_effect(
        _influence(over, point, lam),
        variance,
        stretch_sizes,
        None if over is window else score_sizes(window.totals, window.proxy_totals),
    )


def _influence(choice: Choice, point: Point, lam: float) -> list[float]:
    """What each bucket adds to the estimate."""
    totals, labels = choice.totals, point.labels
    value = point.mean.value
    if labels is not None:
        value -= labels.bias().value
    proxy, proxy_totals, sums = choice.proxy, choice.proxy_totals, point.sums
    if sums is None or proxy is None or proxy_totals is None:
        judged = clusters.mean_influence(totals, value)
    elif isinstance(sums, RatioSums):
        judged = clusters.ratio_influence(totals, proxy, proxy_totals, sums, value, lam)
    else:
        judged = clusters.plain_influence(totals, proxy, proxy_totals, value, lam)
    if labels is None:
        return judged
    people = clusters.label_influence(totals, labels)
    return [a + b for a, b in zip(judged, people, strict=True)]
