"""How the story looks in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from rag_monitor.demo.monitor import Observed

METRICS: Final = (
    "faithfulness",
    "context_precision",
    "context_relevance",
    "answer_relevance",
)
_GOOD: Final = 0.8
_FAIR: Final = 0.5


class Display:
    """A table of the metrics before and after, redrawn while the story goes on.

    Args:
        console: Where to draw; a quiet console draws nothing.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8, transient=False)
        self._step = ""
        self._before = Observed()
        self._after = Observed()
        self._firing: Sequence[str] = ()

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        if not self._console.is_terminal:
            self._console.line()

    def say(self, line: str) -> None:
        """Print one line above the table; it stays. Markup is read."""
        self._live.console.print(line)

    def step(self, text: str) -> None:
        """What is going on now."""
        self._step = text
        self._draw()

    def show(self, before: Observed, after: Observed, firing: Sequence[str]) -> None:
        """The newest figures and the names of the firing rules."""
        self._before, self._after, self._firing = before, after, firing
        self._draw()

    def _draw(self) -> None:
        table = Table(title=self._step, title_justify="left", expand=False)
        table.add_column("metric")
        table.add_column(f"good ({self._before.scored()} scored)", justify="right")
        table.add_column(f"broken ({self._after.scored()} scored)", justify="right")
        for metric in METRICS:
            table.add_row(
                metric, _figure(self._before.mean(metric)), _figure(self._after.mean(metric))
            )
        for name in self._firing:
            table.add_row(f"[bold red]ALERT firing: {name}[/]", "", "")
        self._live.update(table)


def _figure(value: float | None) -> str:
    if value is None:
        return "·"
    colour = "green" if value >= _GOOD else "yellow" if value >= _FAIR else "red"
    return f"[{colour}]{value:.2f}[/]"
