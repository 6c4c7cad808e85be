"""Log lines cannot be forged by what stands in a trace."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime

import pytest

from rag_monitor.server.process import JsonLines, TextLines

HOSTILE = "a\n2026-01-01T00:00:00.000Z ERROR forged: line\x1b[2J\r\u2028\u202e 中文"


def record(message: str, *, error: bool = False) -> logging.LogRecord:
    info = None
    if error:
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            info = sys.exc_info()
    return logging.LogRecord("rag_monitor.x", logging.WARNING, __file__, 1, message, (), info)


def test_a_text_record_begins_one_line_whatever_it_says() -> None:
    text = TextLines().format(record(f"app {HOSTILE}", error=True))

    first, *rest = text.split("\n")
    assert r" WARNING rag_monitor.x: app a\n2026" in first
    assert rest
    assert all(line.startswith("    ") for line in rest)
    assert not {"\x1b", "\r", "\u2028", "\u202e"} & set(text)
    assert "中文" in text
    assert "ValueError" in text


def test_a_json_record_is_one_object_on_one_line() -> None:
    text = JsonLines().format(record(HOSTILE, error=True))

    assert "\n" not in text
    found = json.loads(text)
    assert found["message"] == HOSTILE
    assert found["level"] == "warning"
    assert found["logger"] == "rag_monitor.x"
    assert "ValueError" in found["error"]
    assert datetime.fromisoformat(found["time"]).utcoffset() is not None


@pytest.mark.parametrize("form", [TextLines(), JsonLines()])
def test_an_ordinary_record_stays_readable(form: logging.Formatter) -> None:
    assert "this process now leads" in form.format(record("this process now leads"))


def test_text_in_any_language_stays_as_it_is_and_a_lone_surrogate_can_be_written() -> None:
    text = TextLines().format(record("问题: naïve — “ok” 🙂 \ud800"))

    assert text.endswith(r"问题: naïve — “ok” 🙂 \ud800")
    assert text.encode("utf-8")
