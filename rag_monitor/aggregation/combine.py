"""One estimate from the sums of a window: which judge, which estimator, which interval.

Source: reference/statistics.md 3.2 and 4.3. One judge on every trace: the mean. A judge on a
designed sample: Hajek. A judge on a sample beside a proxy, the judge of every trace: the difference
estimator as a ratio; as a mean in minutes written before the sums of the ratio were kept.
Enough labels of people correct either by the judge's bias against them (3.3).
The interval is the effective-count Wilson. Judges, and variants of one judge, are never mixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.totals import Totals, sum_of
from rag_monitor.domain.fault import is_share_at_fault
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.domain.session_outcome import SESSION_TURNS
from rag_monitor.metrics.rag import BAD_BELOW
from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect, clustered_wilson
from rag_monitor.statistics.difference import DifferenceSums, LabelSums, RatioSums
from rag_monitor.statistics.moments import (
    MeanEstimate,
    hajek_from_sums,
    mean_from_sums,
    t_interval,
)

FEW_POSITIVES: Final = 10
"""Below this many judged of either class an interval is flagged `few_positives`."""
FAILED_SHARE: Final = 0.1
"""Above this share of failed judgements an estimate is flagged `judge_failures`."""

FEW_CLUSTERS: Final = 5
"""Below this many degrees of freedom (sessions less one) an interval is flagged `few_sessions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Whose scores an estimate rests on."""

    judge: str
    totals: Totals
    proxy: str | None = None
    """The judge of every trace, whose scores stand in where this one saw nothing."""
    proxy_totals: Totals | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """What the sums of one window say."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    judged: int = 0
    failed: int = 0
    shed: int = 0
    suspect: int = 0
    effective: float = 0.0
    design: DesignEffect = INDEPENDENT
    labelled: int = 0
    correcting: int = 0
    """Those of `labelled` that were drawn for people."""
    bias: MeanEstimate | None = None
    """The judge's bias against people, where there are enough labels."""
    notes: tuple[str, ...] = ()


def choose(requested: str, by_judge: Mapping[str, Totals]) -> Choice:
    """Which judge answers for `requested`.

    A judge identity answers for itself. `combined` is the judge with the most scores, a
    proxy only where no other has any; the proxy with the most pairs stands in for the rest.
    """
    if requested != keys.COMBINED:
        return Choice(judge=requested, totals=by_judge.get(requested, Totals()))
    proxies = {judge: sums for judge, sums in by_judge.items() if is_embedded(judge)}
    sampled = {judge: sums for judge, sums in by_judge.items() if judge not in proxies}
    scored = {judge: sums for judge, sums in sampled.items() if sums.count}
    pool = scored or proxies or sampled
    if not pool:
        return Choice(judge="", totals=Totals())
    judge = _fullest(pool)
    notes = ("several_judges",) if len(pool) > 1 else ()
    if judge in proxies:
        notes = (*notes, "embedded_uncorrected")
        if any(_failed(sums) for sums in sampled.values()):
            notes = (*notes, "judge_failures")
        return Choice(judge=judge, totals=pool[judge], notes=notes)
    return _with_proxy(Choice(judge=judge, totals=pool[judge], notes=notes), proxies)


def called_judges(requested: str, by_judge: Mapping[str, Totals]) -> Totals:
    """The sums of every judge that was called: of `requested`, whatever it answered.

    `combined` are all judges but the proxies, unless those are all there is. A judge that always
    fails has no scores for an estimate to rest on, and is the one to alert on.
    """
    if requested != keys.COMBINED:
        return by_judge.get(requested, Totals())
    sampled = [sums for judge, sums in by_judge.items() if not is_embedded(judge)]
    if any(sums.count or sums.failed or sums.suspect or sums.not_applicable for sums in sampled):
        return sum_of(sampled)
    return sum_of(by_judge.values())


def _failed(sums: Totals) -> float:
    """Failures of the judge's own; what the budget did not allow was never sent."""
    return sums.failed - sums.moment(keys.SHED)


def _with_proxy(choice: Choice, proxies: Mapping[str, Totals]) -> Choice:
    pairs = {name: choice.totals.moment(keys.pair("n", name)) for name in proxies}
    best = max(pairs, key=lambda name: (pairs[name], name), default=None)
    if best is None or not pairs[best] or choice.totals.count == choice.totals.weight:
        return choice
    # A variant that stood in for part of the window leaves judged traces without its score: the
    # pairs would then correct only part of the traffic.
    if pairs[best] < choice.totals.count:
        return replace(choice, notes=(*choice.notes, "cheap_incomplete"))
    return replace(choice, proxy=best, proxy_totals=proxies[best])


def _fullest(pool: Mapping[str, Totals]) -> str:
    return max(pool, key=lambda judge: (pool[judge].count, judge))


@dataclass(frozen=True, slots=True)
class Point:
    """The estimate of the sums of a window, before its interval."""

    mean: MeanEstimate
    """With the standard error of independent traces."""
    size: float
    """What the interval counts as draws: labels where people correct the judge, for then the
    estimate is only as sure as they are many."""
    sums: DifferenceSums | RatioSums | None = None
    """Of the difference estimate, where it is one."""
    labels: LabelSums | None = None
    """Of the correction by people, where there is one."""


def point_of(choice: Choice, lam: float, min_labelled: int | None = None) -> Point:
    """The estimate of sums that hold a score.

    Args:
        choice: From `choose`.
        lam: Trust in the proxy score, from the window before.
        min_labelled: With so many labels on traces drawn for people they correct the judge; None:
            never.
    """
    totals, sums = choice.totals, None
    if choice.proxy is not None and choice.proxy_totals is not None:
        sums = totals.difference_sums(choice.proxy, choice.proxy_totals)
        if sums is not None and sums.n < 2:
            sums = None
    mean = _mean(totals, sums, lam)
    labels = totals.label_sums(choice.proxy or "")
    if min_labelled is None or labels.n < max(2, min_labelled):
        return Point(mean, float(totals.count), sums)
    return Point(_corrected(totals.weight, sums, mean, labels, lam), labels.n, sums, labels)


def _mean(totals: Totals, sums: DifferenceSums | RatioSums | None, lam: float) -> MeanEstimate:
    if sums is not None:
        estimate = sums.estimate(lam)
        return MeanEstimate(estimate.value, estimate.se)
    if totals.weight == totals.count:  # every trace had probability 1
        return mean_from_sums(totals.count, totals.total, totals.squares)
    return hajek_from_sums(
        totals.count,
        totals.weight,
        totals.weighted_total,
        totals.weight_squares,
        totals.moment(keys.W2_TOTAL),
        totals.moment(keys.W2_SQUARES),
    )


def _corrected(
    weight: float,
    sums: DifferenceSums | RatioSums | None,
    point: MeanEstimate,
    labels: LabelSums,
    lam: float,
) -> MeanEstimate:
    if isinstance(sums, RatioSums):
        mean, answered = sums.proxy_mean, sums.answered
        return labels.corrected(point, weight, lam=lam, proxy_mean=mean, answered=answered)
    if sums is not None:
        return labels.corrected(point, weight, traces=sums.n, lam=lam)
    return labels.corrected(point, weight)


def combine(
    choice: Choice,
    metric: str,
    *,
    min_judged: int,
    min_labelled: int | None = None,
    confidence: float = 0.95,
    lam: float = 1.0,
    design: DesignEffect = INDEPENDENT,
) -> Combined:
    """The estimate of one window.

    Args:
        choice: From `choose`.
        metric: Name of the metric.
        min_judged: Fewer scored traces than this: the interval is withheld.
        min_labelled: With so many labels on traces drawn for people they correct the judge; None:
            never.
        confidence: Two-sided level.
        lam: Trust in the proxy score, from the window before.
        design: What the dependence of traces of a session adds (`aggregation.dependence`).
    """
    totals = choice.totals
    base = Combined(
        judged=totals.count,
        failed=totals.failed,
        shed=int(totals.moment(keys.SHED)),
        suspect=totals.suspect,
        labelled=_labelled(choice),
        correcting=int(totals.moment(keys.label("n"))),
    )
    notes = [*choice.notes, *_notes(totals, metric, min_judged)]
    if not totals.count:
        return replace(base, notes=tuple(notes))
    if metric == SESSION_TURNS:
        return _mean_of_turns(replace(base, notes=tuple(notes)), totals, min_judged, confidence)
    point = point_of(choice, lam, min_labelled)
    if point.labels is not None:
        base = replace(base, bias=point.labels.bias())
        notes = [note for note in notes if note != "embedded_uncorrected"] + [keys.CORRECTED]
    mean = point.mean
    result = replace(base, value=min(1.0, max(0.0, mean.value)), notes=tuple(notes))
    if totals.count < min_judged or "incomplete" in notes:
        return result
    if design.degrees < FEW_CLUSTERS:
        notes.append("few_sessions")
    interval = clustered_wilson(mean.value, mean.se, point.size, design, confidence)
    lower, upper = _worst_case(
        choice, metric, mean, interval.lower, interval.upper, design, confidence
    )
    return replace(
        result,
        lower=lower,
        upper=upper,
        effective=interval.effective,
        design=design,
        notes=tuple(notes),
    )


def _mean_of_turns(base: Combined, totals: Totals, min_judged: int, confidence: float) -> Combined:
    """A mean of counts, which has no upper end, with Student's interval."""
    mean = mean_from_sums(totals.count, totals.total, totals.squares)
    if totals.count < min_judged:
        return replace(base, value=mean.value)
    interval = t_interval(mean, totals.count, confidence)
    return replace(
        base,
        value=mean.value,
        lower=max(1.0, interval.lower),
        upper=interval.upper,
        effective=float(totals.count),
    )


def tuned_lam(choice: Choice, earlier: Mapping[str, Totals], min_judged: int) -> float:
    """How far to trust the proxy of a choice, from the sums of the window before, by judge.

    A lam that looked at the labels which it is used on would bias the estimate and make its
    interval too narrow.
    """
    judged, proxy = earlier.get(choice.judge), earlier.get(choice.proxy or "")
    if judged is None or proxy is None or judged.count < min_judged:
        return 1.0
    # For the form that this window will have: each form has a lam of its own. Any lam leaves the
    # estimate unbiased, so that what was missing in the window before does not matter.
    present = choice.totals.difference_sums(choice.proxy or "", choice.proxy_totals or proxy)
    ratio = isinstance(present, RatioSums)
    sums = judged.difference_sums(choice.proxy or "", proxy, ratio=ratio)
    return 1.0 if sums is None else sums.tuned_lam()


def _notes(totals: Totals, metric: str, min_judged: int) -> list[str]:
    notes: list[str] = []
    if totals.moment(keys.SHED):
        notes.append("incomplete")
    if totals.count < min_judged:
        notes.append("few_judged")
    elif metric in BAD_BELOW and min(totals.bad, totals.count - totals.bad) < FEW_POSITIVES:
        notes.append("few_positives")
    if totals.failed > FAILED_SHARE * (totals.count + totals.failed):
        notes.append("judge_failures")
    return notes


def _labelled(choice: Choice) -> int:
    """Traces with a label: the proxy has seen those too that the other has not."""
    everyone = choice.proxy_totals or choice.totals
    return int(max(everyone.moment(keys.HUMAN_LABELLED), choice.totals.moment(keys.HUMAN_LABELLED)))


def _worst_case(
    choice: Choice,
    metric: str,
    point: MeanEstimate,
    lower: float,
    upper: float,
    design: DesignEffect,
    confidence: float,
) -> tuple[float, float]:
    """Suspect traces count as the worst case in the bound on the bad side."""
    totals = choice.totals
    if not totals.suspect:
        return lower, upper
    weight = totals.moment(keys.SUSPECT_WEIGHT)
    worst = 1.0 if metric == REFUSAL_METRIC or is_share_at_fault(metric) else 0.0
    share = weight / (weight + totals.weight)
    mean = (1.0 - share) * point.value + share * worst
    # The suspects spread around the mixed mean like one more stratum.
    count = totals.count + totals.suspect
    between = share * (1.0 - share) * (point.value - worst) ** 2
    se = (((1.0 - share) * point.se) ** 2 + between / count) ** 0.5
    mixed = clustered_wilson(mean, se, count, design, confidence)
    if worst == 1.0:
        return lower, max(upper, mixed.upper)
    return min(lower, mixed.lower), upper


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """How judging went in a window, whatever the scores."""

    scored: int = 0
    failed: int = 0
    not_applicable: int = 0
    suspect: int = 0
    bad: int = 0
    shed: int = 0

    @property
    def attempted(self) -> int:
        """Judgements that should have given a value."""
        return self.scored + self.failed + self.suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class BadCount:
    """Judged and bad traces of a stretch of time, for burn-rate and sequential rules."""

    judge: str = ""
    """Whose scores were counted: ask for it by name where several stretches must not be mixed."""
    judged: int = 0
    bad: int = 0
    effective_judged: float = 0.0
    """Judged traces after unequal sampling (Kish) and the dependence of traces of a session."""
    effective_bad: float = 0.0
    """Estimated bad share times `effective_judged`."""
    design: DesignEffect = INDEPENDENT
    """What that dependence adds; its degrees of freedom are not in `effective_judged` yet."""
    classes: Mapping[float, tuple[int, int]] = field(default_factory=dict)
    """Sampling probability to (judged, bad): what weighted detectors need."""

    @property
    def weights(self) -> tuple[float, float]:
        """Bad and judged traces, each counted once per trace that it was drawn for."""
        bad = sum(bad / probability for probability, (_, bad) in self.classes.items())
        judged = sum(count / probability for probability, (count, _) in self.classes.items())
        return bad, judged

    def worth(self, confidence: float) -> tuple[float, float]:
        """Bad and judged traces, as so many independent ones, for a bound at a two-sided level."""
        if not self.effective_judged:
            return 0.0, 0.0
        judged = self.design.at_level(self.effective_judged, confidence)
        return min(1.0, self.effective_bad / self.effective_judged) * judged, judged


def bad_count(totals: Totals, judge: str = "", design: DesignEffect = INDEPENDENT) -> BadCount:
    """Judged and bad traces of one judge, by sampling probability.

    Args:
        totals: Its sums.
        judge: Its identity.
        design: What the dependence of traces of a session adds.
    """
    if not totals.count:
        return BadCount(judge=judge)
    classes: dict[float, tuple[int, int]] = {}
    for name, judged in totals.moments.items():
        probability = keys.probability_of(name)
        if probability is not None:
            classes[probability] = (int(judged), int(totals.moment(keys.bad_at(probability))))
    judged = totals.count - sum(n for n, _ in classes.values())
    if judged:
        classes[1.0] = (judged, totals.bad - sum(bad for _, bad in classes.values()))
    effective = totals.weight**2 / totals.weight_squares / design.value
    share = totals.moment(keys.WEIGHTED_BAD) / totals.weight
    return BadCount(
        judge=judge,
        judged=totals.count,
        bad=totals.bad,
        effective_judged=effective,
        effective_bad=min(effective, share * effective),
        design=design,
        classes=classes,
    )
