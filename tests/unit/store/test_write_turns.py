"""Whose turn it is to change a SQLite file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rag_monitor.store.engine import Database
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.write_turns import WriteTurns

PATIENCE_S = 10.0


@dataclass
class Queue:
    """Threads that ask for a turn one after another, and the order in which they had it."""

    turns: WriteTurns = field(default_factory=WriteTurns)
    order: list[str] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def ask(self, name: str, *, urgent: bool = False) -> None:
        """Ask on a thread of its own; returns once it waits."""

        def run() -> None:
            self.turns.acquire(urgent=urgent)
            self.order.append(name)
            self.turns.release()

        before = self.waiting
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.threads.append(thread)
        wait_until(lambda: self.waiting > before)

    @property
    def waiting(self) -> int:
        return len(self.turns._urgent) + len(self.turns._others)

    def finish(self) -> list[str]:
        self.turns.release()
        for thread in self.threads:
            thread.join(PATIENCE_S)
        return self.order


def wait_until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.001)


@pytest.fixture
def queue() -> Queue:
    made = Queue()
    assert made.turns.acquire()
    return made


def test_turns_go_in_the_order_of_arrival(queue: Queue) -> None:
    for name in "abc":
        queue.ask(name)

    assert queue.finish() == ["a", "b", "c"]


def test_who_is_urgent_waits_only_for_the_turn_that_runs(queue: Queue) -> None:
    for name in "abc":
        queue.ask(name)
    queue.ask("traces", urgent=True)

    assert queue.finish()[0] == "traces"


def test_many_who_are_urgent_leave_every_second_turn_to_the_rest(queue: Queue) -> None:
    for name in "12":
        queue.ask(name, urgent=True)
    for name in "ab":
        queue.ask(name)

    assert queue.finish() == ["1", "a", "2", "b"]


def test_who_gives_up_waiting_leaves_the_queue(queue: Queue) -> None:
    assert not queue.turns.acquire(timeout_s=0.01)
    assert not queue.turns.acquire(urgent=True, timeout_s=0.01)
    queue.ask("a")

    assert queue.finish() == ["a"]
    assert queue.turns.acquire(timeout_s=0.0)


def test_taking_traces_in_waits_for_one_other_change_and_not_for_all_that_came_before(
    tmp_path: Path,
) -> None:
    database = Database(StoreOptions(url=f"sqlite:///{tmp_path / 'm.db'}", ballast_bytes=0))
    order: list[str] = []
    with ExitStack() as stack:
        stack.enter_context(database._exclusive())

        def change(name: str) -> None:
            with ExitStack() as inner:
                if name == "traces":
                    inner.enter_context(database.reserved())
                inner.enter_context(database._exclusive())
                order.append(name)

        threads = []
        for name in ("scores", "rollups", "traces"):
            threads.append(threading.Thread(target=change, args=(name,), daemon=True))
            threads[-1].start()
            waits = len(threads)
            wait_until(
                lambda waits=waits: (  # type: ignore[misc]
                    len(database._turns._urgent) + len(database._turns._others) == waits
                )
            )
    for thread in threads:
        thread.join(PATIENCE_S)

    assert order == ["traces", "scores", "rollups"]
