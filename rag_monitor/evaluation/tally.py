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
from rag_monitor.evaluation.dataset import RowResult
from rag_monitor.evaluation.label_tally import (
    BLOCKS,
    LabelTally,
    RoutingTally,
    block_of,
    jackknifed,
)
from rag_monitor.evaluation.metric_tally import MetricTally, Sums
from rag_monitor.evaluation.model_scores import PERPLEXITY_METRIC
from rag_monitor.evaluation.report.model import Figure, GroupReport, Report, TargetReport
from rag_monitor.evaluation.selection import Selection
from rag_monitor.evaluation.worst_rows import WorstRows
from rag_monitor.metrics.targets import Profile, check_targets
from rag_monitor.metrics.text.bleu import BleuCounts
from rag_monitor.statistics.reliability import ReliabilityTally

_ERRORS_KEPT: Final = 20
_GROUPS_KEPT: Final = 200
_GROUPS_SHOWN: Final = 12
_OTHER: Final = "(other)"
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
            name: MetricTally(name, families[name], bounded=name != PERPLEXITY_METRIC)
            for name in selection.names
        }
        self._rows = self._failed = 0
        self._flagged: int | None = None
        self._errors: list[str] = []
        self._bleu = [BleuCounts() for _ in range(BLOCKS)]
        self._bleu_rows = 0
        self._loss = self._tokens = 0.0
        self._classes = LabelTally("classification")
        self._flags = LabelTally("faithfulness")
        self._routing = [RoutingTally(kind) for kind in HitKind]
        self._reliability = ReliabilityTally()
        self._groups = _Groups()
        self._worst = WorstRows(selection.names, worst)

    def add(self, result: RowResult) -> None:
        """Count one row."""
        self._rows += 1
        if result.error is not None:
            self._failed += 1
            if len(self._errors) < _ERRORS_KEPT:
                told = result.error.startswith(f"row {str(result.id)[1:]}: ")
                self._errors.append(result.error if told else f"{result.id}: {result.error}")
        for score in result.scores:
            self._metrics[score.metric].add(score)
        row = result.row
        if row is None or row.trace is None:
            return
        self._groups.add(row.facets, result.scores)
        self._worst.add(result)
        self._add_labels(row.trace, result.scores)

    def _add_labels(self, trace: Trace, scores: Sequence[Score]) -> None:
        for kind in self._routing:
            kind.add(trace)
        supported = next((s for s in scores if s.metric == "answer_supported"), None)
        if supported is not None and supported.flagged is not None:
            self._flagged = (self._flagged or 0) + supported.flagged
        expected = trace.expected
        if expected is None:
            return
        if expected.label is not None and expected.predicted is not None:
            self._classes.add(expected.label, expected.predicted, block_of(trace))
        if supported is None or supported.value is None or expected.faithful is None:
            return
        if supported.status is ScoreStatus.SCORED:
            self._reliability.add(supported.value, expected.faithful)
            truth = FAITHFUL if expected.faithful else UNFAITHFUL
            said = UNFAITHFUL if supported.flagged else FAITHFUL
            self._flags.add(truth, said, block_of(trace))

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
        means = {m.name: m.mean for m in metrics if m.mean is not None}
        means |= {name: figure.value for name, figure in corpus.items()}
        confusions: list[LabelTally | RoutingTally] = [self._classes, self._flags, *self._routing]
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
            confusions=tuple(c for tally in confusions if (c := tally.report()) is not None),
            hit_rates={k: v for kind in self._routing for k, v in kind.hit_rates().items()},
            reliability=self._reliability.report(),
            groups=self._groups.report(),
            profile=profile.name if profile else None,
            profile_titles={"en": profile.title, "zh": profile.title_zh} if profile else {},
            targets=_targets(profile, means),
            worst_by=worst_by,
            worst=worst,
            errors=tuple(self._errors),
            notes=tuple(notes),
        )

    def _corpus(self) -> dict[str, Figure]:
        found: dict[str, Figure] = {}
        if self._bleu_rows:
            pooled = sum(self._bleu, BleuCounts())
            parts = [pooled - block for block in self._bleu if block.length]
            for name in self._selection.text:
                order = name.removeprefix("bleu_")
                if order != name:
                    without = [part.score(int(order)) for part in parts if part.length]
                    found[f"corpus_{name}"] = jackknifed(
                        pooled.score(int(order)), list(without), self._bleu_rows
                    )
        if self._tokens:
            value = math.exp(min(700.0, self._loss / self._tokens))
            found["corpus_perplexity"] = Figure(value=value, n=int(self._tokens))
        return found


def _families(selection: Selection) -> dict[str, str]:
    parts = {
        "judge": (*selection.judge, *selection.reference_judge),
        "ranking": selection.ranking,
        "model": (*selection.encoder, PERPLEXITY_METRIC),
    }
    families = dict.fromkeys(selection.names, "text")
    return families | {name: family for family, names in parts.items() for name in names}


def _targets(profile: Profile | None, means: Mapping[str, float]) -> tuple[TargetReport, ...]:
    return tuple(
        TargetReport(
            metric=result.target.metric,
            bound=result.target.bound,
            value=result.value,
            met=result.met,
        )
        for result in (check_targets(profile, means) if profile else ())
    )


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
            and (figure := sums.figure(bounded=metric != PERPLEXITY_METRIC)) is not None
        }
