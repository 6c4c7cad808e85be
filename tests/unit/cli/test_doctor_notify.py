"""`rag-monitor doctor --notify` sends a test alert, and says what became of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rag_monitor.cli.application import app


class Receiver(ThreadingHTTPServer):
    """Takes webhooks and keeps them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.taken: list[dict[str, Any]] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append(json.loads(body))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the console."""


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.chdir(tmp_path)
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    config = f'[notifiers.oncall]\nkind = "webhook"\nurl = "{server.url}"\nallow_private = true\n'
    (tmp_path / "rag_monitor.toml").write_text(config, encoding="utf-8")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def notify(name: str) -> Result:
    return CliRunner().invoke(app, ["doctor", "--notify", name, "--json"])


@pytest.mark.parametrize("name", ["oncall", "all"])
def test_a_test_alert_and_its_end_arrive(receiver: Receiver, name: str) -> None:
    result = notify(name)

    [check] = json.loads(result.stdout)["checks"]
    alerts = [alert for body in receiver.taken for alert in body["alerts"]]
    assert (result.exit_code, check["name"], check["ok"]) == (0, "channel oncall", True)
    assert [alert["event"] for alert in alerts] == ["firing", "resolved"]
    assert {alert["rule"] for alert in alerts} == {"rag-monitor-test"}
    assert "This is a test" in json.dumps(receiver.taken[0])


def test_a_channel_that_refuses_is_told_with_its_own_words(receiver: Receiver) -> None:
    receiver.status = 403

    result = notify("oncall")

    [check] = json.loads(result.stdout)["checks"]
    assert (result.exit_code, check["ok"]) == (1, False)
    assert check["detail"].startswith("the firing message: ")
    assert "403" in check["detail"]
    assert len(receiver.taken) == 1


def test_an_unknown_channel_is_named_with_those_there_are(receiver: Receiver) -> None:
    result = CliRunner().invoke(app, ["doctor", "--notify", "oncal"])

    assert result.exit_code != 0
    assert "no such channel (did you mean 'oncall'?)" in str(result.exception)
    assert receiver.taken == []
