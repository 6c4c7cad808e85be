"""Log lines: one a record, as text or as JSON, that nothing traced can forge."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Literal

LogFormat = Literal["text", "json"]
ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

_NOISY: Final = ("uvicorn.error", "httpx", "httpx2", "openai", "alembic")
"""Libraries whose ordinary remarks, one a request, would bury ours."""


def configure(level: str, form: LogFormat) -> None:
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
