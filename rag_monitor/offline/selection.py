"""Which metrics an evaluation computes: those named, else all that the rows have labels for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.trace import Expected
from rag_monitor.errors import ConfigurationError, UnknownMetric
from rag_monitor.installation import install_command
from rag_monitor.metrics.rag import METRICS
from rag_monitor.metrics.targets import Profile
from rag_monitor.metrics.text.suite import TEXT_METRICS
from rag_monitor.offline import figures
from rag_monitor.offline.dataset import DatasetRow
from rag_monitor.offline.latency_scores import LATENCY_METRICS, percentile_names
from rag_monitor.offline.model_scores import ENCODER_METRICS, PERPLEXITY_METRIC
from rag_monitor.offline.reference_judging import REFERENCE_JUDGED
from rag_monitor.offline.reference_scores import ENTITY_METRIC, RANKING_METRICS
from rag_monitor.spelling import did_you_mean

DEFAULT_TEXT: Final = (
    "bleu_1",
    "bleu_4",
    "rouge_1",
    "rouge_2",
    "rouge_l",
    "meteor",
    "exact_match",
    "token_f1",
    "character_f1",
)
"""Text metrics of rows with a reference when none are named."""

UNBOUNDED: Final = frozenset({PERPLEXITY_METRIC, *LATENCY_METRICS})
"""Metrics that do not lie between 0 and 1."""

SMALLER_IS_BETTER: Final = UNBOUNDED | {
    "refusal_rate", "noise_sensitivity", "noise_sensitivity_irrelevant",
}  # fmt: skip
"""Metrics whose rise is a loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What the first rows of a file carry."""

    texts: bool = False
    """Questions or answers: something to judge."""
    reference: bool = False
    ranking: bool = False
    labels: bool = False
    """Classes, hits or what should have been hit: counted whatever else is computed."""
    latency: tuple[str, ...] = ()
    """Timings that are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The metrics of one evaluation, by who computes them."""

    judge: tuple[str, ...] = ()
    reference_judge: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    ranking: tuple[str, ...] = ()
    encoder: tuple[str, ...] = ()
    perplexity: bool = False
    entities: bool = False
    latency: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of columns."""
        return (
            *self.judge,
            *self.reference_judge,
            *self.text,
            *self.encoder,
            *((PERPLEXITY_METRIC,) if self.perplexity else ()),
            *((ENTITY_METRIC,) if self.entities else ()),
            *self.ranking,
            *self.latency,
        )

    @property
    def needs_judge(self) -> bool:
        """Whether any of them asks a judge."""
        return bool(self.judge or self.reference_judge)


ALL_METRICS: Final = Selection(
    judge=METRICS,
    reference_judge=REFERENCE_JUDGED,
    text=TEXT_METRICS,
    ranking=tuple(RANKING_METRICS),
    encoder=ENCODER_METRICS,
    perplexity=True,
    entities=True,
    latency=LATENCY_METRICS,
).names
"""Every name that can be asked for."""


def check_targets_exist(profile: Profile) -> None:
    """Refuse a target for a metric that there is not: it would be unmeasured and never missed.

    Raises:
        UnknownMetric: With the nearest name.
    """
    corpus = (f"corpus_{name}" for name in (*TEXT_METRICS, PERPLEXITY_METRIC))
    names = (*ALL_METRICS, *corpus, *percentile_names(), *figures.AVERAGES, *figures.RATES)
    for target in profile.targets:
        if target.metric.split("/")[0] == figures.HIT_RATE and not figures.is_figure(target.metric):
            raise UnknownMetric(
                "target profile {profile}: {metric!r} is no hit rate; write it as {form}",
                profile=profile.name,
                metric=target.metric,
                form=figures.HIT_RATE_FORM,
            )
        if target.metric not in names and not figures.is_figure(target.metric):
            raise UnknownMetric(
                "target profile {profile}: there is no metric {metric!r}{meant}",
                profile=profile.name,
                metric=target.metric,
                meant=did_you_mean(target.metric, names),
            )


def features_of(rows: Iterable[DatasetRow]) -> Features:
    """What any of `rows` carries."""
    texts = reference = ranking = labels = False
    timed: set[str] = set()
    for trace in (row.trace for row in rows if row.trace is not None):
        texts = texts or trace.question is not None or trace.answer is not None
        timed |= {name for name in LATENCY_METRICS if getattr(trace.timings, name) is not None}
        labels = labels or bool(trace.hits)
        expected = trace.expected
        if expected is not None:
            reference = reference or bool(expected.references and trace.answer is not None)
            ranking = ranking or bool(expected.relevant_ids or expected.context_labels)
            labels = labels or _has_labels(expected)
    return Features(
        texts=texts,
        reference=reference,
        ranking=ranking,
        labels=labels,
        latency=tuple(name for name in LATENCY_METRICS if name in timed),
    )


def _has_labels(expected: Expected) -> bool:
    routed = any(expected.names(kind) is not None for kind in HitKind)
    return routed or expected.label is not None or expected.predicted is not None


def choose(
    names: Sequence[str] | None,
    features: Features,
    judge_metrics: Sequence[str],
    *,
    encoder: bool = False,
    perplexity: bool = False,
    targets: Sequence[str] = (),
    installed: Callable[[str], bool] = lambda library: find_spec(library) is not None,
) -> Selection:
    """The metrics to compute.

    Args:
        names: What was asked for; None: everything the rows, the judge and the models allow.
        features: What the rows carry.
        judge_metrics: What the judge can answer; empty without a judge.
        encoder: An encoder was given.
        perplexity: A language model was given.
        targets: What should be reached: computed where the rows have what it needs.
        installed: Whether a library is there.

    Raises:
        UnknownMetric: A name is none of ours.
        ConfigurationError: A name needs a model that was not given, or a library that is missing.
    """
    if names is None:
        wanted = [name.removeprefix("corpus_") for name in targets]
        requested = (*DEFAULT_TEXT, *(name for name in _of(wanted, TEXT_METRICS)))
        text = tuple(name for name in dict.fromkeys(requested) if installed(_library(name)))
        return Selection(
            judge=tuple(judge_metrics) if features.texts else (),
            text=text if features.reference else (),
            ranking=tuple(RANKING_METRICS) if features.ranking else (),
            encoder=ENCODER_METRICS if encoder and features.reference else (),
            perplexity=perplexity,
            entities=ENTITY_METRIC in wanted and features.reference,
            latency=features.latency,
        )
    for name in names:
        _check(name, encoder=encoder, perplexity=perplexity)
        if name in TEXT_METRICS and not installed(_library(name)):
            raise ConfigurationError(
                "{name} needs {library}: {command}",
                name=name,
                library=_library(name),
                command=install_command("metrics"),
            )
    return Selection(
        judge=_of(names, METRICS),
        reference_judge=_of(names, REFERENCE_JUDGED),
        text=_of(names, TEXT_METRICS),
        ranking=_of(names, RANKING_METRICS),
        encoder=_of(names, ENCODER_METRICS),
        perplexity=PERPLEXITY_METRIC in names,
        entities=ENTITY_METRIC in names,
        latency=_of(names, LATENCY_METRICS),
    )


def _library(name: str) -> str:
    """What must be installed for a text metric; all of them cut Chinese with jieba."""
    if name.startswith("bleu_"):
        return "sacrebleu"
    return "nltk" if name == "meteor" else "jieba"


def _of(names: Sequence[str], family: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name in family)


def _check(name: str, *, encoder: bool, perplexity: bool) -> None:
    if name not in ALL_METRICS:
        raise UnknownMetric(
            "there is no metric {name!r}{meant}; there are {names}",
            name=name,
            meant=did_you_mean(name, ALL_METRICS),
            names=", ".join(ALL_METRICS),
        )
    if name in ENCODER_METRICS and not encoder:
        raise ConfigurationError(
            "{name} needs an encoder: add --bertscore-model NAME-OR-FOLDER", name=name
        )
    if name == PERPLEXITY_METRIC and not perplexity:
        raise ConfigurationError(
            "perplexity needs a language model: add --perplexity-model NAME-OR-FOLDER"
        )


def needs_judge(names: Sequence[str] | None) -> bool:
    """Whether any of the names, or the default, asks a judge."""
    return names is None or any(name in METRICS or name in REFERENCE_JUDGED for name in names)
