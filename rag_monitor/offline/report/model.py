"""The content of a report: plain values, ready for JSON and for every way of showing them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rag_monitor.statistics.reliability import Reliability


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number with its 95 % interval."""

    value: float
    lower: float | None = None
    upper: float | None = None
    n: int = 0
    """Rows behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Percentiles of a timing, milliseconds."""

    p50: float
    p90: float
    p99: float
    n: int
    """Rows that have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """How the values of a metric are spread."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReport:
    """One metric over all rows."""

    name: str
    family: str
    """`judge`, `text`, `model`, `ranking` or `latency`."""
    mean: float | None
    """None when no row has a value."""
    lower: float | None
    upper: float | None
    scored: int
    not_applicable: int
    failed: int
    suspect: int
    reasons: Mapping[str, int]
    """Why rows have no value, most frequent first."""
    smallest: float | None
    largest: float | None
    histogram: Histogram | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRates:
    """One name of a confusion matrix against the rest; None where the denominator is 0."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusions:
    """Labels against predictions."""

    title: str
    """`classification`, `faithfulness`, `plugin`, `knowledge_base` or `workflow`."""
    rows: int
    labels: tuple[str, ...]
    matrix: tuple[tuple[int, ...], ...] | None
    """`matrix[true][predicted]`; None for routing, where several names may be right at once."""
    rates: tuple[LabelRates, ...]
    averages: Mapping[str, Figure]
    """`accuracy`, `macro_f1`, `micro_f1` …"""
    left_out: int = 0
    """Names beyond the number a report shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReport:
    """The rows of one app, data set, language or model."""

    name: str
    rows: int
    means: Mapping[str, Figure]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetReport:
    """A target of the chosen profile."""

    metric: str
    bound: str
    value: float | None
    met: bool | None
    """None: not measured."""
    missing_share: float = 0.0
    """Of the rows that should have a score, how many have none; 0 to 1."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """Rows by why they have none, most frequent first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A piece of an answer."""

    text: str
    probability: float | None = None
    """P(supported) of the statement it belongs to; None between statements."""
    reason: str | None = None

    @property
    def unsupported(self) -> bool:
        """Whether its statement is more likely unsupported than not."""
        return self.probability is not None and self.probability < 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstRow:
    """One of the rows with the lowest value."""

    id: str
    value: float
    question: str | None
    answer: tuple[Stretch, ...]
    passages: tuple[str, ...]
    reference: str | None
    scores: Mapping[str, float]
    faithful: bool | None = None
    cut: bool = False
    """Texts were shortened for the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything one evaluation found."""

    file: str
    created_at: str
    version: str
    judge: str | None
    rows: int
    failed_rows: int
    flagged: int | None
    """Rows flagged as unsupported; None where `answer_supported` was not measured."""
    seconds: float
    metrics: tuple[MetricReport, ...]
    corpus: Mapping[str, Figure] = field(default_factory=dict)
    """Figures that are no means: corpus BLEU, token-weighted perplexity."""
    latencies: Mapping[str, Latency] = field(default_factory=dict)
    """Percentiles by the name of the timing."""
    confusions: tuple[Confusions, ...] = ()
    hit_rates: Mapping[str, Figure] = field(default_factory=dict)
    """`kind/name/basis` to the rate, `kind/basis` of any name."""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """Everything that a target can name, by that name."""
    reported: Mapping[str, Figure] = field(default_factory=dict)
    """Means of the scores of other tools that the file brings; their scales are not known."""
    reliability: Reliability | None = None
    groups: Mapping[str, tuple[GroupReport, ...]] = field(default_factory=dict)
    profile: str | None = None
    profile_titles: Mapping[str, str] = field(default_factory=dict)
    targets: tuple[TargetReport, ...] = ()
    worst_by: str | None = None
    worst: tuple[WorstRow, ...] = ()
    errors: tuple[str, ...] = ()
    """The first rows that failed, with their reason."""
    unread_passages: int = 0
    """Passages that were left out because they cannot be read."""
    unread: tuple[str, ...] = ()
    """The first of them, with their rows."""
    notes: tuple[str, ...] = ()
    """What a reader must know about how it was measured."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON; metrics become an object by name."""
        content = asdict(self)
        content["metrics"] = {metric.pop("name"): metric for metric in content["metrics"]}
        return content
