"""Readiness that is told within a second, whatever the database does meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

PATIENCE_S: Final = 0.7
"""How long an answer waits for a look that is under way."""
BELIEVED_S: Final = 10.0
"""A report so young still stands for one that is late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """Whether this process can do its work."""

    ready: bool
    checks: Mapping[str, str] = field(default_factory=dict)
    """Per part (`store`, `scheduler`, `judge` …) `ok`, or one sentence on what is wrong."""


class Readiness:
    """Looks on a thread of its own, once for all who ask at the same time.

    Args:
        look: How the process is; may hang.
    """

    def __init__(self, look: Callable[[], HealthReport]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._under_way: Future[HealthReport] | None = None
        self._began = 0.0
        self._latest: tuple[float, HealthReport] | None = None

    async def report(self) -> HealthReport:
        """The present state, or the latest one that is known where looking takes too long."""
        look = asyncio.wrap_future(self._joined())
        look.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.wait_for(asyncio.shield(look), PATIENCE_S)
        except TimeoutError:
            pass
        now = time.monotonic()
        if self._latest is not None and now - self._latest[0] < BELIEVED_S:
            return self._latest[1]
        if now - self._began < BELIEVED_S and self._latest is None:
            return HealthReport(ready=False, checks={"store": "was not looked at yet"})
        late = f"has not answered for {now - self._began:.0f} s"
        return HealthReport(ready=False, checks={"store": late})

    def _joined(self) -> Future[HealthReport]:
        with self._lock:
            if self._under_way is None:
                self._under_way = Future()
                self._began = time.monotonic()
                threading.Thread(
                    target=self._run, args=(self._under_way,), name="readiness", daemon=True
                ).start()
            return self._under_way

    def _run(self, future: Future[HealthReport]) -> None:
        try:
            report = self._look()
        except Exception as error:  # noqa: BLE001 - whoever asks is told
            self._end()
            future.set_exception(error)
            return
        self._latest = (time.monotonic(), report)
        self._end()
        future.set_result(report)

    def _end(self) -> None:
        with self._lock:
            self._under_way = None
