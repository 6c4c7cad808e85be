"""Settings as people write them: understood, or refused in a sentence that helps."""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.errors import ConfigurationError
from rag_monitor.sdk import client as sdk_client
from rag_monitor.sdk.options import Options
from tests.unit.sdk.conftest import BadServer

MakeServer = Callable[..., BadServer]
CONTENT = "RAG_MONITOR_CAPTURE_CONTENT"
ENABLED = "RAG_MONITOR_ENABLED"


class Stage(enum.StrEnum):
    LIVE = "live"


def configured(**settings: Any) -> Options | None:
    rm.configure(**settings)
    recorder = sdk_client.active()
    return None if recorder is None else recorder.options


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def test_numbers_become_text() -> None:
    options = configured(app=7, release=5, environment=1.5, redaction_key=9)

    assert options is not None
    assert (options.app, options.release, options.environment) == ("7", "5", "1.5")
    assert options.redaction_key == "9"


def test_text_is_plain_and_valid() -> None:
    options = configured(environment=Stage.LIVE, release="1\udcff")

    assert options is not None
    assert type(options.environment) is str
    assert (options.environment, options.release) == ("live", "1?")


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"environment": ["x"]}, "environment must be text or a number"),
        ({"release": True}, "release must be text or a number"),
        ({"release": 10**5000}, "release must be text or a number"),
        ({"app": {"a": 1}}, "app must be"),
        ({"redaction_key": object()}, "redaction_key must be text"),
        ({"endpoint": 5}, "endpoint must be"),
        ({"endpoint": "http://host/a b"}, "endpoint must be"),
        ({"endpoint": "http://host/\u00e9"}, "endpoint must be"),
        ({"api_key": "a\nb"}, "api_key must be text that an HTTP header can hold"),
        ({"api_key": "sk-\u4f60"}, "api_key must be text that an HTTP header can hold"),
        ({"api_key": ["k"]}, "api_key must be text that an HTTP header can hold"),
        ({"headers": "a=b"}, "headers must be a dict of names and texts"),
        ({"headers": {"a b": "c"}}, "headers must be a dict of names and texts"),
        ({"headers": {"a": "b\r\nc: d"}}, "headers must be a dict of names and texts"),
        ({"headers": {"a": None}}, "headers must be a dict of names and texts"),
        ({"spool_dir": 5}, "spool_dir must be the path of a folder"),
        ({"spool_dir": "a\0b"}, "spool_dir must be the path of a folder"),
        ({"max_text_bytes": 10.5}, "max_text_bytes must be a whole number"),
        ({"interval_s": "1"}, "interval_s must be a number above 0"),
    ],
)
def test_what_cannot_be_read_is_one_warning_and_switches_off(
    caplog: pytest.LogCaptureFixture, settings: dict[str, Any], hint: str
) -> None:
    assert configured(**settings) is None
    (line,) = said(caplog)
    assert line.startswith("rag_monitor is off: ")
    assert hint in line
    with pytest.raises(ConfigurationError, match=hint):
        rm.configure(strict=True, **settings)


def test_a_mounted_key_ends_in_a_newline(bad_server: MakeServer) -> None:
    server = bad_server(lambda *_: (200, {}, b""))
    rm.configure(endpoint=server.url, api_key=" k-1\r\n", headers={"x-team": " a\n", "x-n": 3})
    with rm.trace(question="q"):
        pass

    assert rm.flush(5)
    headers = server.requests[0][3]
    assert (headers["Authorization"], headers["x-team"], headers["x-n"]) == ("Bearer k-1", "a", "3")


def test_an_empty_key_is_none() -> None:
    options = configured(api_key="\n")
    assert options is not None
    assert options.api_key is None


@pytest.mark.parametrize("ending", ["", "/", "/v1/traces", "/v1/traces/", " \n"])
def test_an_endpoint_may_name_the_path_of_the_traces(bad_server: MakeServer, ending: str) -> None:
    server = bad_server(lambda *_: (200, {}, b""))
    rm.configure(endpoint=server.url + "/base" + ending)
    with rm.trace(question="q"):
        pass

    assert rm.flush(5)
    assert server.requests[0][1] == "/base/v1/traces"


def test_sizes_and_times_are_what_python_can_use(tmp_path: Path) -> None:
    options = configured(max_text_bytes=1e3, timeout_s=1e14, spool_dir=tmp_path)

    assert options is not None
    assert type(options.max_text_bytes) is int
    assert options.timeout_s == 1e6
    assert options.spool_dir == str(tmp_path)


@pytest.mark.parametrize("word", ["n", "N", "none", "disabled", "f", "no", "off", "0", " False "])
def test_words_that_say_no(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    options = configured(capture_content=word, steps=word)
    assert options is not None
    assert (options.capture_content, options.steps) == (False, False)
    assert configured(enabled=word) is None

    monkeypatch.setenv(CONTENT, word)
    options = configured()
    assert options is not None
    assert options.capture_content is False
    monkeypatch.setenv(ENABLED, word)
    assert configured() is None


@pytest.mark.parametrize("word", ["y", "t", "enabled", "YES", "on", "1", "true", "", " "])
def test_words_that_say_yes_and_empty_which_says_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, word: str
) -> None:
    options = configured(capture_content=word, enabled=word)
    assert options is not None
    assert options.capture_content is True

    monkeypatch.setenv(CONTENT, word)
    monkeypatch.setenv(ENABLED, word)
    options = configured()
    assert options is not None
    assert options.capture_content is True
    assert said(caplog) == []


@pytest.mark.parametrize("value", ["maybe", "-1", 2, [], 1.0])
def test_a_switch_that_nobody_can_read_is_off(
    caplog: pytest.LogCaptureFixture, value: object
) -> None:
    options = configured(capture_content=value)
    assert options is not None
    assert options.capture_content is False
    assert configured(enabled=value) is None

    content, enabled = said(caplog)
    assert "capture_content must be true or false" in content
    assert "enabled must be true or false" in enabled
    with pytest.raises(ConfigurationError, match="capture_content must be true or false"):
        rm.configure(strict=True, capture_content=value)  # type: ignore[arg-type]


def test_an_argument_wins_over_an_environment_that_nobody_can_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(CONTENT, "maybe")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "maybe")

    options = configured(capture_content=True, enabled=True)
    assert options is not None
    assert options.capture_content is True
    assert said(caplog) == []


@pytest.mark.parametrize(
    ("word", "off", "lines"),
    [("true", True, 0), ("false", False, 0), ("", False, 0), ("disabled", True, 1), ("x", True, 1)],
)
def test_opentelemetrys_switch(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    word: str,
    off: bool,
    lines: int,
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", word)

    assert (configured() is None) is off
    assert len(said(caplog)) == lines
