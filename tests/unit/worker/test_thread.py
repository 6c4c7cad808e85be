"""The worker runs apart from the event loop that serves requests."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from rag_monitor.server.process import _busy
from rag_monitor.worker.thread import WorkerThread

PATIENCE_S = 10.0


class Worker:
    """Blocks its event loop from start to stop, as scoring a large batch does."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.blocks = threading.Event()
        self.goes_on = threading.Event()
        self.went_on = False
        self.ended: list[str] = []
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self.error is not None:
            raise self.error
        asyncio.get_running_loop().call_later(0.05, self._block)

    def _block(self) -> None:
        self.blocks.set()
        self.went_on = self.goes_on.wait(PATIENCE_S)

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
    worker.goes_on.set()  # on the worker's event loop nobody could say so
    await thread.stop()
    await thread.close()
    assert worker.went_on
    assert worker.ended == ["worker", "runtime", "task"]
    assert not thread._thread.is_alive()


async def test_a_job_that_hangs_is_named_at_the_end_of_the_process() -> None:
    thread = thread_of(None)
    await thread.start()
    hangs, goes_on = threading.Event(), threading.Event()

    def hang() -> None:
        hangs.set()
        goes_on.wait(PATIENCE_S)

    work = asyncio.run_coroutine_threadsafe(asyncio.to_thread(hang), thread._loop)
    assert await asyncio.to_thread(hangs.wait, PATIENCE_S)
    busy = _busy()
    goes_on.set()
    await asyncio.wrap_future(work)
    await thread.close()

    assert any(name.startswith("jobs") for name in busy)
    assert not any("_worker" in name for name in busy)


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


async def test_jobs_that_are_cut_short_give_back_what_they_hold() -> None:
    worker = Worker()
    thread = thread_of(worker)
    await thread.start()
    worker.goes_on.set()
    hanging = asyncio.run_coroutine_threadsafe(worker.hang(), thread._loop)
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), thread._loop))

    await thread.abandon()

    assert worker.ended == ["task"]
    assert hanging.cancelled()
    assert not thread._thread.is_alive()
    await thread.abandon()  # once more does nothing
