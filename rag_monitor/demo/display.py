"""How the story looks in a terminal, and in a file or a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from rag_monitor.demo.monitor import Observed
from rag_monitor.domain.fault import Stage
from rag_monitor.i18n import Message, translate
from rag_monitor.metrics.fault_words import STAGES
from rag_monitor.metrics.names import with_display_names

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

    Where nothing can be redrawn, each step is a line, and the table comes once, at the end.

    Args:
        console: Where to draw; a quiet console draws nothing.
        language: Of the reader.
    """

    def __init__(self, console: Console, language: str) -> None:
        self._language = language
        self._console = console
        self._live = (
            Live(console=console, refresh_per_second=8, transient=False)
            if console.is_terminal
            else None
        )
        self._step = ""
        self._before = Observed()
        self._after = Observed()
        self._firing: Sequence[str] = ()

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def say(self, line: Message) -> None:
        """Print one line above the table; it stays. Markup is read."""
        self._console.print(translate(line, self._language), soft_wrap=True)

    def step(self, text: Message) -> None:
        """What is going on now."""
        self._step = translate(text, self._language)
        if self._live:
            self._draw()
        else:
            self.say(text)

    def show(self, before: Observed, after: Observed, firing: Sequence[str]) -> None:
        """The newest figures and the names of the firing rules."""
        self._before, self._after, self._firing = before, after, firing
        self._draw()

    def conclude(self, text: Message) -> None:
        """The last step: from here on the table stays as it is."""
        self.step(text)
        if self._live is None:
            self._console.print(self._table())

    def _draw(self) -> None:
        if self._live:
            self._live.update(self._table())

    def _table(self) -> Table:
        language = self._language
        good = Message("good ({count} scored)", count=self._before.scored())
        broken = Message("broken ({count} scored)", count=self._after.scored())
        table = Table(title=self._step if self._live else None, title_justify="left", expand=False)
        table.add_column(translate(Message("metric"), language))
        table.add_column(translate(good, language), justify="right")
        table.add_column(translate(broken, language), justify="right")
        for metric in METRICS:
            table.add_row(
                with_display_names(metric, language),
                _figure(self._before.mean(metric)),
                _figure(self._after.mean(metric)),
            )
        then, now = self._before.stages_at_fault(), self._after.stages_at_fault()
        for stage in (stage for stage in STAGES if stage in then or stage in now):
            table.add_row(
                translate(Message("at fault: {stage}", stage=_named(stage)), language),
                f"{then.get(stage, 0.0):.0%}" if self._before.traces else "·",
                f"{now.get(stage, 0.0):.0%}" if self._after.traces else "·",
            )
        for name in self._firing:
            firing = translate(Message("ALERT firing: {rule}", rule=name), language)
            table.add_row(f"[bold red]{firing}[/]", "", "")
        return table


def _named(stage: Stage) -> Message:
    return Message(STAGES[stage]).lowered()


def _figure(value: float | None) -> str:
    if value is None:
        return "·"
    colour = "green" if value >= _GOOD else "yellow" if value >= _FAIR else "red"
    return f"[{colour}]{value:.2f}[/]"
