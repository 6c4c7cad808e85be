"""Where commands look for the monitor when nobody says where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_monitor.cli.remote import DEFAULT_URL, configured_url
from tests.unit.cli.test_commands import FakeMonitor, monitor, run

__all__ = ["monitor"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file of the working directory, not yet written."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "rag_monitor.toml"


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ("", DEFAULT_URL),
        ("port = 9001", "http://127.0.0.1:9001"),
        ('host = "0.0.0.0"', "http://127.0.0.1:8700"),
        ('host = "10.1.2.3"\nport = 80', "http://10.1.2.3:80"),
        ('host = "::1"', "http://[::1]:8700"),
        ("port = 0", DEFAULT_URL),
    ],
)
def test_it_is_where_serve_would_be(here: Path, settings: str, url: str) -> None:
    here.write_text(settings)

    assert configured_url() == url


def test_commands_ask_the_configured_monitor(
    here: Path, monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    here.write_text(f"port = {monitor.server.server_address[1]}")
    monitor.answers["GET", "/api/v1/keys"] = (200, {"keys": []})

    assert run("keys", "list", "--json") == 0
    assert capsys.readouterr().out == '{"keys": []}\n'


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_given_address_wins(
    how: str, here: Path, monitor: FakeMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write_text("port = 1")
    monitor.answers["GET", "/api/v1/keys"] = (200, {"keys": []})
    given = ("--url", monitor.url) if how == "option" else ()
    if how == "variable":
        monkeypatch.setenv("RAG_MONITOR_ENDPOINT", monitor.url)

    assert run("keys", "list", *given) == 0


def test_the_configuration_may_be_elsewhere(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write_text("port = 1")
    other = tmp_path / "other.toml"
    other.write_text("port = 9002")
    monkeypatch.setenv("RAG_MONITOR_CONFIG", str(other))

    assert configured_url() == "http://127.0.0.1:9002"


def test_broken_settings_are_named_and_stop_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here.write_text("prot = 1")

    assert configured_url() == DEFAULT_URL
    said = capsys.readouterr().err
    assert "unknown key `prot`" in said
    assert f"trying {DEFAULT_URL}" in said


def test_import_says_whom_it_waits_for(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "1", "question": "q", "answer": "a"}\n')
    here.write_text("port = 9")

    assert run("import", str(rows), "--patience", "0.5") == 1

    said = capsys.readouterr().err
    assert said.count("waiting for http://127.0.0.1:9, up to 0.5 s") == 1
    assert "gave up on the monitor at http://127.0.0.1:9" in said
