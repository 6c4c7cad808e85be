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
    thresholds, callbacks, interval = (
        gc.get_threshold(),
        list(gc.callbacks),
        sys.getswitchinterval(),
    )
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)
    gc.callbacks[:] = callbacks
    gc.unfreeze()


def test_threads_take_shorter_turns() -> None:
    before = sys.getswitchinterval()
    tune_interpreter()

    assert sys.getswitchinterval() < before


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
