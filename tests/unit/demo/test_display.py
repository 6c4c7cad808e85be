import io
from string import Formatter

import pytest
from rich.console import Console

from rag_monitor.demo.display import Display
from rag_monitor.demo.monitor import Observed
from rag_monitor.demo.words import WORDS


@pytest.mark.parametrize(
    ("language", "name"), [("en", "Faithfulness "), ("zh", "忠实度（faithfulness）")]
)
def test_in_a_pipe_every_step_is_told_at_once_and_the_table_once(language: str, name: str) -> None:
    drawn, words = io.StringIO(), WORDS[language]

    with Display(Console(file=drawn, width=100), words) as display:
        display.step(words.starting)
        told = drawn.getvalue()
        display.show(Observed(), Observed(), [])
        display.show(Observed(), Observed(), ["faithfulness drop"])
        waiting = drawn.getvalue()
        display.conclude(words.fired)
        concluded = drawn.getvalue()

    assert told.strip() == words.starting
    assert waiting == told
    assert words.firing.format(rule="faithfulness drop") in concluded
    assert concluded.count(name) == 1
    assert drawn.getvalue() == concluded


def test_both_languages_fill_in_the_same() -> None:
    def filled(sentence: str) -> set[str | None]:
        return {name for _, name, _, _ in Formatter().parse(sentence) if name}

    for name in WORDS["en"].__slots__:
        assert filled(getattr(WORDS["en"], name)) == filled(getattr(WORDS["zh"], name)), name
