"""`rag-monitor evaluate`: judge the rows of a file."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.progress import Progress

from rag_monitor.cli.judging import JudgeName, RowsFile, create_judge
from rag_monitor.cli.output import AsJson, print_json, print_line, print_remark, progress_console
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.errors import ConfigurationError

_REMARKS = 10


class Summary:
    """Means and counts over a file, filled line by line."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self._metrics = tuple(metrics)
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self.rows = 0
        self.flagged = 0
        self.errors: list[str] = []

    def add(self, line: dict[str, Any], error: str | None) -> None:
        """Count one line of output."""
        self.rows += 1
        self.flagged += bool(line["flagged"])
        if error is not None:
            self.errors.append(f"{line['id']}: {error}")
        for name in self._metrics:
            value = line["scores"][name]
            if value is not None:
                self._sums[name] += value
                self._counts[name] += 1

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "rows": self.rows,
            "failed_rows": len(self.errors),
            "flagged": self.flagged,
            "metrics": {
                name: {
                    "mean": self._sums[name] / self._counts[name] if self._counts[name] else None,
                    "scored": self._counts[name],
                }
                for name in self._metrics
            },
        }


def evaluate(
    file: RowsFile,
    judge: JudgeName = "embedded",
    metrics: Annotated[
        str | None, typer.Option(help="Comma-separated; default: all the judge can answer.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="JSONL file, one line per row.")
    ] = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Score every row; rows that cannot be judged are reported and do not stop the others."""
    if output is not None and output.suffix != ".jsonl":
        raise ConfigurationError(f"--output writes .jsonl files, not {output.suffix or output}")
    settings = load(config)
    names = [name.strip() for name in metrics.split(",") if name.strip()] if metrics else None
    target = nullcontext(None) if output is None else output.open("w", encoding="utf-8")
    with target as lines:
        summary = asyncio.run(_run(settings, judge, file, names, lines, quiet=as_json))
    for error in summary.errors[:_REMARKS]:
        print_remark(error)
    _report(summary.as_dict(), as_json)


async def _run(
    settings: Any,
    judge_name: str,
    file: Path,
    names: Sequence[str] | None,
    lines: TextIO | None,
    *,
    quiet: bool,
) -> Summary:
    from rag_monitor.evaluation.labelled import read_labelled
    from rag_monitor.evaluation.dataset import as_line, evaluate_rows, metrics_of

    judge = create_judge(settings, judge_name)
    try:
        metrics = tuple(names or metrics_of(judge))
        summary = Summary(metrics)
        with Progress(console=progress_console(quiet), transient=True) as bar:
            task = bar.add_task(file.name, total=None)
            rows = (labelled.row for labelled in read_labelled(file))
            async for result in evaluate_rows(rows, judge, metrics):
                line = as_line(result, metrics)
                summary.add(line, result.error)
                if lines is not None:
                    lines.write(json.dumps(line, ensure_ascii=False) + "\n")
                bar.advance(task)
        return summary
    finally:
        await judge.close()


def _report(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(summary)
        return
    for name, figures in summary["metrics"].items():
        mean = "-" if figures["mean"] is None else f"{figures['mean']:.3f}"
        print_line(f"{name:<22} {mean:>6}  ({figures['scored']} scored)")
    print_line(
        f"{summary['rows']} rows, {summary['flagged']} flagged, {summary['failed_rows']} failed"
    )
