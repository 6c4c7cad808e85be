"""`rag-monitor serve`: run the monitor."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rag_monitor.cli.output import AsJson, print_json
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.cli.words import PagesLanguageOption


class Role(StrEnum):
    """Which part of the monitor this process is."""

    ALL = "all"
    INGEST = "ingest"
    API = "api"
    WORKER = "worker"


def serve(
    role: Annotated[Role, typer.Option(help="Part of the monitor this process runs.")] = Role.ALL,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; default 127.0.0.1.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Default 8700.")] = None,
    config: ConfigPath = None,
    language: PagesLanguageOption = None,
    as_json: AsJson = False,
) -> None:
    """Take traces in, judge them, serve the page and the API, until told to stop."""
    from rag_monitor.server.run import serve as run

    given = {"host": host, "port": port, "role": role.value, "language": language}
    settings = load(config, given)
    if as_json:
        print_json({"serving": True, "role": role.value})
    run(settings)
