"""All commands in one typer application."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_monitor import __version__
from rag_monitor.cli import (
    agreement,
    alerts,
    compare,
    database,
    demo,
    doctor,
    documents,
    erase,
    evaluate,
    export,
    fitting,
    golden,
    import_,
    keys,
    labels,
    listing,
    rules,
    serve,
    silences,
    tasks,
)
from rag_monitor.cli.words import choose_none

app = typer.Typer(
    name="rag-monitor",
    help="Quality monitoring for retrieval-augmented generation in production.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def rag_monitor(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Quality monitoring for retrieval-augmented generation in production."""
    del version
    choose_none()


app.command("demo", short_help="See it work: an application breaks, alerts fire.")(demo.demo)
app.command("serve", short_help="Run the monitor.")(serve.serve)
app.command("migrate", short_help="Create or upgrade the database's tables.")(database.migrate)
app.command("recover", short_help="Copy what is readable of a damaged SQLite file.")(
    database.recover
)
app.command("import", short_help="Send a file of traces, or another tool's export.")(
    import_.import_file
)
app.command("export", short_help="Write stored traces with their scores to a file.")(export.export)
app.command("traces", short_help="Find traces by every filter.")(listing.traces)
app.command("sessions", short_help="Find sessions by every filter.")(listing.sessions)
app.command("erase", short_help="Erase everything of one user.")(erase.erase)
app.command("evaluate", short_help="Score the rows of a file.")(evaluate.evaluate)
app.command("compare", short_help="Compare two files of scores, row by row.")(compare.compare)
app.command("golden", short_help="Ask an endpoint labelled questions and judge them.")(
    golden.golden
)
app.command("agreement", short_help="Measure a judge on labelled rows.")(agreement.agreement)
app.command("calibrate", short_help="Fit a judge's probabilities to labelled rows.")(
    fitting.calibrate
)
app.command("distil", short_help="Teach the embedded judge what another judge says.")(
    fitting.distil
)
app.command("backfill", short_help="Judge stored traces again.")(tasks.backfill)
app.add_typer(tasks.app, name="tasks")
app.add_typer(rules.app, name="rules")
app.add_typer(alerts.app, name="alerts")
app.add_typer(silences.app, name="silences")
app.add_typer(documents.app, name="documents")
app.add_typer(labels.app, name="labels")
app.add_typer(keys.app, name="keys")
app.command("doctor", short_help="Check installation, database, judge and channels.")(doctor.doctor)
