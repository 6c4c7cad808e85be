"""`rag-monitor calibrate`: make a judge's probabilities mean what they say on your own data."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from rag_monitor.cli.agreement import judge_labelled
from rag_monitor.cli.judging import JudgeName, RowsFile
from rag_monitor.cli.output import AsJson, print_fields, print_json, print_remark
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.errors import RagMonitorError

_METHODS = ("auto", "platt", "isotonic")


def calibrate(
    file: RowsFile,
    judge: JudgeName = "embedded",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the calibration is written.")
    ] = Path("calibration.json"),
    method: Annotated[
        str, typer.Option(help="platt (100 labels), isotonic (1,000) or auto.")
    ] = "auto",
    limit: Annotated[int, typer.Option(min=1, help="Use at most so many rows.")] = 1_000_000,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Fit `answer_supported` to `label_faithful` and store the calibration with its threshold.

    The figures printed are those of sources that the fit never saw.
    """
    from rag_monitor.evaluation.calibration import fit_calibration

    if method not in _METHODS:
        raise RagMonitorError(f"--method is one of {', '.join(_METHODS)}, not {method!r}")
    if judge != "embedded":
        raise RagMonitorError(
            f"only the embedded judge takes a calibration file; {judge!r} states its probabilities"
            " as its model gives them"
        )
    settings = load(config)
    settings.judges.setdefault(judge, {}).pop("calibration", None)
    rows, labelled = asyncio.run(judge_labelled(settings, judge, file, limit, quiet=as_json))
    fitted = fit_calibration(rows.judged, rows.identity, method)  # type: ignore[arg-type]
    output.write_text(fitted.calibration.dump(fitted.facts), encoding="utf-8")
    figures = {
        "calibration": str(output),
        "version": fitted.calibration.version,
        "judge": fitted.calibration.judge,
        "threshold": fitted.calibration.threshold,
        "not_judged": labelled - len(rows.judged),
        **fitted.facts,
    }
    if as_json:
        print_json(figures)
        return
    print_fields(figures)
    print_remark(f'use it with: [judges.{judge}] calibration = "{output}"')
