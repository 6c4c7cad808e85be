"""`rag-monitor calibrate`: make a judge's probabilities mean what they say on your own data."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_monitor.cli.agreement import judge_labelled
from rag_monitor.cli.file_rows import ColumnsOption, labelled_rows, parse_columns
from rag_monitor.cli.judging import JudgeName, RowsFile, refusals_told
from rag_monitor.cli.output import AsJson, keep_input, print_json, print_remark
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.cli.words import LanguageOption, say
from rag_monitor.errors import RagMonitorError
from rag_monitor.i18n import ENGLISH

if TYPE_CHECKING:
    from rag_monitor.config import Settings

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
    columns: ColumnsOption = None,
    config: ConfigPath = None,
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Fit `answer_supported` to what people said and store the calibration with its threshold.

    Labels are `label_faithful` or, in the lines of `rag-monitor export`, the marks people left on
    faithfulness in the pages or through the interface. The figures printed are those of sources
    that the fit never saw.
    """
    from rag_monitor.offline.calibration import fit_calibration
    from rag_monitor.offline.report.agreement import print_calibration

    if method not in _METHODS:
        raise RagMonitorError(
            "--method is one of {names}, not {method!r}", names=", ".join(_METHODS), method=method
        )
    keep_input(file, output)
    settings = _without_calibration(load(config), judge)
    read = labelled_rows(file, parse_columns(columns))
    with refusals_told(judge):
        rows, labelled = asyncio.run(
            judge_labelled(settings, judge, file, read, limit, quiet=as_json)
        )
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
    print_calibration(figures, language)
    setting = f'[judges.{judge}] calibration = "{output}"'
    print_remark(say("use it with: {setting}", setting=setting))


def _without_calibration(settings: Settings, judge: str) -> Settings:
    """The judge as it was before it was calibrated: what is fitted must not be applied already."""
    table = dict(settings.judges.get(judge, {}))
    table.pop("calibration", None)
    return replace(settings, judges={**settings.judges, judge: table})
