"""`rag-monitor agreement`: how well a judge agrees with people."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from rag_monitor.cli.file_rows import ColumnsOption, labelled_rows, parse_columns
from rag_monitor.cli.judging import JudgeName, RowsFile, create_judge, refusals_told
from rag_monitor.cli.output import AsJson, print_json, progress_console
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.cli.words import LanguageOption
from rag_monitor.domain.judgement import as_configured
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import RagMonitorError
from rag_monitor.i18n import ENGLISH, msgid

if TYPE_CHECKING:
    from rag_monitor.offline.agreement import JudgedRow
    from rag_monitor.offline.labelled import LabelledRow

_METRIC = "answer_supported"


def agreement(
    file: RowsFile,
    judge: JudgeName = "embedded",
    limit: Annotated[int, typer.Option(min=1, help="Use at most so many rows.")] = 1_000_000,
    bias: Annotated[
        bool, typer.Option("--bias", help="Also look for order and length bias.")
    ] = False,
    bias_rows: Annotated[int, typer.Option(min=1, help="Rows judged again for --bias.")] = 100,
    columns: ColumnsOption = None,
    config: ConfigPath = None,
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Compare `answer_supported` with `label_faithful`, with intervals clustered by source.

    With --bias a sample is judged again, once in its own order and once with the passages
    reversed, and the scores are held against the length of the answers.
    """
    from rag_monitor.offline.report.agreement import print_agreement

    settings = load(config)
    read = labelled_rows(file, parse_columns(columns))
    with refusals_told(judge):
        rows, labelled = asyncio.run(
            judge_labelled(settings, judge, file, read, limit, quiet=as_json)
        )
    figures = _figures(file, rows, labelled)
    if bias:
        figures |= asyncio.run(_bias(settings, judge, rows, bias_rows))
    if as_json:
        print_json(figures)
    else:
        print_agreement(figures, language)


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """The rows of a file that could be judged."""

    identity: str
    judged: list[JudgedRow]
    traces: list[Trace]
    """Of the same rows, in the same order."""


async def judge_labelled(
    settings: Any,
    judge_name: str,
    file: Path,
    rows: Sequence[LabelledRow],
    limit: int,
    *,
    quiet: bool,
) -> tuple[JudgedFile, int]:
    """Judge at most `limit` of the labelled rows of `file`; also how many of those there are.

    Raises:
        RagMonitorError: The rows are not of both classes, or none could be judged.
        EverythingRefused: The judge's server does so; nobody was asked after that was clear.
    """
    from rag_monitor.offline.agreement import JudgedRow
    from rag_monitor.offline.dataset import JudgeScorer, run_rows
    from rag_monitor.offline.refusals import StoppingJudge

    labelled = [row for row in rows if row.faithful is not None][:limit]
    if len({row.faithful for row in labelled}) < 2:
        raise RagMonitorError(
            "{file} needs rows with label_faithful 0 and rows with label_faithful 1, or with "
            "people's marks on faithfulness of both kinds; --columns says what a file calls them",
            file=file,
        )
    judge = StoppingJudge(create_judge(settings, judge_name))
    judged, traces, last = [], [], None
    try:
        with Progress(console=progress_console(quiet), transient=True) as bar:
            task = bar.add_task(file.name, total=len(labelled))
            scorer = JudgeScorer(judge, (_METRIC,))
            results = run_rows((row.row for row in labelled), [scorer], ahead=1)
            place = 0
            async for result in results:
                row, place, last = labelled[place], place + 1, result.error or last
                score = result.scores[0] if result.scores else None
                if score is not None and score.value is not None and row.row.trace is not None:
                    traces.append(row.row.trace)
                    judged.append(
                        JudgedRow(
                            probability=score.value,
                            flagged=bool(score.flagged),
                            faithful=bool(row.faithful),
                            group=row.group,
                            facets=row.row.facets,
                        )
                    )
                bar.advance(task)
        judge.check()
        identity = as_configured(str(judge.identity))  # what a calibration is fitted to
    finally:
        await judge.close()
    if not judged:
        text = msgid("{judge} judged none of the rows of {file}")
        if last:
            text = msgid("{judge} judged none of the rows of {file}: {reason}")
        raise RagMonitorError(text, judge=identity, file=file, reason=last)
    return JudgedFile(identity, judged, traces), len(labelled)


async def _bias(settings: Any, judge_name: str, rows: JudgedFile, count: int) -> Mapping[str, Any]:
    from rag_monitor.offline.bias import bias_report, length_bias, position_bias

    length = length_bias(
        [row.probability for row in rows.judged],
        [len(trace.answer or "") for trace in rows.traces],
        [row.faithful for row in rows.judged],
    )
    # A fixed draw: the same file gives the same sample, and not only its first rows.
    sample = Random(0).sample(rows.traces, min(count, len(rows.traces)))  # noqa: S311
    judge = create_judge(settings, judge_name)
    try:
        return bias_report(await position_bias(judge, sample), length)
    finally:
        await judge.close()


def _figures(file: Path, rows: JudgedFile, labelled: int) -> dict[str, Any]:
    from rag_monitor.offline.agreement import agreement_report

    return {
        "file": file.name,
        "judge": rows.identity,
        "rows": labelled,
        "judged": len(rows.judged),
        "not_judged": labelled - len(rows.judged),
        **agreement_report(rows.judged),
    }
