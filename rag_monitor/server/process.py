"""A serving process: its log, thread switches and open files, and its end.

The log has one line a record, as text or as JSON, that nothing traced can forge.

At the end work in hand is finished and connections are closed; but a thread that waits for a
database which does not answer cannot be made to end. So another thread, which waits for nothing but
the signal, ends the process when its time is over. What was acknowledged is committed by then, and
what was claimed is claimed again when its lease runs out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

from rag_monitor.server.garbage import collect_in_short_pauses
from rag_monitor.server.protocol import MAX_CONNECTIONS
from rag_monitor.worker.thread import JOB_THREADS

LogFormat = Literal["text", "json"]
ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

_NOISY: Final = ("uvicorn.error", "httpx", "httpx2", "openai", "alembic")
"""Libraries whose ordinary remarks, one a request, would bury ours."""


def configure_logging(level: str, form: LogFormat) -> None:
    """Write records of `level` and above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))


class _Formatter(logging.Formatter):
    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        del datefmt
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


class TextLines(_Formatter):
    """A record for people.

    It is one line, and what an exception adds is indented; control characters are written as
    escapes: text from a trace can neither start a line of its own nor drive a terminal.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line, without where an exception came from."""
        return _visible(super().formatMessage(record))

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802
        """Where an exception came from, indented."""
        return _below(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        """Where the record was written, indented."""
        return _below(stack_info)


class JsonLines(_Formatter):
    """A record for machines: one JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """`time`, `level`, `logger`, `message`, and `error` where there was one."""
        line: dict[str, Any] = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)


def _below(text: str) -> str:
    return "\n".join("    " + _visible(line) for line in text.split("\n"))


def _visible(text: str) -> str:
    """`text` without control characters; they are written as escapes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode()
        for char in text
    )


_SWITCH_S: Final = 0.0005
"""Longest turn of a thread while others wait for the interpreter; Python's own is 5 ms.

Every row that is written to SQLite gives the interpreter up and asks for it back. Beside threads
that judge and decode, a transaction of some hundred rows then waits seconds, and with it whoever
wants to write, or to be answered.
"""


def tune_interpreter() -> None:
    """Collect garbage in short pauses and switch threads sooner.

    Call it once, when a process is set up and before it serves.
    """
    collect_in_short_pauses()
    sys.setswitchinterval(_SWITCH_S)


_WANTED: Final = 8_192
"""Enough for every connection that is served, over HTTP and gRPC, and everything else."""
_OURS: Final = 256
"""For databases, judges, channels, files and libraries."""

logger = logging.getLogger(__name__)


def raise_limit() -> int:
    """Let this process open as many files as it may need; returns how many it may.

    Shells and service managers still begin with 1,024. Beyond the limit nothing can be accepted,
    and neither database nor judge be reached, so that one client could stop the whole server.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _WANTED if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:  # a sandbox may forbid it
        logger.warning("this process may open only %d files: %s", soft, error)
        return soft
    return wanted


def connections_within(files: int) -> int:
    """How many HTTP connections may be open where so many files may; at least half of them."""
    most = min(MAX_CONNECTIONS, max(files - _OURS, files // 2))
    if most < MAX_CONNECTIONS:
        logger.warning(
            "at most %d connections are served at once, for this process may open only %d files; "
            "raise its hard limit (ulimit -Hn, LimitNOFILE=)",
            most,
            files,
        )
    return most


GRACE_S: Final = 4.0
"""So long after the drain time the process ends by force."""
_LAST_WORDS_S: Final = 0.5
_ENDS: Final = frozenset({signal.SIGTERM, signal.SIGINT})
"""Signals that end a process."""


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
        self._end, self.stop_fd = os.pipe()
        """Whoever writes the number of such a signal to `stop_fd` begins the end: Python does, even
        before a handler can run, once `signal.set_wakeup_fd` names it."""
        os.set_blocking(self.stop_fd, False)

    def arm(self) -> None:
        """From now on the process ends in time, once it is told to stop."""
        threading.Thread(target=self._watch, name="stopping", daemon=True).start()

    def begin(self) -> None:
        """Stop now. Safe in a signal handler: takes no lock."""
        if self._begun:
            return
        self._begun = True
        self._ends_at = time.monotonic() + self.drain_s
        os.write(self.stop_fd, bytes([signal.SIGTERM]))
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


_IDLE: Final = "thread.py:_worker"
"""Where a thread of a pool waits for work."""


def _busy() -> list[str]:
    """The threads that would be waited for, and where they are."""
    frames = sys._current_frames()
    busy = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        # Threads of jobs are daemons, as the one that starts them; all the same they are joined.
        is_joined = not thread.daemon or thread.name.startswith(JOB_THREADS)
        if not is_joined or frame is None:
            continue
        where = f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}"
        if where != _IDLE:
            busy.append(f"{thread.name} in {where}")
    return busy
