"""Adds up an evaluation row by row into a report; memory does not grow with the file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from rag_monitor import __version__
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.i18n import Message
from rag_monitor.metrics.latency import PERCENTILES
from rag_monitor.metrics.targets import Profile, check_targets
from rag_monitor.metrics.text.bleu import BleuCounts
from rag_monitor.offline import figures
from rag_monitor.offline.dataset import DatasetRow, RowResult
from rag_monitor.offline.label_tally import (
    BLOCKS,
    LabelTally,
    RoutingTally,
    block_of,
    block_of_row,
    jackknifed,
)
from rag_monitor.offline.latency_scores import LATENCY_METRICS
from rag_monitor.offline.metric_tally import LatencyTally, MetricTally, Sums
from rag_monitor.offline.missing import Missing, MissingTally
from rag_monitor.offline.model_scores import PERPLEXITY_METRIC
from rag_monitor.offline.report.model import (
    Figure,
    GroupReport,
    MetricReport,
    Report,
    TargetReport,
)
from rag_monitor.offline.selection import UNBOUNDED, Selection
from rag_monitor.offline.worst_rows import WorstRows
from rag_monitor.statistics.reliability import ReliabilityTally

_ERRORS_KEPT: Final = 20
_GROUPS_KEPT: Final = 200
_GROUPS_SHOWN: Final = 12
_REPORTED_KEPT: Final = 50
_OTHER: Final = "(other)"
_TOPS: Final = dict.fromkeys(LATENCY_METRICS, 6.0) | {PERPLEXITY_METRIC: 4.0}
"""Powers of ten at which histograms of metrics that are no shares end."""
UNFAITHFUL: Final = "unfaithful"
FAITHFUL: Final = "faithful"


class Tally:
    """Everything a report says.

    Args:
        selection: What is computed.
        worst: Rows to show in full.
    """

    def __init__(self, selection: Selection, worst: int = 10) -> None:
        self._selection = selection
        families = _families(selection)
        self._metrics = {
            name: MetricTally(name, families[name], _TOPS.get(name)) for name in selection.names
        }
        self._latency = {name: LatencyTally() for name in selection.latency}
        self._rows = self._failed = self._unreadable = 0
        self._unread_count = 0
        self._unread: list[str] = []
        self._reported: dict[str, Sums] = {}
        self._flagged: int | None = None
        self._errors: list[str] = []
        self._bleu = [BleuCounts() for _ in range(BLOCKS)]
        self._bleu_rows = 0
        self._loss = self._tokens = 0.0
        self._classes = LabelTally("classification")
        self._flags = LabelTally("faithfulness")
        self._labelled = {
            title: MissingTally() for title in (figures.CLASSIFICATION, figures.FAITHFULNESS)
        }
        self._routing = [RoutingTally(kind) for kind in HitKind]
        self._reliability = ReliabilityTally()
        self._groups = _Groups()
        self._worst = WorstRows(selection.names, worst)

    def add(self, result: RowResult) -> None:
        """Count one row."""
        self._rows += 1
        self._failed += result.error is not None
        reason = result.error or next(
            (score.detail for score in result.scores if score.detail), None
        )
        if reason is not None and len(self._errors) < _ERRORS_KEPT:
            named = reason.startswith(f"row {str(result.id)[1:]}: ")
            self._errors.append(reason if named else _of_row(result.id, reason))
        for score in result.scores:
            self._metrics[score.metric].add(score)
            if score.metric in self._latency and score.value is not None:
                self._latency[score.metric].add(score.value)
        row = result.row
        if row is None or row.trace is None:
            self._unreadable += 1
            return
        self._add_brought(row)
        self._groups.add(row.facets, result.scores)
        self._worst.add(result)
        for kind in self._routing:
            kind.add(row.trace)
        self._add_labels(row, row.trace, result.scores)

    def _add_brought(self, row: DatasetRow) -> None:
        """Count what the file brings of other tools, and passages that could not be read."""
        for name, value in row.reported.items():
            if name in self._reported or len(self._reported) < _REPORTED_KEPT:
                self._reported.setdefault(name, Sums()).add(value)
        self._unread_count += len(row.unread)
        room = _ERRORS_KEPT - len(self._unread)
        self._unread += [_of_row(row.id, passage) for passage in row.unread[:room]]

    def _add_labels(self, row: DatasetRow, trace: Trace, scores: Sequence[Score]) -> None:
        block = block_of_row(row.id or trace.trace_id)
        supported = next((s for s in scores if s.metric == "answer_supported"), None)
        if supported is not None and supported.flagged is not None:
            self._flagged = (self._flagged or 0) + supported.flagged
        expected = trace.expected
        if expected is None:
            return
        classes = self._labelled[figures.CLASSIFICATION]
        if expected.label is not None and expected.predicted is not None:
            self._classes.add(expected.label, expected.predicted, block)
            classes.have()
        elif expected.label is not None or expected.predicted is not None:
            classes.lack("no_prediction" if expected.predicted is None else "no_label")
        if supported is None or expected.faithful is None:
            return
        self._labelled[figures.FAITHFULNESS].add(supported)
        if supported.status is ScoreStatus.SCORED and supported.value is not None:
            self._reliability.add(supported.value, expected.faithful)
            truth = FAITHFUL if expected.faithful else UNFAITHFUL
            predicted = UNFAITHFUL if supported.flagged else FAITHFUL
            self._flags.add(truth, predicted, block)

    def add_counts(self, trace: Trace, counts: BleuCounts) -> None:
        """Count the n-grams of one row, for corpus BLEU."""
        block = block_of(trace)
        self._bleu[block] = self._bleu[block] + counts
        self._bleu_rows += 1

    def add_tokens(self, loss: float, tokens: int) -> None:
        """Count the likelihood of one text, for corpus perplexity."""
        self._loss += loss
        self._tokens += tokens

    def report(
        self,
        *,
        file: str,
        created_at: datetime,
        judge: str | None = None,
        seconds: float = 0.0,
        profile: Profile | None = None,
        notes: Sequence[str] = (),
    ) -> Report:
        """What was counted, with the targets of `profile` held against it."""
        metrics = tuple(tally.report() for tally in self._metrics.values())
        corpus = self._corpus()
        confusions: list[LabelTally | RoutingTally] = [self._classes, self._flags, *self._routing]
        latencies = {
            name: latency
            for name, times in self._latency.items()
            if (latency := times.report()) is not None
        }
        values = _figures_of(metrics) | corpus
        values |= {
            f"{timing}_{name}": Figure(value=getattr(latency, name), n=latency.n)
            for timing, latency in latencies.items()
            for name in PERCENTILES
        }
        for tally in confusions:
            values |= tally.figures()
        worst_by, worst = self._worst.report()
        return Report(
            file=file,
            created_at=created_at.isoformat(timespec="seconds"),
            version=__version__,
            judge=judge,
            rows=self._rows,
            failed_rows=self._failed,
            flagged=self._flagged,
            seconds=round(seconds, 2),
            metrics=metrics,
            corpus=corpus,
            latencies=latencies,
            confusions=tuple(c for tally in confusions if (c := tally.report()) is not None),
            hit_rates={k: v for kind in self._routing for k, v in kind.hit_rates().items()},
            figures=values,
            reported=self._reported_means(),
            reliability=self._reliability.report(),
            groups=self._groups.report(),
            profile=profile.name if profile else None,
            profile_titles={"en": profile.title, "zh": profile.title_zh} if profile else {},
            targets=self._targets(profile, values),
            worst_by=worst_by,
            worst=worst,
            errors=tuple(self._errors),
            unread_passages=self._unread_count,
            unread=tuple(self._unread),
            notes=tuple(notes),
        )

    def _corpus(self) -> dict[str, Figure]:
        figures: dict[str, Figure] = {}
        if self._bleu_rows:
            pooled = sum(self._bleu, BleuCounts())
            parts = [pooled - block for block in self._bleu if block.length]
            for name in self._selection.text:
                order = name.removeprefix("bleu_")
                if order != name:
                    without = [part.score(int(order)) for part in parts if part.length]
                    figures[f"corpus_{name}"] = jackknifed(
                        pooled.score(int(order)), list(without), self._bleu_rows
                    )
        if self._tokens:
            value = math.exp(min(700.0, self._loss / self._tokens))
            figures["corpus_perplexity"] = Figure(value=value, n=int(self._tokens))
        return figures

    def _reported_means(self) -> dict[str, Figure]:
        means = {name: sums.figure(bounded=False) for name, sums in self._reported.items()}
        return {name: figure for name, figure in means.items() if figure is not None}

    def _targets(
        self, profile: Profile | None, values: Mapping[str, Figure]
    ) -> tuple[TargetReport, ...]:
        targets = []
        means = {name: figure.value for name, figure in values.items()}
        for result in check_targets(profile, means) if profile else ():
            missing = self._missing(result.target.metric)
            targets.append(
                TargetReport(
                    metric=result.target.metric,
                    bound=result.target.bound,
                    value=result.value,
                    met=result.met,
                    missing_share=missing.share,
                    missing=missing.reasons,
                )
            )
        return tuple(targets)

    def _missing(self, name: str) -> Missing:
        """Rows without a score among those that a target's figure is made of."""
        metric = self._metrics.get(figures.metric_of(name))
        if metric is not None:
            return metric.missing(self._unreadable, self._rows)
        if not figures.is_figure(name):
            return Missing()
        title = figures.title_of(name)
        counted = self._labelled.get(title) or MissingTally()
        for kind in self._routing:
            if kind.kind == title:
                counted.have(kind.rows_of(name))
        return counted.report(self._unreadable, self._rows)


def _figures_of(metrics: Sequence[MetricReport]) -> dict[str, Figure]:
    return {
        metric.name: Figure(
            value=metric.mean, lower=metric.lower, upper=metric.upper, n=metric.scored
        )
        for metric in metrics
        if metric.mean is not None
    }


def _families(selection: Selection) -> dict[str, str]:
    parts = {
        "judge": (*selection.judge, *selection.reference_judge),
        "ranking": selection.ranking,
        "model": (*selection.encoder, PERPLEXITY_METRIC),
        "latency": selection.latency,
    }
    families = dict.fromkeys(selection.names, "text")
    return families | {name: family for family, names in parts.items() for name in names}


class _Groups:
    """Means per value of every facet."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, int]] = {}
        self._sums: dict[tuple[str, str, str], Sums] = {}

    def add(self, facets: Mapping[str, str], scores: Sequence[Score]) -> None:
        for facet, value in facets.items():
            rows = self._rows.setdefault(facet, {})
            name = value if value in rows or len(rows) < _GROUPS_KEPT else _OTHER
            rows[name] = rows.get(name, 0) + 1
            for score in scores:
                if score.status is ScoreStatus.SCORED and score.value is not None:
                    self._sums.setdefault((facet, name, score.metric), Sums()).add(score.value)

    def report(self) -> dict[str, tuple[GroupReport, ...]]:
        """Facets with two values or more; the largest groups."""
        return {
            facet: tuple(
                GroupReport(name=name, rows=count, means=self._means(facet, name))
                for name, count in sorted(rows.items(), key=lambda e: -e[1])[:_GROUPS_SHOWN]
            )
            for facet, rows in self._rows.items()
            if len(rows) > 1
        }

    def _means(self, facet: str, name: str) -> dict[str, Figure]:
        return {
            metric: figure
            for (f, n, metric), sums in self._sums.items()
            if (f, n) == (facet, name)
            and (figure := sums.figure(bounded=metric not in UNBOUNDED, least=0.0)) is not None
        }


def _of_row(name: object, reason: str) -> Message:
    return Message("{name}: {reason}", name=name, reason=reason)
