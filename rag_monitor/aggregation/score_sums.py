"""What the scores of a trace add to the sums of a minute, with its proxies and labels. Pure.

Counts and weights are the same whatever the values are. What depends on values is in the functions
that end in `_terms`: each is 0 where all values that it is given are 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.label_eligibility import corrects_judge
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.rollup import SCORE_BUCKETS, TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.errors import BudgetExhausted
from rag_monitor.metrics.rag import is_bad

Row = tuple[str, str, str]
"""Metric, judge and dimension."""
Table = dict[Row, Totals]
Terms = Sequence[tuple[str, float]]
"""Quantities, and what is added to each."""


def add_scores(table: Table, fact: TraceFacts, bucket: int | None) -> None:
    """Add every score of a trace to the row of its metric and judge.

    Args:
        table: Makes rows that are missing.
        fact: The trace.
        bucket: Of its cluster; None: buckets are not kept.
    """
    for score in fact.scores:
        judge = str(score.judge) if score.judge is not None else ""
        sums = table[score.metric, judge, ""]
        name = score.judge.name if score.judge is not None else ""
        probability = fact.probabilities.get(name, 1.0)
        _add_score(sums, score, probability, bucket)
        if score.status is not ScoreStatus.SCORED:
            _add_unscored(sums, score, probability, fact.scores, bucket)
        if score.status is ScoreStatus.SCORED and score.value is not None:
            _add_pairs(sums, score, probability, fact.scores, bucket)
            label = fact.labels.get(score.metric)
            if label is not None:
                sums.add_moment(keys.HUMAN_LABELLED, 1)
                if corrects_judge(score, fact.probabilities):
                    _add_label(sums, score, label, probability, fact.scores, bucket)


def label_terms(r: float, verdict: float, d: float) -> Terms:
    """Of `keys.label`: a judge's verdict of weight r, and what people add to it."""
    return (
        ("rd", r * d),
        ("rrd", r * r * d),
        ("rrdd", r * r * d * d),
        ("rrj", r * r * verdict),
        ("rrjd", r * r * verdict * d),
    )


def proxy_label_terms(r: float, f: float, d: float) -> Terms:
    """Of `keys.label` with a proxy: its value beside what people add to another's."""
    return (
        ("f", (r * r - r) * f),
        ("fd", (r * r - r) * f * d),
        ("rf", r * f),
        ("rfd", r * f * d),
    )


def pair_terms(r: float, verdict: float, f: float) -> Terms:
    """Of `keys.pair`: a judge's verdict of weight r beside the proxy's value."""
    corrected = r * verdict
    return (
        ("rf", r * f),
        ("rj", corrected),
        ("rj2", corrected * corrected),
        ("ff", f * f * ((r - 1.0) ** 2 - 1.0)),
        ("jf", corrected * f * (r - 1.0)),
        # What the ratio form needs beside these where other verdicts are missing.
        ("rrf", r * r * f),
        ("rff", r * f * f),
        ("rrjf", r * corrected * f),
    )


def outside_terms(r: float, f: float) -> Terms:
    """Of `keys.pair`: the proxy's value of a draw that is outside the metric."""
    return (
        ("out_rf", r * f),
        ("out_rrf", r * r * f),
        ("out_rff", r * f * f),
        ("out_rrff", r * r * f * f),
    )


def proxies_of(score: Score, scores: Iterable[Score]) -> Iterator[Score]:
    """The proxies' scores beside another judge's; none beside their own."""
    if score.judge is None or is_embedded(score.judge.name):
        return
    for other in scores:
        if (
            other.metric == score.metric
            and other.status is ScoreStatus.SCORED
            and other.value is not None
            and other.judge is not None
            and is_embedded(other.judge.name)
        ):
            yield other


def _add_score(sums: Totals, score: Score, probability: float, bucket: int | None) -> None:
    weight = 1.0 / probability
    if score.status is ScoreStatus.FAILED:
        sums.failed += 1
        if score.reason == BudgetExhausted.reason:
            sums.add_moment(keys.SHED, 1)
    elif score.status is ScoreStatus.NOT_APPLICABLE:
        sums.not_applicable += 1
    elif score.status is ScoreStatus.SUSPECT:
        sums.suspect += 1
        sums.add_moment(keys.SUSPECT_WEIGHT, weight)
        sums.add_moment(keys.SUSPECT_WEIGHT_SQUARES, weight * weight)
    elif score.value is not None:
        _add_value(sums, score, score.value, probability)
        sums.add_weight(bucket, weight, weight * score.value)


def _add_value(sums: Totals, score: Score, value: float, probability: float) -> None:
    weight = 1.0 / probability
    bad = is_bad(score)
    sums.add_value(value, SCORE_BUCKETS)
    sums.bad += bad
    sums.weight += weight
    sums.weighted_total += weight * value
    sums.weight_squares += weight * weight
    sums.weighted_squares += weight * value * value
    sums.add_moment(keys.W2_TOTAL, weight * weight * value)
    sums.add_moment(keys.W2_SQUARES, (weight * value) ** 2)
    sums.add_moment(keys.WEIGHTED_BAD, weight * bad)
    if probability < 1.0:
        sums.add_moment(keys.judged_at(probability), 1)
        sums.add_moment(keys.bad_at(probability), bad)


def _add_label(
    sums: Totals,
    score: Score,
    label: float,
    probability: float,
    scores: Iterable[Score],
    bucket: int | None,
) -> None:
    """Sums of the correction by people: their label beside this judge's value."""
    verdict = score.value or 0.0
    r, d = 1.0 / probability, label - verdict
    counts = (("n", 1.0), ("r", r), ("rr", r * r))
    for name, value in (*counts, *label_terms(r, verdict, d)):
        sums.add_moment(keys.label(name), value)
    if bucket is not None:
        sums.add_to_bucket("h", bucket, r)
        sums.add_to_bucket("d", bucket, r * d)
    for proxy in proxies_of(score, scores):
        for name, value in proxy_label_terms(r, proxy.value or 0.0, d):
            sums.add_moment(keys.label(name, str(proxy.judge)), value)


def _add_pairs(
    sums: Totals,
    score: Score,
    probability: float,
    scores: Iterable[Score],
    bucket: int | None,
) -> None:
    """Sums of the difference estimate: this judge's value beside the proxy's."""
    ratio = 1.0 / probability
    for other in proxies_of(score, scores):
        proxy, f = str(other.judge), other.value or 0.0
        counts = (("n", 1.0), ("r", ratio))
        for name, value in (*counts, *pair_terms(ratio, score.value or 0.0, f)):
            sums.add_moment(keys.pair(name, proxy), value)
        if bucket is not None:
            sums.add_to_bucket(keys.cluster("f", proxy), bucket, ratio * f)


def _add_unscored(
    sums: Totals,
    score: Score,
    probability: float,
    scores: Iterable[Score],
    bucket: int | None,
) -> None:
    """Sums of the difference estimate: draws on which this judge gave no score.

    A failure could have been any trace and only counts. What is not applicable, or suspect, is
    outside the traces that the estimate speaks of, and is taken out by its proxy score.
    """
    if score.judge is None or is_embedded(score.judge.name):
        return
    sums.add_moment(keys.UNSCORED, 1)
    r = 1.0 / probability
    for other in proxies_of(score, scores):
        proxy, f = str(other.judge), other.value or 0.0
        sums.add_moment(keys.pair("x", proxy), 1)
        if score.status is ScoreStatus.FAILED:
            continue
        counts = (("out_r", r), ("out_rr", r * r))
        for name, value in (*counts, *outside_terms(r, f)):
            sums.add_moment(keys.pair(name, proxy), value)
        if bucket is not None:
            sums.add_to_bucket(keys.cluster("o", proxy), bucket, r)
            sums.add_to_bucket(keys.cluster("f", proxy), bucket, r * f)
