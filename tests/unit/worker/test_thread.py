"""The worker runs apart from the event loop that serves requests."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from rag_monitor.worker.thread import WorkerThread

PATIENCE_S = 10.0


class Worker:
    """Blocks its event loop from start to stop, as scoring a large batch does."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.blocks = threading.Event()
        self.goes_on = threading.Event()
        self.ended: list[str] = []
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self.error is not None:
            raise self.error
        asyncio.get_running_loop().call_later(0.05, self._block)

    def _block(self) -> None:
        self.blocks.set()
        self.goes_on.wait(PATIENCE_S)

    async def stop(self) -> None:
        self.ended.append("worker")

    async def hang(self) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            self.ended.append("task")


def thread_of(worker: Worker | None) -> WorkerThread:
    async def close() -> None:
        if worker is not None:
            worker.ended.append("runtime")
            worker.task = asyncio.create_task(worker.hang())
            await asyncio.sleep(0)

    return WorkerThread(SimpleNamespace(worker=worker, close=close))  # type: ignore[arg-type]


async def test_a_worker_that_computes_keeps_no_request_waiting() -> None:
    worker = Worker()
    thread = thread_of(worker)
    await thread.start()

    assert await asyncio.to_thread(worker.blocks.wait, PATIENCE_S)
    await asyncio.sleep(0)  # would not come back on the worker's event loop
    assert not worker.goes_on.is_set()

    worker.goes_on.set()
    await thread.stop()
    await thread.close()
    assert worker.ended == ["worker", "runtime", "task"]
    await asyncio.to_thread(thread._thread.join, PATIENCE_S)
    assert not thread._thread.is_alive()


async def test_what_keeps_a_worker_from_starting_is_raised() -> None:
    thread = thread_of(Worker(error=RuntimeError("no table")))

    with pytest.raises(RuntimeError, match="no table"):
        await thread.start()
    await thread.close()


async def test_a_process_without_a_worker_closes_what_it_has() -> None:
    thread = thread_of(None)

    await thread.start()
    await thread.stop()
    await thread.close()
