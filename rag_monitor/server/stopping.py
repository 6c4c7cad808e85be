"""The end of a process: asked for by a signal, in time whatever hangs.

Work in hand is finished, connections are closed; but a thread that waits for a database which does
not answer cannot be made to end. So another thread, which waits for nothing but the signal, ends
the process when its time is over. What was acknowledged is committed by then, and what was claimed
is claimed again when its lease runs out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

GRACE_S: Final = 4.0
"""So long after the drain time the process ends by force."""
_LAST_WORDS_S: Final = 0.5
_ENDS: Final = frozenset({signal.SIGTERM, signal.SIGINT})
"""Signals that end a process."""

logger = logging.getLogger(__name__)


class Stopping:
    """One per process; made in the event loop.

    Args:
        drain_s: How long what has begun may take to end.
    """

    def __init__(self, drain_s: float) -> None:
        self.drain_s: Final = drain_s
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._begun = False
        self._ends_at = float("inf")
        self._end, self.told = os.pipe()
        """Whoever writes the number of such a signal to `told` begins the end: Python does, even
        before a handler can run, once `signal.set_wakeup_fd` names it."""
        os.set_blocking(self.told, False)

    def arm(self) -> None:
        """From now on the process ends in time, once it is told to stop."""
        threading.Thread(target=self._watch, name="stopping", daemon=True).start()

    def begin(self) -> None:
        """Stop now. Safe in a signal handler: takes no lock."""
        if self._begun:
            return
        self._begun = True
        self._ends_at = time.monotonic() + self.drain_s
        os.write(self.told, bytes([signal.SIGTERM]))
        self._loop.call_soon_threadsafe(self._event.set)

    async def begun(self) -> None:
        """Wait until it begins."""
        await self._event.wait()

    @property
    def left_s(self) -> float:
        """Seconds of the drain time that are left."""
        return min(self.drain_s, max(0.0, self._ends_at - time.monotonic()))

    async def within(self, seconds: float, what: str, work: Callable[[], object]) -> None:
        """Do one of the last things on a thread of its own; wait for it, but not for ever."""
        ended = asyncio.Event()

        def run() -> None:
            try:
                work()
            except Exception:
                logger.exception("%s failed", what)
            finally:
                with contextlib.suppress(RuntimeError):  # nobody waits any more
                    self._loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=run, name=what, daemon=True).start()
        try:
            await asyncio.wait_for(ended.wait(), seconds)
        except TimeoutError:
            logger.warning("%s takes longer than %g s; the process ends without it", what, seconds)

    def _watch(self) -> None:
        while os.read(self._end, 1)[0] not in _ENDS:
            pass  # another signal that has a handler
        time.sleep(self.drain_s + GRACE_S)
        # Writing the log may hang, too.
        telling = threading.Thread(target=self._tell, name="last-words", daemon=True)
        try:
            telling.start()
            telling.join(_LAST_WORDS_S)
        finally:
            os._exit(0)

    def _tell(self) -> None:
        logger.error(
            "the process ends by force, %g s after it was told to stop; still busy: %s",
            self.drain_s + GRACE_S,
            ", ".join(_busy()) or "nothing that is known",
        )
        logging.shutdown()


def _busy() -> list[str]:
    """The threads that would be waited for, and where they are."""
    frames = sys._current_frames()
    busy = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if not thread.daemon and frame is not None:
            code = frame.f_code
            busy.append(f"{thread.name} in {Path(code.co_filename).name}:{code.co_name}")
    return busy
