"""`rag-monitor agreement`: how well a judge agrees with people."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from rag_monitor.cli.judging import JudgeName, RowsFile, create_judge
from rag_monitor.cli.output import AsJson, print_fields, print_json, progress_console
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.errors import RagMonitorError

_METRIC = "answer_supported"


def agreement(
    file: RowsFile,
    judge: JudgeName = "embedded",
    limit: Annotated[int, typer.Option(min=1, help="Use at most so many rows.")] = 1_000_000,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Compare `answer_supported` with `label_faithful`, with intervals clustered by source."""
    settings = load(config)
    figures = asyncio.run(_run(settings, judge, file, limit, quiet=as_json))
    if as_json:
        print_json(figures)
    else:
        print_fields(figures)


async def _run(
    settings: Any, judge_name: str, file: Path, limit: int, *, quiet: bool
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
        identity = str(judge.identity)
    finally:
        await judge.close()
    return _figures(file, identity, labelled, scores)


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
