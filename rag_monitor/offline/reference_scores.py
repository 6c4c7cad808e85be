"""Scores that need a reference and no judge: texts (on several cores), rankings, entities."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final, Self

from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import NotApplicable
from rag_monitor.metrics.rag import passages_of
from rag_monitor.metrics.ranking import RankingScores, rank_scores
from rag_monitor.metrics.text.bleu import BleuCounts, bleu_counts
from rag_monitor.metrics.text.suite import TextOptions, score_text

Pair = tuple[str | None, tuple[str, ...]]
Number = float | str
"""A value, or the reason why there is none (`failed:` in front: it should have had one)."""

_FAILED: Final = "failed:"

RANKING_METRICS: Final[Mapping[str, Callable[[RankingScores], float]]] = {
    "retrieval_precision": lambda s: s.precision,
    "retrieval_recall": lambda s: s.recall,
    "retrieval_f1": lambda s: s.f1,
    "average_precision": lambda s: s.average_precision,
    "ndcg": lambda s: s.ndcg,
    "reciprocal_rank": lambda s: s.reciprocal_rank,
    "retrieval_hit": lambda s: s.hit,
}
"""Names of the ranking scores of one row; their means are MAP, MRR and so on."""

_NEEDS_ALL: Final = frozenset({"retrieval_recall", "retrieval_f1"})
ENTITY_METRIC: Final = "context_entity_recall"


def make_score(metric: str, number: Number) -> Score:
    """A value, or the status that its reason says."""
    if not isinstance(number, str):
        return Score(metric=metric, status=ScoreStatus.SCORED, value=number)
    failed = number.startswith(_FAILED)
    return Score(
        metric=metric,
        status=ScoreStatus.FAILED if failed else ScoreStatus.NOT_APPLICABLE,
        reason=number.removeprefix(_FAILED),
    )


def pair_of(trace: Trace) -> Pair:
    """The answer and what it should say."""
    expected = trace.expected
    return trace.answer, (expected.references or ()) if expected else ()


class TextScorer:
    """Text metrics of answers against their references.

    Args:
        metrics: Names of `metrics.text.suite.TEXT_METRICS`.
        options: How texts are cut.
        processes: Worker processes; 0 scores in a thread of this one.
        on_counts: Called with a row and its n-gram counts, for corpus BLEU.
    """

    def __init__(
        self,
        metrics: Sequence[str],
        options: TextOptions | None = None,
        processes: int = 0,
        on_counts: Callable[[Trace, BleuCounts], None] = lambda *_: None,
    ) -> None:
        self.metrics = tuple(metrics)
        self._on_counts = on_counts
        self._options = options or TextOptions()
        self._pool = (
            ProcessPoolExecutor(processes, mp_context=get_context("spawn")) if processes else None
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    async def score(self, traces: Sequence[Trace]) -> Sequence[Sequence[Score] | str]:
        """Rows in the order given, whichever process did them."""
        pairs = [pair_of(trace) for trace in traces]
        loop = asyncio.get_running_loop()
        rows = await loop.run_in_executor(
            self._pool, score_pairs, pairs, self.metrics, self._options
        )
        scores = []
        for trace, (numbers, counts) in zip(traces, rows, strict=True):
            if counts is not None:
                self._on_counts(trace, counts)
            scores.append(
                [make_score(name, n) for name, n in zip(self.metrics, numbers, strict=True)]
            )
        return scores


def score_pairs(
    pairs: Sequence[Pair], metrics: tuple[str, ...], options: TextOptions
) -> list[tuple[list[Number], BleuCounts | None]]:
    """What a worker process runs: numbers or reasons per pair, and its counts where BLEU is on."""
    wanted = any(name.startswith("bleu_") for name in metrics)
    return [
        (_score_pair(pair, metrics, options), counts_of(pair, options) if wanted else None)
        for pair in pairs
    ]


def counts_of(pair: Pair, options: TextOptions) -> BleuCounts | None:
    """The n-gram counts of a row; None when there is nothing to compare."""
    text, references = pair
    if text is None or not references:
        return None
    return bleu_counts(text, references, options.tokenizer)


def _score_pair(pair: Pair, metrics: tuple[str, ...], options: TextOptions) -> list[Number]:
    text, references = pair
    if not references:
        return ["no_reference"] * len(metrics)
    if text is None:
        return ["no_answer"] * len(metrics)
    try:
        numbers = score_text(text, references, metrics, options)
    except (ValueError, ArithmeticError, RecursionError, LookupError) as error:
        return [f"{_FAILED}{type(error).__name__}: {error}"] * len(metrics)
    return [
        _word(value) if isinstance(value, NotApplicable) else value for value in numbers.values()
    ]


def _word(reason: NotApplicable) -> str:
    return str(reason).replace(" ", "_")


class RankingScorer:
    """Measures of the retrieved ids against labelled ones.

    Labels come from `relevant_ids`, else from `context_labels`. The latter say nothing about what
    was not retrieved: recall and F1 are not applicable then, and NDCG and AP judge the order alone.

    Args:
        metrics: Names of `RANKING_METRICS`.
        k: Cut-off; None: the whole list.
    """

    def __init__(self, metrics: Sequence[str], k: int | None = None) -> None:
        self.metrics = tuple(metrics)
        self._k = k

    async def score(self, traces: Sequence[Trace]) -> Sequence[Sequence[Score] | str]:
        """Arithmetic only; done at once."""
        return [self._one(trace) for trace in traces]

    def _one(self, trace: Trace) -> list[Score]:
        try:
            retrieved, relevant, complete = labelled_ranking(trace)
            scores = rank_scores(retrieved, relevant, self._k)
        except NotApplicable as reason:
            return [make_score(name, _word(reason)) for name in self.metrics]
        return [
            make_score(
                name,
                RANKING_METRICS[name](scores)
                if complete or name not in _NEEDS_ALL
                else "only_retrieved_labelled",
            )
            for name in self.metrics
        ]


def labelled_ranking(trace: Trace) -> tuple[list[str], dict[str, float], bool]:
    """Retrieved ids in order, relevant ids with grades, and whether all relevant ids are known.

    Raises:
        NotApplicable: The row has no labels, or its passages have no ids.
    """
    expected, contexts = trace.expected, trace.contexts
    if expected is None or (expected.relevant_ids is None and expected.context_labels is None):
        raise NotApplicable("no_relevant_ids")
    if contexts is None:
        raise NotApplicable("contexts_unknown")
    if expected.relevant_ids is not None:
        ids = [document.id for document in contexts]
        retrieved = [id_ for id_ in ids if id_ is not None]
        if len(retrieved) < len(ids):
            raise NotApplicable("contexts_without_ids")
        return retrieved, dict(expected.relevant_ids), True
    labels = expected.context_labels or ()
    if len(labels) != len(contexts):
        raise NotApplicable("labels_do_not_match_contexts")
    places = [str(place) for place in range(len(contexts))]
    grades = {place: float(label) for place, label in zip(places, labels, strict=True)}
    if not any(grades.values()):
        raise NotApplicable("no_relevant_passage")
    return places, grades, False


class EntityScorer:
    """Context entity recall, from our own readers of names, dates and quantities."""

    metrics = (ENTITY_METRIC,)

    async def score(self, traces: Sequence[Trace]) -> Sequence[Sequence[Score] | str]:
        """Runs in a thread: the tagger takes a moment to load."""
        return await asyncio.to_thread(lambda: [[_entity_recall(trace)] for trace in traces])


def _entity_recall(trace: Trace) -> Score:
    from rag_monitor.metrics.rag.entities import (
        context_entity_recall,
        entities_in,
        entities_of,
    )

    references, passages = pair_of(trace)[1], passages_of(trace)
    if not references:
        return make_score(ENTITY_METRIC, "no_reference")
    if passages is None:
        return make_score(ENTITY_METRIC, "contexts_unknown")
    wanted = entities_of("\n".join(references))
    try:
        present = entities_in(wanted, "\n".join(passages))
        return make_score(ENTITY_METRIC, context_entity_recall(wanted, present))
    except NotApplicable as reason:
        return make_score(ENTITY_METRIC, _word(reason))
