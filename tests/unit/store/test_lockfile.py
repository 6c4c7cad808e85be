"""The lock beside a SQLite file, on a disk that has no room for a name in it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rag_monitor.errors import ConfigurationError
from rag_monitor.store.lockfile import FileLock


def test_the_next_process_is_told_who_holds_the_file(tmp_path: Path) -> None:
    (tmp_path / "m.db.lock").write_text("1234567890 and more than a number")
    held = FileLock(tmp_path / "m.db")

    with pytest.raises(ConfigurationError, match=rf"\(pid {os.getpid()}\)"):
        FileLock(tmp_path / "m.db")
    held.release()


def test_a_full_disk_keeps_nobody_from_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    held = FileLock(tmp_path / "m.db")

    with pytest.raises(ConfigurationError, match=r"\(pid unknown\)"):
        FileLock(tmp_path / "m.db")
    held.release()
    assert "does not say who holds it: No space left on device" in caplog.text


@pytest.mark.parametrize("linked", ["file", "folder", "file that is not there yet"])
def test_who_comes_by_a_symbolic_link_meets_the_same_lock(tmp_path: Path, linked: str) -> None:
    real, other = tmp_path / "real", tmp_path / "other"
    real.mkdir()
    if linked == "folder":
        other.symlink_to(real)
    else:
        other.mkdir()
        if linked == "file":
            (real / "m.db").touch()
        (other / "m.db").symlink_to(real / "m.db")
    held = FileLock(real / "m.db")

    with pytest.raises(ConfigurationError, match="in use by another"):
        FileLock(other / "m.db")
    held.release()
