import io

import pytest
from rich.console import Console

from rag_monitor.demo.display import Display
from rag_monitor.demo.monitor import Observed
from rag_monitor.i18n import Message, translate


@pytest.mark.parametrize(
    ("language", "name"), [("en", "Faithfulness "), ("zh", "忠实度（faithfulness）")]
)
def test_in_a_pipe_every_step_is_told_at_once_and_the_table_once(language: str, name: str) -> None:
    drawn = io.StringIO()
    starting = Message("Starting the monitor and the application …")
    fired = Message("The alerts fired.")
    rule = Message("ALERT firing: {rule}", rule="faithfulness drop")

    with Display(Console(file=drawn, width=100), language) as display:
        display.step(starting)
        told = drawn.getvalue()
        display.show(Observed(), Observed(), [])
        display.show(Observed(), Observed(), ["faithfulness drop"])
        waiting = drawn.getvalue()
        display.conclude(fired)
        concluded = drawn.getvalue()

    assert told.strip() == translate(starting, language)
    assert waiting == told
    assert translate(rule, language) in concluded
    assert concluded.count(name) == 1
    assert drawn.getvalue() == concluded


@pytest.mark.parametrize(
    ("language", "row"), [("en", "at fault: generation"), ("zh", "出错环节：生成")]
)
def test_stages_at_fault_stand_beside_the_metrics(language: str, row: str) -> None:
    drawn = io.StringIO()
    good = Observed(traces={"a": {"scores": [], "faults": [{"stage": None}]}})
    broken = Observed(traces={"b": {"scores": [], "faults": [{"stage": "generation"}]}})

    with Display(Console(file=drawn, width=100), language) as display:
        display.show(good, broken, [])
        display.conclude(Message("The alerts fired."))

    (line,) = [line for line in drawn.getvalue().splitlines() if row in line]
    assert [cell.strip() for cell in line.strip("│ ").split("│")] == [row, "0%", "100%"]
    assert "retrieval" not in drawn.getvalue()
