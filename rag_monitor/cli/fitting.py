"""`rag-monitor calibrate` and `distil`: fit probabilities, or the embedded judge, to rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from rag_monitor.cli.agreement import judge_labelled
from rag_monitor.cli.file_rows import ColumnsOption, labelled_rows, parse_columns
from rag_monitor.cli.judging import JudgeName, RowsFile, create_judge, refusals_told
from rag_monitor.cli.output import AsJson, keep_input, print_json, print_remark, progress_console
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.cli.words import LanguageOption, say
from rag_monitor.errors import RagMonitorError
from rag_monitor.i18n import ENGLISH

if TYPE_CHECKING:
    from rag_monitor.config import Settings
    from rag_monitor.judges.embedded.distil import Distilled
    from rag_monitor.judges.embedded.encoder import Encoder
    from rag_monitor.judges.embedded.model import Model
    from rag_monitor.offline.labelled import LabelledRow

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


_STUDENTS = ("embedded", "embedded-lexical")


def distil(
    file: RowsFile,
    judge: Annotated[str, typer.Option("--judge", help="The teacher, a judge you configured.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the weights are written.")
    ] = Path("weights.json"),
    encoder: Annotated[
        Path | None,
        typer.Option(
            "--encoder",
            help="Folder of an ONNX encoder the student reads with, not the shipped one.",
        ),
    ] = None,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Teach the variant that judges by words alone.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Use at most so many rows.")] = 1_000_000,
    columns: ColumnsOption = None,
    config: ConfigPath = None,
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Learn the embedded judge's weights from another judge's verdicts on your own answers.

    The student is the judge `embedded` with its encoder, or with --lexical the one without.
    Labels in the rows are not used. The figures printed say how well the student agrees with the
    teacher: before, and on sources it was not taught on.
    """
    from rag_monitor.offline.report.agreement import print_distilled

    if judge in _STUDENTS:
        raise RagMonitorError("--judge names the teacher; the embedded judge is the student")
    if lexical and encoder:
        raise RagMonitorError(
            "--lexical teaches a student without an encoder; leave out one of both"
        )
    keep_input(file, output)
    settings = load(config)
    rows = labelled_rows(file, parse_columns(columns))[:limit]
    student = _student(encoder, lexical)
    with refusals_told(judge):
        distilled, answers = asyncio.run(
            _distil(settings, judge, file, rows, student=student, quiet=as_json)
        )
    output.write_bytes(distilled.packed)
    figures: dict[str, Any] = {
        "weights": str(output),
        "version": distilled.version,
        "teacher": judge,
        "rows": len(rows),
        "answers": answers,
        **distilled.facts,
    }
    if as_json:
        print_json(figures)
        return
    print_distilled(figures, language)
    named = f', encoder = "{encoder}"' if encoder else ""
    table = "embedded-lexical" if lexical else "embedded"
    setting = f'[judges.{table}] weights = "{output}"{named}'
    if lexical:
        choice = 'judge = "embedded-lexical"'
        setting = say("{one} and {other}", one=choice, other=setting)
    print_remark(say("use them with: {setting}", setting=setting))


def _student(encoder: Path | None, lexical: bool) -> tuple[Model, Encoder | None]:
    """The weights to start from, and the encoder they are learnt with."""
    from rag_monitor.judges.embedded import model
    from rag_monitor.judges.embedded.encoder import load_encoder, shipped_encoder

    if lexical:
        return model.lexical(), None
    if encoder is not None:
        return model.lexical(), load_encoder(encoder, 1)
    return model.full(), shipped_encoder(1)


async def _distil(
    settings: Any,
    judge: str,
    file: Path,
    rows: Sequence[LabelledRow],
    *,
    student: tuple[Model, Encoder | None],
    quiet: bool,
) -> tuple[Distilled, int]:
    """What the student learnt, and from how many answers."""
    from rag_monitor.judges.embedded.distil import distil as learn
    from rag_monitor.offline.distilling import gather_lessons

    start, reader = student
    teacher = create_judge(settings, judge)
    try:
        with Progress(console=progress_console(quiet), transient=True) as bar:
            task = bar.add_task(file.name, total=len(rows))
            lessons = await gather_lessons(
                rows, teacher, reader, lambda count: bar.advance(task, count)
            )
    finally:
        await teacher.close()
    learnt = learn(lessons, start, reader.version if reader else "")
    return learnt, len(lessons)
