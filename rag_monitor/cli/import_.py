"""`rag-monitor import`: replay recorded traffic into a running monitor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from rag_monitor.cli.output import AsJson, print_fields, print_json, print_remark, progress_console
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.replay import Pace, Replay, read_rows


def import_file(
    file: Annotated[Path, typer.Argument(help="Trace JSON lines: .jsonl or .jsonl.gz.")],
    speed: Annotated[
        float, typer.Option(min=0, help="Traces per second; 0: as fast as the monitor takes them.")
    ] = 0.0,
    app: Annotated[str | None, typer.Option(help="Application name for rows without one.")] = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds to keep trying while the monitor is away.")
    ] = 120.0,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Send every row once. Rows with an id can be imported again: nothing is stored twice."""
    pace = Pace(per_second=speed, patience_s=patience)
    with (
        Remote(url, api_key) as monitor,
        Progress(console=progress_console(as_json), transient=True) as bar,
    ):
        task = bar.add_task(file.name, total=None)
        replay = Replay(monitor, pace, on_sent=lambda count: bar.update(task, completed=count))
        outcome = replay.run(read_rows(file, app))
    for problem in outcome.problems[:10]:
        print_remark(problem)
    if as_json:
        print_json(outcome.as_dict())
    else:
        print_fields(outcome.as_dict())
    if outcome.rejected:
        raise typer.Exit(1)
