"""`rag-monitor agreement`: how well a judge agrees with people."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer
from rich.progress import Progress

from rag_monitor.cli.judging import JudgeName, RowsFile, create_judge
from rag_monitor.cli.output import AsJson, print_fields, print_json, progress_console
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.errors import RagMonitorError
from rag_monitor.judges.judge import Judge

_METRIC = "answer_supported"


def agreement(
    file: RowsFile,
    judge: JudgeName = "embedded",
    limit: Annotated[int, typer.Option(min=1, help="Use at most so many rows.")] = 1_000_000,
    bias: Annotated[
        bool, typer.Option("--bias", help="Also: what order and length do to the judge.")
    ] = False,
    bias_rows: Annotated[
        int, typer.Option(min=1, help="With --bias: judge so many rows again, in both orders.")
    ] = 100,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Compare `answer_supported` with `label_faithful`, with intervals clustered by source.

    With --bias a sample is judged again, once in its own order and once with the passages
    reversed, and the scores are held against the length of the answers.
    """
    settings = load(config)
    sample = bias_rows if bias else 0
    figures = asyncio.run(_run(settings, judge, file, limit, sample, quiet=as_json))
    if as_json:
        print_json(figures)
    else:
        print_fields(figures)


async def _run(
    settings: Any, judge_name: str, file: Path, limit: int, bias_rows: int, *, quiet: bool
) -> dict[str, Any]:
    from rag_monitor.evaluation.dataset import evaluate_rows
    from rag_monitor.evaluation.labelled import read_labelled

    labelled = [row for row in read_labelled(file) if row.faithful is not None][:limit]
    if len({row.faithful for row in labelled}) < 2:
        raise RagMonitorError(
            f"{file} needs rows with label_faithful 0 and rows with label_faithful 1"
        )
    judge = create_judge(settings, judge_name)
    scores = []
    try:
        with Progress(console=progress_console(quiet), transient=True) as bar:
            task = bar.add_task(file.name, total=len(labelled))
            async for result in evaluate_rows((r.row for r in labelled), judge, (_METRIC,)):
                scores.append(result.scores[0] if result.scores else None)
                bar.advance(task)
        figures = _figures(file, str(judge.identity), labelled, scores)
        if bias_rows:
            figures |= await _bias(judge, labelled, scores, bias_rows)
    finally:
        await judge.close()
    return figures


async def _bias(
    judge: Judge, labelled: list[Any], scores: list[Any], rows: int
) -> Mapping[str, Any]:
    from rag_monitor.evaluation.bias import bias_report, length_bias, position_bias

    scored = [
        (row.row.trace, score.value, row.faithful)
        for row, score in zip(labelled, scores, strict=True)
        if score is not None and score.value is not None
    ]
    length = length_bias(
        [value for _, value, _ in scored],
        [len(trace.answer or "") for trace, _, _ in scored],
        [faithful for _, _, faithful in scored],
    )
    # A fixed draw: the same file gives the same sample, and not only its first rows.
    sample = Random(0).sample(scored, min(rows, len(scored)))  # noqa: S311
    return bias_report(await position_bias(judge, [trace for trace, _, _ in sample]), length)


def _figures(file: Path, identity: str, labelled: list[Any], scores: list[Any]) -> dict[str, Any]:
    from rag_monitor.evaluation.agreement import JudgedRow, agreement_report

    judged = [
        JudgedRow(
            probability=score.value,
            flagged=bool(score.flagged),
            faithful=row.faithful,
            group=row.group,
        )
        for row, score in zip(labelled, scores, strict=True)
        if score is not None and score.value is not None
    ]
    if not judged:
        raise RagMonitorError(f"{identity} judged none of the rows of {file}")
    return {
        "file": file.name,
        "judge": identity,
        "rows": len(labelled),
        "judged": len(judged),
        "not_judged": len(labelled) - len(judged),
        **agreement_report(judged),
    }
