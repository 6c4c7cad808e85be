"""`rag-monitor agreement`: how well a judge agrees with people."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from rag_monitor.cli.judging import JudgeName, RowsFile, create_judge
from rag_monitor.cli.output import AsJson, print_fields, print_json, progress_console
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.errors import RagMonitorError

if TYPE_CHECKING:
    from rag_monitor.evaluation.agreement import JudgedRow

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
    rows, labelled = asyncio.run(judge_labelled(settings, judge, file, limit, quiet=as_json))
    figures = _figures(file, rows, labelled)
    if as_json:
        print_json(figures)
    else:
        print_fields(figures)


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """The rows of a file that could be judged."""

    identity: str
    judged: list[JudgedRow]


async def judge_labelled(
    settings: Any, judge_name: str, file: Path, limit: int, *, quiet: bool
) -> tuple[JudgedFile, int]:
    """Judge the labelled rows of a file; also how many there are.

    Raises:
        RagMonitorError: The rows are not of both classes, or none could be judged.
    """
    from rag_monitor.evaluation.agreement import JudgedRow
    from rag_monitor.evaluation.dataset import evaluate_rows
    from rag_monitor.evaluation.labelled import read_labelled

    labelled = [row for row in read_labelled(file) if row.faithful is not None][:limit]
    if len({row.faithful for row in labelled}) < 2:
        raise RagMonitorError(
            f"{file} needs rows with label_faithful 0 and rows with label_faithful 1"
        )
    judge = create_judge(settings, judge_name)
    judged = []
    try:
        with Progress(console=progress_console(quiet), transient=True) as bar:
            task = bar.add_task(file.name, total=len(labelled))
            results = evaluate_rows((r.row for r in labelled), judge, (_METRIC,))
            place = 0
            async for result in results:
                row, place = labelled[place], place + 1
                score = result.scores[0] if result.scores else None
                if score is not None and score.value is not None:
                    judged.append(
                        JudgedRow(
                            probability=score.value,
                            flagged=bool(score.flagged),
                            faithful=bool(row.faithful),
                            group=row.group,
                        )
                    )
                bar.advance(task)
        identity = str(judge.identity)
    finally:
        await judge.close()
    if not judged:
        raise RagMonitorError(f"{identity} judged none of the rows of {file}")
    return JudgedFile(identity, judged), len(labelled)


def _figures(file: Path, rows: JudgedFile, labelled: int) -> dict[str, Any]:
    from rag_monitor.evaluation.agreement import agreement_report

    return {
        "file": file.name,
        "judge": rows.identity,
        "rows": labelled,
        "judged": len(rows.judged),
        "not_judged": labelled - len(rows.judged),
        **agreement_report(rows.judged),
    }
