"""`rag-monitor demo`: watch an application break, and the alert fire."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from rag_monitor.cli.output import AsJson, print_fields, print_json
from rag_monitor.cli.settings import environment
from rag_monitor.cli.words import LanguageOption, fields_in, say
from rag_monitor.demo.breaking import Break
from rag_monitor.i18n import ENGLISH, Message
from rag_monitor.metrics.fault_words import STAGES


def demo(
    once: Annotated[
        bool | None,
        typer.Option(
            "--once/--stay",
            help="Stop when the alerts have fired, or keep running until Ctrl-C.",
            show_default="--stay on a terminal, --once elsewhere",
        ),
    ] = None,
    as_json: AsJson = False,
    questions: Annotated[
        int, typer.Option(min=25, max=2000, help="Questions before and after the break.")
    ] = 48,
    breaks: Annotated[
        Break, typer.Option("--break", help="What the bad release breaks.")
    ] = Break.BOTH,
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
    language: LanguageOption = ENGLISH,
) -> None:
    """Start monitor and application, break the application, show how it is noticed.

    Everything stays on this machine. On a terminal both keep running until Ctrl-C; a script, which
    could not press it, gets its prompt back when the alerts have fired.
    """
    if model_url and not model:
        raise typer.BadParameter(Message("name the model at --model-url with --model"))
    from rag_monitor.demo.display import Display
    from rag_monitor.demo.story import StoryOptions, tell

    # Being told to end must also end the children.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = StoryOptions(
        questions=questions,
        env=environment(),
        model_url=model_url,
        model=model,
        breaks=breaks,
        stay=sys.stdout.isatty() if once is None else not once,
    )
    with Display(Console(stderr=as_json), language) as display:
        report = asyncio.run(tell(options, display))
    if as_json:
        print_json(report)
    else:
        print_fields(_shown_report(report, language))


_SHOWN_FIGURES: Final = (
    "traces", "scored", "judge", "first_byte_ms_p50", "generation_ms_p50", "end_to_end_ms_p50",
    "seconds",
)  # fmt: skip
"""Figures that are told as they are; the table holds those of the metrics."""


def _shown_report(report: dict[str, Any], language: str) -> dict[str, Any]:
    """The report for a reader: one line a figure, an alert, a hit rate."""
    lines = fields_in({name: report[name] for name in _SHOWN_FIGURES}, language)
    for stage in STAGES:
        shares = [report["stages_at_fault"][phase].get(stage, 0.0) for phase in ("before", "after")]
        if any(shares):
            named = say("at fault: {stage}", stage=Message(STAGES[stage]).lowered())
            lines[named] = say(
                "{before:.0%} before, {after:.0%} after", before=shares[0], after=shares[1]
            )
    for alert in report["alerts"]:
        after = say("fired after {seconds:.1f} s", seconds=alert["fired_after_s"] or 0)
        lines[alert["rule"]] = after
    rates = report["hit_rate"]
    for name in dict.fromkeys(basis.rpartition("/")[0] for basis in rates):
        lines[name] = say(
            "hit by {all:.0%} of all, by {expected:.0%} of those that expected it",
            all=rates.get(f"{name}/all") or 0,
            expected=rates.get(f"{name}/expected") or 0,
        )
    return lines
