"""One evaluation of one file: all metrics in one pass, resumable, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Final

from rag_monitor.domain.judgement import as_configured
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.judges.judge import Judge
from rag_monitor.metrics.text.encoder import Encoder, SimilarityScorer
from rag_monitor.metrics.text.perplexity import PerplexityModel
from rag_monitor.offline.dataset import (
    DatasetRow,
    JudgeScorer,
    RowResult,
    Scorer,
    as_line,
    metrics_of,
    run_rows,
)
from rag_monitor.offline.labelled import read_labelled
from rag_monitor.offline.latency_scores import LatencyScorer
from rag_monitor.offline.lines import (
    Line,
    LineWriter,
    check_kind,
    drop_broken_end,
    open_lines,
    read_lines,
    scores_of,
)
from rag_monitor.offline.model_scores import (
    EncoderScorer,
    PerplexityScorer,
)
from rag_monitor.offline.reference_judging import CORRECTNESS_METRIC, ReferenceJudgeScorer
from rag_monitor.offline.reference_scores import (
    EntityScorer,
    RankingScorer,
    TextScorer,
    counts_of,
    pair_of,
)
from rag_monitor.offline.refusals import HeldBack, StoppingJudge
from rag_monitor.offline.run_settings import FileOptions, notes_of, settings_of
from rag_monitor.offline.selection import choose, features_of
from rag_monitor.offline.tally import Tally

_PEEK: Final = 200
"""Rows looked at to see which labels a file carries."""
_BATCH_JUDGED: Final = 32
_BATCH_TEXT: Final = 200
_FEW_ROWS: Final = 500
"""Below this, starting worker processes takes longer than the work."""


class FileEvaluation:
    """Scores the rows of a file and adds them up.

    Args:
        path: The rows.
        options: What to compute.
        judge: Who answers; None: metrics that need no judge.
        rows: How many there are, if known.

    Raises:
        ConfigurationError: The file, a metric, a model or the file to go on with is not usable.
    """

    def __init__(
        self, path: Path, options: FileOptions, judge: Judge | None, rows: int | None = None
    ) -> None:
        if options.output is not None:
            check_kind(options.output)
        self._options = options
        self._judge = StoppingJudge(judge) if judge is not None else None
        self._total = rows
        source = (labelled.row for labelled in read_labelled(path, options.columns))
        head = list(islice(source, _PEEK))
        self._rows: Iterator[DatasetRow] = chain(head, source)
        self.selection = choose(
            options.metrics,
            features_of(head),
            metrics_of(judge, options.targets) if judge else (),
            encoder=options.encoder is not None,
            perplexity=options.perplexity is not None,
            targets=options.targets,
        )
        judges = judge is not None and self.selection.needs_judge
        self._by = str(judge.identity) if judge is not None and judges else None
        self._check(head)
        self._with = settings_of(self.selection, options) if options.output is not None else None
        self.tally = Tally(self.selection, options.worst)
        self.resumed = 0
        """Rows taken over from an interrupted run."""

    def _check(self, head: Sequence[DatasetRow]) -> None:
        chosen = self.selection
        if not chosen.names and not features_of(head).labels:
            if head and all(row.error is not None for row in head):
                raise ConfigurationError("no row can be evaluated; {reason}", reason=head[0].error)
            raise ConfigurationError(
                "there is nothing to compute: the rows carry no reference and no labels, and there"
                " is no judge; name one with --judge"
            )
        if chosen.needs_judge and self._judge is None:
            name = (*chosen.judge, *chosen.reference_judge)[0]
            raise ConfigurationError("{name} needs a judge: name one with --judge", name=name)
        blends = CORRECTNESS_METRIC in chosen.reference_judge and self._options.similarity_share
        if blends and self._options.encoder is None:
            raise ConfigurationError(
                "{metric} blends in semantic similarity: add --bertscore-model, or "
                "--similarity-weight 0 to judge statements alone",
                metric=CORRECTNESS_METRIC,
            )

    async def run(self, on_row: Callable[[], None] = lambda: None) -> None:
        """Score every row that has no line yet; a row that fails is counted, not fatal.

        Raises:
            EverythingRefused: The judge's server does so; what was done before is written, and
                going on with it asks again from the first refused row.
        """
        options = self._options
        with ExitStack() as stack:
            rows = self._rows
            if options.resume and options.output is not None and options.output.exists():
                rows = self._finished(options.output, rows, on_row)
            scorers = self._scorers(stack)
            writer = self._writer(stack)
            batch = _BATCH_JUDGED if self.selection.needs_judge else _BATCH_TEXT
            held = HeldBack()
            async for results in run_rows(rows, scorers, batch=batch, ahead=options.processes + 2):
                for result in held.passed(results):
                    self._keep(result, writer)
                on_row()
            if self._judge is not None:
                self._judge.check()
            for result in held.rest():
                self._keep(result, writer)

    def _keep(self, result: RowResult, writer: LineWriter | None) -> None:
        self.tally.add(result)
        if writer is not None:
            by = str(self._judge.identity) if self._judge is not None and self._by else None
            writer.write(as_line(result, self.selection.names, by, self._with))

    def notes(self) -> list[str]:
        """What a reader must know about how it was measured, as `key` or `key=value`."""
        resumed = [f"resumed={self.resumed}"] if self.resumed else []
        return [*notes_of(self.selection, self._options), *resumed]

    def _writer(self, stack: ExitStack) -> LineWriter | None:
        output = self._options.output
        if output is None:
            return None
        append = self._options.resume and output.exists()
        writer = open_lines(output, self.selection.names, append=append)
        stack.callback(writer.close)
        return writer

    def _scorers(self, stack: ExitStack) -> list[Scorer]:
        options, chosen = self._options, self.selection
        scorers: list[Scorer] = []
        encoder = Encoder(options.encoder) if options.encoder else None
        if self._judge is not None and chosen.judge:
            scorers.append(JudgeScorer(self._judge, chosen.judge, options.scoring))
        if self._judge is not None and chosen.reference_judge:
            similarity = SimilarityScorer(encoder).score if encoder else None
            scorers.append(
                ReferenceJudgeScorer(
                    self._judge, chosen.reference_judge, similarity, options.similarity_share
                )
            )
        if chosen.text:
            few = self._total is not None and self._total < _FEW_ROWS
            text = TextScorer(
                chosen.text, options.text, 0 if few else options.processes, self.tally.add_counts
            )
            scorers.append(stack.enter_context(text))
        if encoder is not None and chosen.encoder:
            scorers.append(EncoderScorer(encoder, chosen.encoder))
        if options.perplexity and chosen.perplexity:
            scorers.append(
                PerplexityScorer(PerplexityModel(options.perplexity), self.tally.add_tokens)
            )
        if chosen.entities:
            scorers.append(EntityScorer())
        if chosen.ranking:
            scorers.append(RankingScorer(chosen.ranking, options.k))
        if chosen.latency:
            scorers.append(LatencyScorer(chosen.latency))
        return scorers

    def _finished(
        self, output: Path, rows: Iterator[DatasetRow], on_row: Callable[[], None]
    ) -> Iterator[DatasetRow]:
        """Count the lines that are there, and return the rows that have none."""
        drop_broken_end(output)
        if not output.stat().st_size:
            return rows
        for place, line in enumerate(read_lines(output), start=1):
            row = next(rows, None)
            self._match(output, place, line, row)
            if row is not None:
                self._take_over(line, row)
            self.resumed += 1
            on_row()
        return rows

    def _match(self, output: Path, place: int, line: Line, row: DatasetRow | None) -> None:
        if row is None or str(line["id"]) != str(row.id):
            there = Message("no row") if row is None else Message("row {id}", id=row.id)
            raise ConfigurationError(
                "{output}, line {place} is row {row}, but the input has {there} there: --resume "
                "goes on with the same input only",
                output=output.name,
                place=place,
                row=line["id"],
                there=there,
            )
        if line["input"] != row.fingerprint:
            raise ConfigurationError(
                "{output}, line {place}: row {id} of the input is not what was scored; --resume "
                "goes on with the same input only: write another file",
                output=output.name,
                place=place,
                id=row.id,
            )
        if set(line["scores"]) != set(self.selection.names):
            raise ConfigurationError(
                "{output} was written with other metrics; name the same ones with --metrics, or "
                "write another file",
                output=output.name,
            )
        if line["judge"] is not None and as_configured(line["judge"]) != self._by:
            raise ConfigurationError(
                "{output}, line {place} was judged by {judge}, and the judge is {judge_now} now; "
                "go on with the same judge, prompts and calibration, or write another file",
                output=output.name,
                place=place,
                judge=line["judge"],
                judge_now=self._by,
            )
        if line["settings"] not in {None, self._with}:
            raise ConfigurationError(
                "{output}, line {place} was computed with {settings}, and the settings are "
                "{settings_now} now; go on with the same ones, or write another file",
                output=output.name,
                place=place,
                settings=line["settings"],
                settings_now=self._with,
            )

    def _take_over(self, line: Line, row: DatasetRow) -> None:
        error = row.error
        scores = () if row.trace is None else scores_of(line)
        self.tally.add(RowResult(id=row.id, scores=scores, error=error, row=row))
        if row.trace is not None and any(n.startswith("bleu_") for n in self.selection.text):
            counts = counts_of(pair_of(row.trace), self._options.text)
            if counts is not None:
                self.tally.add_counts(row.trace, counts)
