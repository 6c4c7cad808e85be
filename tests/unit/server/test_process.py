"""How a serving process sets the interpreter up."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_monitor.config import Settings
from rag_monitor.server import run
from rag_monitor.server.process import tune_interpreter


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


class Knot:
    """Keeps itself alive."""

    gone = 0

    def __init__(self) -> None:
        self.self = self

    def __del__(self) -> None:
        Knot.gone += 1


def test_what_is_loaded_is_left_out_and_looks_are_seldom() -> None:
    before = gc.get_threshold()[0]
    tune_interpreter()

    assert gc.get_freeze_count() > 1000
    assert gc.get_threshold()[0] > before


def test_threads_take_shorter_turns() -> None:
    before = sys.getswitchinterval()
    tune_interpreter()

    assert sys.getswitchinterval() < before


def test_garbage_is_still_found() -> None:
    tune_interpreter()
    Knot.gone = 0
    for _ in range(3 * gc.get_threshold()[0]):
        Knot()

    assert Knot.gone > 0


def test_garbage_of_before_is_gone() -> None:
    Knot.gone = 0
    Knot()
    tune_interpreter()

    assert Knot.gone == 1


async def test_a_process_does_so_once_it_is_set_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[str] = []

    async def listen(*_: object) -> None:
        done.append("listens")

    monkeypatch.setattr(run, "tune_interpreter", lambda: done.append("tunes"))
    monkeypatch.setattr(run, "_listen", listen)
    await run._Process(Settings(database_url=f"sqlite:///{tmp_path}/monitor.db")).run()

    assert done == ["tunes", "listens"]
