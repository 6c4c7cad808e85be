"""`rag-monitor compare`: two evaluations of the same rows, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rag_monitor.cli.missing import DEFAULT, MaxMissing, tell_missing
from rag_monitor.cli.output import AsJson, keep_input, print_json, print_problem
from rag_monitor.cli.words import LanguageOption
from rag_monitor.i18n import ENGLISH


def compare(
    a: Annotated[Path, typer.Argument(help="Before: an output of `evaluate`.")],
    b: Annotated[Path, typer.Argument(help="After: an output of `evaluate` on the same rows.")],
    worst: Annotated[int, typer.Option(min=0, help="Regressions to list.")] = 10,
    language: LanguageOption = ENGLISH,
    max_missing: MaxMissing = DEFAULT,  # type: ignore[assignment] # parsed like what is typed
    fail_on_loss: Annotated[
        bool, typer.Option("--fail-on-loss", help="Exit with 1 when a metric is clearly worse.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Report for people: .html, .md or .json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Paired differences with 95 % intervals, and the rows that lost most.

    Exit 1 when too many rows have a score in one file only, or in neither.
    """
    from rag_monitor.offline.paired import INCOMPLETE, compare_files
    from rag_monitor.offline.report.comparison import write_comparison
    from rag_monitor.offline.report.files import check_report
    from rag_monitor.offline.report.terminal import print_comparison

    check_report(report, language)
    for file in (a, b):
        keep_input(file, report)
    comparison = compare_files(a, b, worst=worst, max_missing=max_missing)
    if comparison.other_judges:
        print_problem(
            "A was judged by {first} and B by {other}: what differs may be the judges",
            first=", ".join(comparison.judges_a),
            other=", ".join(comparison.judges_b),
        )
    if comparison.settings_a:
        print_problem(
            "A was computed with {first} and B with {other}: what differs may be the settings",
            first=comparison.settings_a,
            other=comparison.settings_b,
        )
    if report is not None:
        write_comparison(comparison, (a.name, b.name), report, language)
    if as_json:
        print_json(comparison.as_dict())
    else:
        print_comparison(comparison, language)
    incomplete = [row for row in comparison.metrics if row.verdict == INCOMPLETE]
    for row in incomplete:
        tell_missing(
            "{metric}: rows without a pair of scores: {share}, more than {allowed} "
            "(--max-missing): {reasons}",
            row.missing_share,
            row.missing,
            max_missing,
            metric=row.metric,
        )
    if incomplete or (fail_on_loss and any(row.verdict == "worse" for row in comparison.metrics)):
        raise typer.Exit(1)
