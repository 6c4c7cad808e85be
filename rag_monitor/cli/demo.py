"""`rag-monitor demo`: watch an application break, and the alert fire."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer
from rich.console import Console

from rag_monitor.cli.output import AsJson, print_fields, print_json
from rag_monitor.cli.settings import environment


def demo(
    once: Annotated[bool, typer.Option("--once", help="Stop when the alerts have fired.")] = False,
    as_json: AsJson = False,
    questions: Annotated[
        int, typer.Option(min=25, max=2000, help="Questions before and after the break.")
    ] = 48,
    model_url: Annotated[
        str,
        typer.Option(
            envvar="RAG_MONITOR_DEMO_MODEL_URL",
            help="OpenAI-compatible address that writes the good answers.",
        ),
    ] = "",
    model: Annotated[
        str, typer.Option(envvar="RAG_MONITOR_DEMO_MODEL", help="Model name at that address.")
    ] = "",
) -> None:
    """Start monitor and application, break the application, show how it is noticed.

    Everything stays on this machine. Without --once both keep running until Ctrl-C.
    """
    if model_url and not model:
        raise typer.BadParameter("name the model at --model-url with --model")
    from rag_monitor.demo.display import Display
    from rag_monitor.demo.story import StoryOptions, tell

    # Being told to end must also end the children.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = StoryOptions(
        questions=questions,
        env=environment(),
        model_url=model_url,
        model=model,
        stay=not once,
    )
    with Display(Console(stderr=as_json)) as display:
        report = asyncio.run(tell(options, display))
    if as_json:
        print_json(report)
    else:
        print_fields(report)
