"""How often a serving process looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_monitor.config import Settings
from rag_monitor.server import run
from rag_monitor.server.collector import collect_seldom


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
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
    collect_seldom()

    assert gc.get_freeze_count() > 1000
    assert gc.get_threshold()[0] > before


def test_garbage_is_still_found() -> None:
    collect_seldom()
    Knot.gone = 0
    for _ in range(3 * gc.get_threshold()[0]):
        Knot()

    assert Knot.gone > 0


def test_garbage_of_before_is_gone() -> None:
    Knot.gone = 0
    Knot()
    collect_seldom()

    assert Knot.gone == 1


async def test_a_process_does_so_once_it_is_set_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[str] = []

    async def listen(*_: object) -> None:
        done.append("listens")

    monkeypatch.setattr(run, "collect_seldom", lambda: done.append("collects seldom"))
    monkeypatch.setattr(run, "_listen", listen)
    await run._Process(Settings(database_url=f"sqlite:///{tmp_path}/monitor.db")).run()

    assert done == ["collects seldom", "listens"]
