"""What a serving process sets once: its log, garbage collection, thread switches, open files.

The log has one line a record, as text or as JSON, that nothing traced can forge.
"""

from __future__ import annotations

import gc
import json
import logging
import resource
import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Literal

from rag_monitor.server.protocol import MAX_CONNECTIONS

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


_YOUNG: Final = 10_000
"""Objects made and not freed before the collector looks at the young ones; Python's own is 700. A
process that judges keeps many passages, and each collection stops every thread."""
_LOOKS: Final = 10
"""Collections of the young objects before those that stayed are looked at too; Python's own."""
_SWITCH_S: Final = 0.0005
"""Longest turn of a thread while others wait for the interpreter; Python's own is 5 ms.

Every row that is written to SQLite gives the interpreter up and asks for it back. Beside threads
that judge and decode, a transaction of some hundred rows then waits seconds, and with it whoever
wants to write, or to be answered.
"""


def tune_interpreter() -> None:
    """Leave what is loaded now out of garbage collection, collect less often, switch sooner.

    Call it once, when a process is set up and before it serves.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _LOOKS, _LOOKS)
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
