"""All commands in one typer application."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_monitor import __version__
from rag_monitor.cli import (
    agreement,
    backfill,
    calibrate,
    compare,
    demo,
    distil,
    doctor,
    erase,
    evaluate,
    export,
    golden,
    import_,
    keys,
    migrate,
    rules,
    serve,
)

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


app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.command("migrate")(migrate.migrate)
app.command("import")(import_.import_file)
app.command("export")(export.export)
app.command("erase")(erase.erase)
app.command("evaluate")(evaluate.evaluate)
app.command("compare")(compare.compare)
app.command("golden")(golden.golden)
app.command("agreement")(agreement.agreement)
app.command("calibrate")(calibrate.calibrate)
app.command("distil")(distil.distil)
app.command("backfill")(backfill.backfill)
app.add_typer(rules.app, name="rules")
app.add_typer(keys.app, name="keys")
app.command("doctor")(doctor.doctor)
