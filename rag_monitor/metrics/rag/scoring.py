"""From one judgement to the scores of all wanted metrics of a trace.

Never sees the store, the clock or the sampling rate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement
from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import JudgeError, UnknownMetric
from rag_monitor.metrics.rag.answer import (
    CONCISENESS_SHARE,
    answer_relevance,
    answer_relevancy,
    answer_supported,
    faithfulness,
    refusal,
    summary_score,
)
from rag_monitor.metrics.rag.citations import (
    citation_precision,
    citation_recall,
    citation_validity,
)
from rag_monitor.metrics.rag.outcome import Outcome
from rag_monitor.metrics.rag.passages import (
    context_precision,
    context_recall,
    context_relevance,
    context_sufficiency,
    context_utilization,
)
from rag_monitor.redaction.redactor import presentable


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """What can be set of the formulas."""

    conciseness_share: float = CONCISENESS_SHARE
    """c of `summary_score`, 0 to 1; with 0 its length does not count."""


DEFAULT_SCORING: Final = ScoringOptions()
Formula = Callable[[Trace, Judgement, ScoringOptions], Outcome]


@dataclass(frozen=True, slots=True)
class _Metric:
    """How a metric is computed and what it must ask a judge."""

    compute: Formula
    aspects: frozenset[Aspect]


def _fixed(compute: Callable[[Trace, Judgement], Outcome]) -> Formula:
    """A formula with nothing to set."""
    return lambda trace, judgement, _: compute(trace, judgement)


def _summary(trace: Trace, judgement: Judgement, options: ScoringOptions) -> Outcome:
    return summary_score(trace, judgement, options.conciseness_share)


_METRICS: Final[Mapping[str, _Metric]] = {
    "faithfulness": _Metric(_fixed(faithfulness), frozenset({Aspect.SUPPORT})),
    "answer_supported": _Metric(_fixed(answer_supported), frozenset({Aspect.ANSWER_SUPPORTED})),
    "answer_relevance": _Metric(_fixed(answer_relevance), frozenset({Aspect.GRADE})),
    "answer_relevancy": _Metric(
        _fixed(answer_relevancy), frozenset({Aspect.QUESTION_SIMILARITY, Aspect.NONCOMMITTAL})
    ),
    "context_relevance": _Metric(_fixed(context_relevance), frozenset({Aspect.RELEVANCE})),
    "context_sufficiency": _Metric(_fixed(context_sufficiency), frozenset({Aspect.SUFFICIENCY})),
    "context_precision": _Metric(_fixed(context_precision), frozenset({Aspect.USEFULNESS})),
    "context_utilization": _Metric(_fixed(context_utilization), frozenset({Aspect.USE})),
    "context_recall": _Metric(_fixed(context_recall), frozenset({Aspect.COVERAGE})),
    "citation_precision": _Metric(_fixed(citation_precision), frozenset({Aspect.CITATION})),
    "citation_recall": _Metric(_fixed(citation_recall), frozenset({Aspect.CITED_SUPPORT})),
    "citation_validity": _Metric(_fixed(citation_validity), frozenset()),
    REFUSAL_METRIC: _Metric(_fixed(refusal), frozenset({Aspect.NONCOMMITTAL})),
    "summary_score": _Metric(_summary, frozenset({Aspect.SUMMARY_QUESTION})),
}

METRICS: Final = tuple(_METRICS)
"""Every metric that needs nothing but the trace and a judge."""

LIVE_METRICS: Final = tuple(name for name in METRICS if name != "summary_score")
"""What is asked of live traffic by default; `summary_score` is for applications that summarise."""

BAD_BELOW: Final[Mapping[str, float]] = MappingProxyType(
    {
        "faithfulness": 0.8,
        "answer_supported": 0.5,
        "answer_relevance": 0.5,
        "answer_relevancy": 0.5,
        "context_relevance": 0.5,
        "context_sufficiency": 0.5,
        "context_precision": 0.5,
        "context_utilization": 0.5,
        "context_recall": 0.5,
        "citation_precision": 0.5,
        "citation_recall": 0.5,
        "citation_validity": 1.0,
        "summary_score": 0.5,
    }
)
"""A score below this is a bad one for burn-rate, objective and sequential rules."""


def aspects_for(metrics: Collection[str]) -> frozenset[Aspect]:
    """The union of what `metrics` ask of a judge.

    Raises:
        UnknownMetric: One of the names is not a live metric.
    """
    return frozenset(aspect for name in metrics for aspect in _metric(name).aspects)


def is_bad(score: Score) -> bool:
    """Whether a scored value counts as bad; `answer_supported` knows by its own threshold."""
    if score.value is None:
        return False
    if score.flagged is not None:
        return score.flagged
    return score.value < BAD_BELOW.get(score.metric, 0.0)


def score_trace(
    trace: Trace,
    judgement: Judgement,
    metrics: Sequence[str],
    created_at: datetime | None = None,
    options: ScoringOptions = DEFAULT_SCORING,
) -> list[Score]:
    """One score per metric, in the order asked; a judge's silence becomes a status, never a 0.

    Raises:
        UnknownMetric: One of the names is not a live metric.
    """
    return [
        _stamp(name, _metric(name).compute(trace, judgement, options), judgement, created_at)
        for name in metrics
    ]


def failed_scores(
    metrics: Sequence[str],
    error: Exception,
    identity: JudgeIdentity,
    created_at: datetime | None = None,
) -> list[Score]:
    """The scores of a trace whose judge failed altogether: all failed, with reason and sentence."""
    reason = error.reason if isinstance(error, JudgeError) else JudgeError.reason
    detail = sentence_of(error)
    return [
        Score(
            metric=name,
            status=ScoreStatus.FAILED,
            reason=reason,
            detail=detail,
            judge=identity,
            created_at=created_at,
        )
        for name in metrics
    ]


def sentence_of(error: Exception) -> str:
    """What an error says, fit to be stored and shown; its type where it is not a judge's own."""
    message = str(error) if isinstance(error, JudgeError) else f"{type(error).__name__}: {error}"
    return presentable(message)


def _metric(name: str) -> _Metric:
    try:
        return _METRICS[name]
    except KeyError:
        names = ", ".join(_METRICS)
        raise UnknownMetric(
            "there is no live metric {name!r}; known are {names}", name=name, names=names
        ) from None


def _stamp(name: str, outcome: Outcome, judgement: Judgement, created_at: datetime | None) -> Score:
    suspect = judgement.suspect is not None and outcome.status is ScoreStatus.SCORED
    return Score(
        metric=name,
        status=ScoreStatus.SUSPECT if suspect else outcome.status,
        value=outcome.value,
        reason=judgement.suspect if suspect else outcome.reason,
        flagged=outcome.flagged,
        judge=judgement.identity,
        verdicts=outcome.verdicts,
        created_at=created_at,
        inferred=outcome.inferred,
        detail=_detail(name, judgement) if outcome.status is ScoreStatus.FAILED else None,
    )


def _detail(name: str, judgement: Judgement) -> str | None:
    aspects = sorted(_metric(name).aspects & judgement.details.keys())
    return judgement.details[aspects[0]] if aspects else None
