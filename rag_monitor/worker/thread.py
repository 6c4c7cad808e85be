"""The worker's own thread and event loop.

Between its waits the worker scores and prepares whole batches. On the event loop that serves
requests, everybody who asks would wait for these.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from rag_monitor.worker.runtime import Runtime

_JOB_THREADS: Final = 32
"""More than there are jobs: one that hangs keeps none of the others from running."""

_GIVE_BACK_S: Final = 1.0
JOB_THREADS: Final = "jobs"
"""Beginning of the names of threads that do the blocking part of jobs."""

T = TypeVar("T")


class WorkerThread:
    """Runs what a runtime does in the background; every method is called from another event loop.

    The thread is a daemon: an event loop that hangs holds up no end of the process.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(_JOB_THREADS, JOB_THREADS))
        self._thread = threading.Thread(target=self._serve, name="worker", daemon=True)

    async def start(self) -> None:
        """Start the worker, where this process has one; what that raises is raised here."""
        self._thread.start()
        if self._runtime.worker is not None:
            await self._run(self._runtime.worker.start())

    async def stop(self) -> None:
        """Finish what is in hand, within the drain time."""
        if self._runtime.worker is not None:
            await self._run(self._runtime.worker.stop())

    async def close(self) -> None:
        """Release judges and channels, and end the thread."""
        await self._run(self._runtime.close())
        await self.abandon()

    async def abandon(self) -> None:
        """End the thread now; jobs that are cut short give back what they hold, within a second."""
        if not self._thread.is_alive():
            self._loop.close()  # where it was never started
            return
        try:
            await asyncio.wait_for(self._run(_cancel_others()), _GIVE_BACK_S)
        except TimeoutError:
            return  # the loop hangs, and ends with the process
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, _GIVE_BACK_S)

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
