"""Server processes that may be killed, stopped, terminated and lied to about the time."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.chaos.clock import WallClock
from tests.chaos.cluster import free_port

ROOT = Path(__file__).resolve().parents[2]


class Member:
    """One process, under the same name as often as it is started.

    Args:
        name: Of its log file.
        command: What to run, without the interpreter.
        port: Where it listens.
        environment: Beside the usual one.
        folder: For its log and its clock.
        lies: Whether its wall clock may be shifted; needs a C compiler.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        port: int,
        environment: Mapping[str, str],
        folder: Path,
        *,
        lies: bool = False,
    ) -> None:
        self.name = name
        self.port = port
        self.wanted = True
        """Whether whoever watches over it shall start it when it is gone."""
        self._command = [sys.executable, *command]
        self._log = folder / f"{name}.log"
        self._clock = WallClock(folder / f"{name}.clock")
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        self._folder = folder
        if lies:
            self._environment |= self._clock.environment
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; does not wait."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, env=self._environment, stdout=log, stderr=log, cwd=self._folder
            )

    @property
    def pid(self) -> int:
        """Of the process started last."""
        assert self.process is not None
        return self.process.pid

    @property
    def runs(self) -> bool:
        """Whether the process is there, stopped or not."""
        return self.process is not None and self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to it, if it is there."""
        if self.process is not None:
            self.process.send_signal(number)

    def wait(self, seconds: float = 30) -> int:
        """Its exit status."""
        assert self.process is not None
        return self.process.wait(seconds)

    def shift(self, seconds: float) -> None:
        """Set its wall clock ahead of the machine's (or behind)."""
        self._clock.shift(seconds)

    def get(self, path: str, timeout_s: float = 5.0) -> int:
        """Status of a GET; 0 when there is no answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        with contextlib.closing(connection):
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException):
                return 0
            return response.status

    def log(self, characters: int = 2000) -> str:
        """The end of its log."""
        return self._log.read_text(errors="replace")[-characters:] if self._log.exists() else ""

    def end(self) -> None:
        """Kill what is still there."""
        if self.runs:
            self.send(signal.SIGCONT)
            self.send(signal.SIGKILL)
            self.wait()


class Fleet:
    """All processes of a deployment, and who starts them again."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = list(members)
        self.deaths: list[str] = []
        """Ends nobody asked for: name, status and the last words."""
        self._expected: set[int] = set()
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="watcher")

    def of(self, role: str) -> list[Member]:
        """Members whose name begins so."""
        return [member for member in self.members if member.name.startswith(role)]

    def start(self, timeout_s: float = 300) -> None:
        """Start all, wait until all answer, then watch over them."""
        for member in self.members:
            member.start()
        self.ready(timeout_s)
        self._watcher.start()

    def ready(self, timeout_s: float = 300) -> None:
        """Wait until every member answers."""
        deadline = time.monotonic() + timeout_s
        for member in self.members:
            while member.get("/healthz", 10) != 200:
                assert time.monotonic() < deadline, f"{member.name}: {member.log()}"
                time.sleep(0.1)

    def expect_end(self, member: Member) -> None:
        """Its end is somebody's doing."""
        self._expected.add(member.pid)

    def end(self) -> None:
        """Kill all."""
        self._stop.set()
        if self._watcher.is_alive():
            self._watcher.join()
        for member in self.members:
            member.end()

    def terminate(self, timeout_s: float = 60) -> dict[str, int]:
        """Ask all to stop; returns their exit statuses."""
        self._stop.set()
        self._watcher.join()
        for member in self.members:
            member.send(signal.SIGTERM)
        return {member.name: member.wait(timeout_s) for member in self.members}

    def _watch(self) -> None:
        while not self._stop.wait(0.3):
            for member in self.members:
                if member.runs or not member.wanted:
                    continue
                if member.pid not in self._expected:
                    status = member.wait()
                    self.deaths.append(f"{member.name} ended with {status}: {member.log(400)}")
                member.start()


def serving(role: str, number: int, url: str, folder: Path, settings: Mapping[str, str]) -> Member:
    """A `rag-monitor serve --role …` whose clock may lie."""
    port = free_port()
    environment = {
        "RAG_MONITOR_DATABASE_URL": url,
        "RAG_MONITOR_PORT": str(port),
        "RAG_MONITOR_CONFIG": str(folder / "rag_monitor.toml"),
        **settings,
    }
    command = ["-m", "rag_monitor", "serve", "--role", role]
    return Member(f"{role}-{number}", command, port, environment, folder, lies=True)


def owner(pid: int) -> str:
    """How a process calls itself in leases."""
    return f"{socket.gethostname()}:{pid}"
