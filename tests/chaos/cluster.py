"""A PostgreSQL of our own that tests may stop: in a temporary folder, on a free port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SETTINGS = (
    "listen_addresses = '127.0.0.1'",
    "max_connections = 150",
    "shared_buffers = 256MB",
    "max_wal_size = 2GB",
    "log_min_messages = fatal",
)


def programs() -> Path | None:
    """The folder of the newest installed server's programs; None where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    path = shutil.which("initdb")
    return None if path is None else Path(path).parent


def free_port() -> int:
    """A port nobody listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


class Cluster:
    """One server process tree with its own data."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self._folder = folder
        self._bin = bin_folder
        self._data = folder / "data"
        self.port = free_port()
        # The server refuses to run as root.
        self._user = "nobody" if os.getuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "monitor", "-E", "UTF8")
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            lines = (*_SETTINGS, f"port = {self.port}", f"unix_socket_directories = '{folder}'")
            file.write("\n".join(lines) + "\n")
        self.start()

    @property
    def url(self) -> str:
        """Where the monitor's database is."""
        return f"postgresql://monitor@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it and wait until it takes connections, recovery included."""
        self._run("pg_ctl", "-D", self._data, "-l", self._folder / "log", "-w", "-t", "60", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; `immediate` is a crash, `fast` ends every session."""
        self._run("pg_ctl", "-D", self._data, "-m", mode, "-w", "-t", "60", "stop")

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What the database says, asked past our own code."""
        import psycopg

        with psycopg.connect(self.url, connect_timeout=5, autocommit=True) as connection:
            return connection.execute(statement, values).fetchall()  # type: ignore[arg-type]

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._bin / program), *map(str, arguments)]
        done = subprocess.run(
            command, user=self._user, capture_output=True, text=True, timeout=120,
            cwd=self._folder, env={**os.environ, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout[-500:]} {done.stderr[-500:]}")


@contextmanager
def cluster(bin_folder: Path) -> Iterator[Cluster]:
    """A running server, stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="rag-monitor-pg-"))
    made: Cluster | None = None
    try:
        made = Cluster(folder, bin_folder)
        yield made
    finally:
        if made is not None:
            subprocess.run(
                [bin_folder / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop"],
                user=made._user, capture_output=True, cwd=folder, check=False,
            )  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)
