"""The spool on a disk that is full for a while: nothing waits in memory for longer than it must."""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import rag_monitor as rm
from rag_monitor.sdk import sender as sender_module
from rag_monitor.sdk import spool as spool_module
from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.spool import Spool

NOWHERE = "http://127.0.0.1:9"


class Disk:
    """Takes nothing while it is full."""

    def __init__(self) -> None:
        self.full = False
        self.refused = 0

    def fsync(self, handle: int) -> None:
        del handle
        if self.full:
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(spool_module.os, "fsync", made.fsync)
    monkeypatch.setattr(sender_module, "_SPOOL_AGAIN_S", 0.0)
    return made


def ask(question: str) -> None:
    with rm.trace(question=question) as current:
        current.answer = "yes"


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.rglob(pattern))


def saved(folder: Path) -> int:
    reader = Spool(str(folder), 2**20, Counters())
    return sum(len(reader.read(file)) for file in files(folder, "*.spans"))


def test_what_a_full_disk_took_in_part_is_given_back(tmp_path: Path, disk: Disk) -> None:
    spool = Spool(str(tmp_path), 2**20, Counters())
    disk.full = True

    assert spool.save([[b"span"]]) is None
    assert files(tmp_path, "*.tmp") == []
    disk.full = False
    assert spool.save([[b"span"]]) is not None


def test_a_folder_that_cannot_be_locked_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(path: Path) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(spool_module, "_try_lock", no_room)
    spool = Spool(str(tmp_path), 2**20, Counters())

    assert spool.save([[b"span"]]) is None
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named_in_the_log(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    disk.full = True
    with caplog.at_level(logging.WARNING, logger="rag_monitor.sdk"):
        Spool(str(tmp_path), 2**20, Counters()).save([[b"span"]])

    assert "cannot write the spool (No space left on device)" in caplog.text


def test_with_room_again_what_waits_in_memory_goes_to_disk(tmp_path: Path, disk: Disk) -> None:
    """The server stays away all the time: the disk is the only place that is safe."""
    disk.full = True
    rm.configure(endpoint=NOWHERE, spool_dir=str(tmp_path), interval_s=0.02)
    ask("first")
    until(lambda: disk.refused > 0)
    for number in range(5):
        ask(str(number))
    until(lambda: rm.stats()["queued_chars"] == 0 or disk.refused > 3)

    disk.full = False
    until(lambda: saved(tmp_path) == 6)


def test_at_the_end_a_disk_with_room_takes_what_it_once_refused(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "_SPOOL_AGAIN_S", 3600.0)
    disk.full = True
    rm.configure(endpoint=NOWHERE, spool_dir=str(tmp_path), interval_s=0.02)
    ask("first")
    until(lambda: disk.refused > 0)
    ask("second")

    disk.full = False
    rm.shutdown(5)
    assert rm.stats()["dropped"] == {}
    assert saved(tmp_path) == 2


class SmallDisk:
    """Takes files of so many bytes in all."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.tries = 0

    def write(self, final: Path, data: bytes) -> None:
        self.tries += 1
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(data)
        final.write_bytes(data)


def test_at_the_end_a_nearly_full_disk_takes_as_many_traces_as_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SmallDisk(60 * 112)  # a span of 100 bytes and its header of 12
    monkeypatch.setattr(spool_module, "_write", small.write)
    traces = [[str(number).encode().rjust(100)] for number in range(100)]

    kept = Spool(str(tmp_path), 2**20, Counters()).save_some(traces)

    reader = Spool(str(tmp_path), 2**20, Counters())
    found = [trace for file in files(tmp_path, "*.spans") for trace in reader.read(str(file))]
    assert kept == 60
    assert found == traces[:60]
    assert small.tries < 20


def test_a_disk_without_any_room_is_not_asked_for_each_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SmallDisk(0)
    monkeypatch.setattr(spool_module, "_write", small.write)

    assert Spool(str(tmp_path), 2**20, Counters()).save_some([[b"span"]] * 512) == 0
    assert small.tries == 10


def test_a_process_that_ends_counts_what_the_disk_had_no_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rm.configure(endpoint=NOWHERE, spool_dir=str(tmp_path), interval_s=3600, max_spool_bytes=20_000)
    for number in range(40):
        ask(str(number))

    rm.shutdown(5)

    lost = rm.stats()["dropped"]["exit"]
    assert 0 < lost < 40
    assert saved(tmp_path) == 40 - lost
