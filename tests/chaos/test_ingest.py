"""The promise of ingest: what was acknowledged is there, once, whatever happened to the server."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.ingest import Template
from tests.chaos.monitor import Client, GrpcPoster, Monitor, post

ROUNDS = int(os.environ.get("RAG_MONITOR_TEST_KILLS", "4"))
"""`make test-kills` has 20."""
CLIENTS = 3

pytestmark = pytest.mark.slow


def rows(url: str, statement: str) -> list[tuple[object, ...]]:
    """What the database says, asked past our own code."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            return connection.execute(statement).fetchall()
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        return connection.execute(statement).fetchall()  # type: ignore[arg-type]


@pytest.fixture
def monitor(database_url: str, tmp_path: Path) -> Iterator[Monitor]:
    made = Monitor(database_url, tmp_path)
    yield made
    made.end()


def disturb(monitor: Monitor, draw: random.Random, action: str) -> None:
    time.sleep(draw.uniform(0.05, 0.8))
    if action == "stop":
        monitor.send(signal.SIGSTOP)
        time.sleep(draw.uniform(0.5, 2.5))  # clients give up after 1 s and send again
        monitor.send(signal.SIGCONT)
        return
    monitor.send(signal.SIGKILL if action == "kill" else signal.SIGTERM)
    status = monitor.wait()
    assert status == (-signal.SIGKILL if action == "kill" else 0)
    monitor.start()


@pytest.mark.timeout(300)
def test_kills_lose_and_double_nothing(monitor: Monitor, database_url: str) -> None:
    stop = threading.Event()
    clients = [Client(monitor.port, stop, Template(5)) for _ in range(CLIENTS)]
    through_kills(monitor, database_url, clients, ["kill", "term", "stop"])


@pytest.mark.timeout(300)
def test_kills_lose_and_double_nothing_over_grpc(monitor: Monitor, database_url: str) -> None:
    through_kills(monitor, database_url, over_grpc(monitor), ["kill"])


def over_grpc(monitor: Monitor) -> list[Client]:
    pytest.importorskip("grpc", reason="needs the extra `grpc`")
    stop = threading.Event()
    return [Client(monitor.grpc_port, stop, Template(5), GrpcPoster()) for _ in range(CLIENTS)]


def through_kills(
    monitor: Monitor,
    database_url: str,
    clients: list[Client],
    kinds: list[str],
) -> None:
    draw = random.Random(20)
    actions = (kinds * ROUNDS)[:ROUNDS]
    draw.shuffle(actions)
    stop = clients[0].stop
    threads = [threading.Thread(target=client.run) for client in clients]
    monitor.start()
    for thread in threads:
        thread.start()
    try:
        for action in actions:
            disturb(monitor, draw, action)
        time.sleep(0.5)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    monitor.send(signal.SIGTERM)
    assert monitor.wait() == 0

    acknowledged = [trace_id for client in clients for trace_id in client.acknowledged]
    refusals = {status for client in clients for status in client.refusals}
    assert sum(client.unfinished for client in clients) == 0
    assert len(acknowledged) > 200
    assert refusals <= {0, 503}, "a client may see a broken connection or a 503, nothing else"
    stored = [row[0] for row in rows(database_url, "SELECT trace_id FROM spans")]
    lost = set(acknowledged) - set(stored)
    print(f"{len(acknowledged)} acknowledged, {len(stored)} stored, refusals {sorted(refusals)}")
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged traces are lost"
    assert len(stored) == len(set(stored)), "a resent trace was stored twice"
    keys = rows(database_url, "SELECT count(*) FROM trace_keys")
    assert keys == [(len(stored),)]


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 48 MiB; skips where none can be mounted."""
    folder = Path(tempfile.mkdtemp())
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("needs the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


@pytest.mark.timeout(180)
def test_a_full_disk_is_a_503_until_there_is_space_again(small_disk: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{small_disk / 'm.db'}"
    monitor = Monitor(url, tmp_path)
    monitor.start()
    filler = small_disk / "filler"
    try:
        with contextlib.suppress(OSError), filler.open("wb") as file:
            for _ in range(28):  # the ballast has taken 16 MiB of the 48
                file.write(bytes(2**20))
        acknowledged: list[str] = []
        template = Template(50)
        answer = post(monitor.port, bytes(template.renew()), 10)
        while answer.status == 200 and len(acknowledged) < 20_000:
            acknowledged += template.trace_ids()
            answer = post(monitor.port, bytes(template.renew()), 10)
        assert answer.status == 503
        assert answer.retry_after is not None
        assert 1 <= int(answer.retry_after) <= 5
        refused, ids = bytes(template.body), template.trace_ids()
        assert monitor.get("/healthz") == 200

        filler.unlink()
        freed = time.monotonic()
        while (answer := post(monitor.port, refused, 10)).status != 200:
            assert time.monotonic() - freed < 10, f"still {answer}"
            time.sleep(0.1)
        monitor.send(signal.SIGTERM)
        assert monitor.wait() == 0
    finally:
        monitor.end()
    stored = {row[0] for row in rows(url, "SELECT trace_id FROM trace_keys")}
    assert set(acknowledged) | set(ids) <= stored
    assert rows(url, "PRAGMA integrity_check") == [("ok",)]
