"""`rag-monitor evaluate`: score the rows of a file with every metric they have labels for."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from rag_monitor.cli import FAILED
from rag_monitor.cli.file_rows import ColumnsOption, parse_columns
from rag_monitor.cli.judging import JudgeName, RowsFile, create_judge, refusals_told
from rag_monitor.cli.missing import DEFAULT, MaxMissing, tell_missing
from rag_monitor.cli.output import (
    AsJson,
    keep_input,
    print_json,
    print_line,
    print_problem,
    print_remark,
    progress_console,
)
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.cli.words import LanguageOption
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import ENGLISH, Message
from rag_monitor.spelling import did_you_mean

_REMARKS: Final = 10
_NO_JUDGE: Final = "none"


def evaluate(
    file: RowsFile,
    judge: JudgeName = "embedded",
    metrics: Annotated[
        str | None,
        typer.Option(help="Comma-separated; default: all that the rows have labels for."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Scores, one line per row: .jsonl, .csv or .parquet."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an output file that was interrupted.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Report for people: .html, .md or .json.")
    ] = None,
    language: LanguageOption = ENGLISH,
    columns: ColumnsOption = None,
    targets: Annotated[
        str | None, typer.Option(help="Target profile: a shipped name or a .toml file.")
    ] = None,
    fail_under: Annotated[
        bool, typer.Option("--fail-under", help="Exit with 1 when a target is missed.")
    ] = False,
    max_missing: MaxMissing = DEFAULT,  # type: ignore[assignment] # parsed like what is typed
    terms: Annotated[
        Path | None, typer.Option(help="Domain terms that are never cut, one a line.")
    ] = None,
    key_terms: Annotated[
        Path | None,
        typer.Option(help="Key terms with their weight in ROUGE, one a line: `revenue 3`."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, help="Cut-off of ranking metrics.")] = None,
    bertscore_model: Annotated[
        str | None, typer.Option(help="Encoder for BERTScore and semantic similarity.")
    ] = None,
    perplexity_model: Annotated[
        str | None, typer.Option(help="Causal language model for perplexity.")
    ] = None,
    similarity_weight: Annotated[
        float, typer.Option(min=0, max=1, help="Share of similarity in answer_correctness.")
    ] = 0.25,
    summary_coefficient: Annotated[
        float, typer.Option(min=0, max=1, help="Share of conciseness in summary_score.")
    ] = 0.5,
    no_summary_length: Annotated[
        bool,
        typer.Option("--no-summary-length", help="Leave conciseness out of summary_score."),
    ] = False,
    processes: Annotated[int, typer.Option(min=0, help="Processes for text metrics.")] = 2,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Score every row; rows that cannot be scored are reported and do not stop the others.

    Exit 1 when no row could be scored, 3 when the judge's server refuses everything.
    """
    from rag_monitor.metrics.rag import ScoringOptions
    from rag_monitor.metrics.targets import load_profile
    from rag_monitor.offline.report.files import check_report
    from rag_monitor.offline.run_settings import FileOptions
    from rag_monitor.offline.selection import check_targets_exist

    check_report(report, language)
    keep_input(file, output, report)
    profile = load_profile(targets) if targets else None
    if profile is not None:
        check_targets_exist(profile)
    if fail_under and profile is None:
        raise ConfigurationError("--fail-under needs --targets: what should not be missed?")
    if resume and output is None:
        raise ConfigurationError("--resume needs --output: the file to go on with")
    options = FileOptions(
        metrics=_names(metrics),
        columns=parse_columns(columns),
        output=output,
        resume=resume,
        text=_text_options(terms, key_terms),
        processes=processes,
        k=k,
        encoder=bertscore_model,
        perplexity=perplexity_model,
        similarity_share=similarity_weight,
        scoring=ScoringOptions(conciseness_share=0.0 if no_summary_length else summary_coefficient),
        targets=tuple(target.metric for target in profile.targets) if profile else (),
    )
    with refusals_told(judge, resumable=output is not None and output.suffix != ".parquet"):
        outcome = asyncio.run(_run(file, judge, options, profile, config, quiet=as_json))
    _show(outcome, report, language, as_json=as_json)
    _refuse_nothing(outcome)
    if fail_under:
        _gate(outcome, max_missing)


def _text_options(terms: Path | None, key_terms: Path | None) -> Any:
    """How texts are cut and weighed; a key term is a term, too."""
    from rag_monitor.metrics.text.suite import TextOptions
    from rag_monitor.metrics.text.tokens import Tokenizer, read_terms, read_weights

    for option, path in (("--terms", terms), ("--key-terms", key_terms)):
        if path is not None and not path.is_file():
            raise ConfigurationError("{option}: there is no file {path}", option=option, path=path)
    weights = read_weights(key_terms) if key_terms else {}
    whole = dict.fromkeys((*(read_terms(terms) if terms else ()), *weights))
    return TextOptions(tokenizer=Tokenizer(terms=tuple(whole)), weights=weights)


def _names(metrics: str | None) -> tuple[str, ...] | None:
    if metrics is None:
        return None
    names = tuple(name.strip() for name in metrics.split(",") if name.strip())
    if not names:
        raise ConfigurationError("--metrics names none; leave it out for all")
    return names


async def _run(
    file: Path, judge_name: str, options: Any, profile: Any, config: Path | None, *, quiet: bool
) -> Any:
    from rag_monitor.offline.file_run import FileEvaluation
    from rag_monitor.offline.rows import count_rows
    from rag_monitor.offline.selection import needs_judge

    total = count_rows(file)
    wanted = judge_name != _NO_JUDGE and needs_judge(options.metrics)
    judge = create_judge(load(config), judge_name) if wanted else None
    began = time.monotonic()
    try:
        run = FileEvaluation(file, options, judge, total)
        with _progress(quiet) as bar:
            task = bar.add_task(file.name, total=total)
            await run.run(lambda: bar.advance(task))
    finally:
        if judge is not None:
            await judge.close()
    return run.tally.report(
        file=file.name,
        created_at=datetime.now(UTC),
        judge=str(judge.identity) if judge is not None and run.selection.needs_judge else None,
        seconds=time.monotonic() - began,
        profile=profile,
        notes=run.notes(),
    )


def _progress(quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=progress_console(quiet),
        transient=True,
    )


def _show(outcome: Any, path: Path | None, language: str, *, as_json: bool) -> None:
    from rag_monitor.offline.report.files import write_report
    from rag_monitor.offline.report.terminal import print_report
    from rag_monitor.offline.report.words import Words

    words = Words(language)
    for error in (*outcome.errors[:_REMARKS], *outcome.unread[:_REMARKS]):
        print_remark(words.error(error))
    if path is not None:
        write_report(outcome, path, language)
    if as_json:
        print_json(outcome.as_dict())
        return
    print_report(outcome, language)
    if path is not None:
        print_line(str(path))


def _refuse_nothing(outcome: Any) -> None:
    """Exit with 1 when no row came to anything: a script that goes on would go on with nothing."""
    if not outcome.rows:
        print_problem("{file} has no rows", file=outcome.file)
        raise typer.Exit(FAILED)
    scored = [metric for metric in outcome.metrics if metric.scored or metric.not_applicable]
    judged_none = any(metric.failed for metric in outcome.metrics) and not scored
    if outcome.failed_rows == outcome.rows or judged_none:
        print_problem("none of the {count} rows could be evaluated", count=outcome.rows)
        raise typer.Exit(FAILED)


def _gate(outcome: Any, max_missing: float) -> None:
    """Exit with 1 when a target is missed, or rests on too few of the rows, or on none."""
    from rag_monitor.offline.figures import names_a_label
    from rag_monitor.offline.missing import exceeds

    missed = [target for target in outcome.targets if target.met is False]
    for target in missed:
        print_problem(
            "target missed: {metric} {value:.3f}, wanted {bound}",
            metric=target.metric,
            value=target.value,
            bound=target.bound,
        )
    incomplete = [t for t in outcome.targets if exceeds(t.missing_share, max_missing)]
    for target in incomplete:
        tell_missing(
            "{metric}: rows without a score: {share}, more than {allowed} (--max-missing): "
            "{reasons}",
            target.missing_share,
            target.missing,
            max_missing,
            metric=target.metric,
        )
    unknown = [target.metric for target in outcome.targets if target.met is None]
    if unknown:
        figures = list(outcome.figures)
        names = [
            Message("{name}{meant}", name=name, meant=did_you_mean(name, figures))
            if names_a_label(name)
            else name
            for name in unknown
        ]
        print_problem("targets not measured: {names}", names=tuple(names))
    lost = len(unknown) == len(outcome.targets) or any(map(names_a_label, unknown))
    if missed or incomplete or lost:
        raise typer.Exit(1)
