"""Estimates with their intervals, latency, hit rates: a window in numbers."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from rag_monitor.aggregation.comparison import compare, sentence
from rag_monitor.aggregation.latencies import LatencySummary
from rag_monitor.domain.window import Estimate
from rag_monitor.metrics.routing import Confusion
from rag_monitor.server.schemas.values import Hints, Wire, finite


class EstimateOut(Wire):
    """A metric over a window, with the interval that says how far to trust it."""

    metric: str
    judge: str = Field(examples=["combined"])
    release: str | None
    knowledge_base: str | None = Field(description="null: all traces.")
    start: datetime
    end: datetime
    value: float | None = Field(description="null when nothing was scored.")
    lower: float | None = Field(description="null when the interval is withheld; see `notes`.")
    upper: float | None
    confidence: float
    traces: int = Field(description="Of metrics of sessions: the sessions that ended.")
    judged: int
    rests_on: str | None = Field(
        description="Identity of the judge whose scores these are; null: nothing was scored."
    )
    labelled: int
    judge_bias: float | None = Field(
        description="People minus judge, on traces drawn for people; null: too few labels."
    )
    judge_bias_se: float | None
    failed: int
    shed: int = Field(description="Those of `failed` that the budget did not allow to judge.")
    suspect: int
    effective: float | None
    design_effect: float = Field(
        description="How many times the variance is what it would be if traces of a session had "
        "nothing to do with one another; `effective` and the interval allow for it."
    )
    notes: list[str]

    @classmethod
    def from_domain(cls, estimate: Estimate) -> EstimateOut:
        """The estimate as it goes out."""
        return cls(
            metric=estimate.series.metric,
            judge=estimate.series.judge,
            release=estimate.series.release,
            knowledge_base=estimate.series.knowledge_base,
            start=estimate.window.start,
            end=estimate.window.end,
            value=finite(estimate.value),
            lower=finite(estimate.lower),
            upper=finite(estimate.upper),
            confidence=estimate.confidence,
            traces=estimate.traces,
            judged=estimate.judged,
            rests_on=estimate.rests_on or None,
            labelled=estimate.labelled,
            judge_bias=finite(estimate.judge_bias),
            judge_bias_se=finite(estimate.judge_bias_se),
            failed=estimate.failed,
            shed=estimate.shed,
            suspect=estimate.suspect,
            effective=finite(estimate.effective),
            design_effect=estimate.design_effect,
            notes=list(estimate.notes),
        )


class ReleaseChange(Wire):
    """One metric of one release against another."""

    metric: str
    value: float | None = Field(description="First minus second; null when not scored in both.")
    lower: float | None = Field(description="null where the two bear no comparison; see `notes`.")
    upper: float | None
    notes: list[str]
    sentence: str = Field(
        examples=["faithfulness, v42 against v41: −3.1 points, 95% interval −4.8 to −1.4"]
    )
    first: EstimateOut
    second: EstimateOut

    @classmethod
    def from_domain(cls, first: Estimate, second: Estimate) -> ReleaseChange:
        """The comparison as it goes out."""
        change = compare(first, second)
        return cls(
            metric=first.series.metric,
            value=finite(change.value),
            lower=finite(change.lower),
            upper=finite(change.upper),
            notes=list(change.notes),
            sentence=sentence(first, second, change),
            first=EstimateOut.from_domain(first),
            second=EstimateOut.from_domain(second),
        )


class ReleaseChanges(Wire):
    """Every metric that was scored in either release."""

    app: str
    changes: list[ReleaseChange]


class KnowledgeBaseOut(Wire):
    """The traces that one knowledge base gave passages to."""

    name: str = Field(examples=["loans"])
    metrics: list[EstimateOut]


class LatencyEnds(Wire):
    """The 95 % interval of a percentile. An end is null where so few traces have none there."""

    lower: float | None
    upper: float | None = Field(
        description="null: the traces cannot tell how slow it may be; a p99 takes 368 of them."
    )


class LatencyIntervals(Wire):
    """Of each percentile, distribution-free."""

    p50: LatencyEnds
    p90: LatencyEnds
    p99: LatencyEnds


class LatencyOut(Wire):
    """Latency in milliseconds."""

    metric: str = Field(examples=["end_to_end_ms"])
    count: int
    p50: float | None
    p90: float | None
    p99: float | None
    mean: float | None
    intervals: LatencyIntervals

    @classmethod
    def from_domain(cls, metric: str, summary: LatencySummary) -> LatencyOut:
        """The summary as it goes out."""
        return cls(
            metric=metric,
            count=summary.count,
            p50=finite(summary.p50),
            p90=finite(summary.p90),
            p99=finite(summary.p99),
            mean=finite(summary.mean),
            intervals=LatencyIntervals(
                p50=_ends(summary, 0.5), p90=_ends(summary, 0.9), p99=_ends(summary, 0.99)
            ),
        )


def _ends(summary: LatencySummary, share: float) -> LatencyEnds:
    lower, upper = summary.interval(share)
    return LatencyEnds(lower=finite(lower), upper=finite(upper))


class HitRateOut(Wire):
    """How often something was hit, among all traces or among those that expected it."""

    kind: str
    name: str
    basis: str = Field(examples=["all", "expected"])
    value: float | None
    lower: float | None
    upper: float | None
    traces: int

    @classmethod
    def from_domain(cls, kind: str, name: str, basis: str, estimate: Estimate) -> HitRateOut:
        """The hit rate as it goes out."""
        return cls(
            kind=kind,
            name=name,
            basis=basis,
            value=finite(estimate.value),
            lower=finite(estimate.lower),
            upper=finite(estimate.upper),
            traces=estimate.judged,
        )


class RoutingOut(Wire):
    """Routing to one name against its labels."""

    kind: str
    name: str
    tp: int
    fp: int
    tn: int
    fn: int
    precision: float | None
    recall: float | None
    false_positive_rate: float | None
    false_negative_rate: float | None
    f1: float | None
    accuracy: float | None

    @classmethod
    def from_domain(cls, row: Confusion) -> RoutingOut:
        """The row as it goes out."""
        return cls(
            kind=row.kind.value,
            name=row.name,
            tp=row.tp,
            fp=row.fp,
            tn=row.tn,
            fn=row.fn,
            precision=finite(row.precision),
            recall=finite(row.recall),
            false_positive_rate=finite(row.false_positive_rate),
            false_negative_rate=finite(row.false_negative_rate),
            f1=finite(row.f1),
            accuracy=finite(row.accuracy),
        )


class JudgeShareOut(Wire):
    """How many of an app's traces one judge has judged."""

    judge: str = Field(description="Its identity.")
    judged: int
    share: float = Field(description="Of all traces of the app in the window.")


class AppOut(Wire):
    """One application over the window."""

    app: str
    last_seen: datetime | None = Field(
        description="When the newest of its traces before `end` began, of `release` if given; "
        "null: there is none."
    )
    traces: dict[str, int] = Field(description="By status.", examples=[{"ok": 120, "error": 2}])
    judges: list[JudgeShareOut] = Field(
        description="Which judge covers which share, the busiest first."
    )
    metrics: list[EstimateOut]
    sessions: list[EstimateOut] = Field(
        description="Means over the sessions that ended in the window; `traces` and `judged` count "
        "sessions."
    )
    latency: list[LatencyOut]
    hit_rates: list[HitRateOut]
    knowledge_bases: list[KnowledgeBaseOut] = Field(
        description="The same metrics where a knowledge base gave passages; at most 20."
    )
    routing: list[RoutingOut]
    open_alerts: int | None = Field(
        description="Firing at `end`. null with `release`: alerts are about the whole app."
    )


class AssemblingOut(Wire):
    """Traces of the project that were acknowledged and are not part of any number yet.

    Nobody knows yet which app or release they are of: no filter applies to them.
    """

    traces: int = Field(description="Those that wait for more of their spans are among them.")
    oldest_s: float = Field(description="How long the first of them has been due, in seconds.")


class Summary(Wire):
    """Every application over one window."""

    start: datetime = Field(
        description="Numbers are kept minute by minute: of those that begin from `start` on, "
        "before `end`."
    )
    end: datetime
    assembling: AssemblingOut
    apps: list[AppOut]
    next: str | None = Field(description="`cursor` of the next page; null on the last one.")
    apps_folded: int = Field(description="Apps on later pages, less busy than these.")
    hints: Hints


class SeriesOut(Wire):
    """A metric over time: one estimate per step."""

    app: str
    metric: str
    judge: str
    release: str | None
    knowledge_base: str | None
    step_s: float
    points: list[EstimateOut]
    hints: Hints
