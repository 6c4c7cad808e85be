"""Real processes for acceptance tests: the monitor as users start it, on loopback only."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STARTUP_S = 60.0


def free_port() -> int:
    """A port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(check: Callable[[], Any], within_s: float = 60.0, every_s: float = 0.1) -> Any:
    """The first true value of `check`; fails loudly with the last one."""
    deadline = time.monotonic() + within_s
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s; last seen: {value!r}")
        time.sleep(every_s)


@dataclass
class Reply:
    """An HTTP answer, whatever its status."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def http(
    method: str, url: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> Reply:
    """One request; error statuses are answers too."""
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return Reply(response.status, response.read(), dict(response.headers))
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, error.read(), dict(error.headers))


class Monitor:
    """A monitor process that can be killed and started again on the same database."""

    def __init__(self, folder: Path, database_url: str, **settings: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.database_url = database_url
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder / "monitor.log"

    def start(self) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_MONITOR_")}
        environment |= {
            "RAG_MONITOR_DATABASE_URL": self.database_url,
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
            **self._settings,
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rag_monitor", "serve", "--port", str(self.port)],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
            )
        eventually(self._ready, STARTUP_S)

    def _ready(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"the monitor ended:\n{self.log.read_text()[-4000:]}")
        with contextlib.suppress(OSError):
            return self.get("/readyz").status == 200
        return False

    def kill(self) -> None:
        """SIGKILL: no chance to flush or say goodbye."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM, and wait; returns the exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        if self._process is None:
            return 0
        self._process.send_signal(how)
        code = self._process.wait(timeout=30)
        self._process = None
        return code

    def get(self, path: str) -> Reply:
        return http("GET", self.url + path)

    def post(self, path: str, body: bytes, content_type: str = "application/json") -> Reply:
        return http("POST", self.url + path, body, {"Content-Type": content_type})

    def traces(self, **filters: str) -> list[dict[str, Any]]:
        """Every trace, page by page."""
        found: list[dict[str, Any]] = []
        query = "&".join(f"{key}={value}" for key, value in filters.items())
        cursor = ""
        while True:
            reply = self.get(f"/api/v1/traces?limit=200&{query}{cursor}")
            assert reply.status == 200, reply.json
            page = reply.json
            found.extend(page["items"])
            if not page.get("next_cursor"):
                return found
            cursor = f"&cursor={page['next_cursor']}"

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `rag-monitor` against this monitor."""
        return subprocess.run(
            [sys.executable, "-m", "rag_monitor", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )


@contextlib.contextmanager
def monitor(folder: Path, database_url: str, **settings: str) -> Iterator[Monitor]:
    """A running monitor that is gone afterwards."""
    running = Monitor(folder, database_url, **settings)
    try:
        running.start()
        yield running
    finally:
        running.kill()
