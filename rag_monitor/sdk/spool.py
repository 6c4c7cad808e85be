"""Unsent batches on disk: written before they are sent, removed when settled.

Each process owns a directory and holds a lock in it. A directory whose lock is free belongs to a
dead process; the next one to start sends what is in it. A file appears by rename after fsync, so
a torn write is never read.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import uuid
import zlib
from collections import deque
from pathlib import Path
from typing import Final

from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.guard import GUARD

_HEADER: Final = struct.Struct("<III")  # length, CRC-32, 1 where a trace begins
_SUFFIX: Final = ".spans"


class Spool:
    """A crash-safe list of batches. Used by the sender's thread only."""

    def __init__(self, directory: str, max_bytes: int, counters: Counters) -> None:
        self._root = Path(directory)
        self._max_bytes = max_bytes
        self._counters = counters
        self._own: Path | None = None
        self._lock_fd: int | None = None
        self._adopted: dict[Path, int] = {}
        self._orphans: deque[Path] = deque()
        self._bytes = 0
        self._sequence = 0

    def renew_after_fork(self) -> None:
        """A child opens its own directory; the parent's lock stays the parent's."""
        for fd in [self._lock_fd, *self._adopted.values()]:
            if fd is not None:
                os.close(fd)
        self._own, self._lock_fd = None, None
        self._adopted.clear()
        self._orphans.clear()
        self._bytes = 0

    def save(self, traces: list[list[bytes]]) -> str | None:
        """Write one batch; returns its file, or None when it could not be written (logged)."""
        data = b"".join(
            _HEADER.pack(len(span), zlib.crc32(span), int(index == 0)) + span
            for spans in traces
            for index, span in enumerate(spans)
        )
        if self._bytes + len(data) > self._max_bytes:
            GUARD.warn_once(
                "spool", "the spool is full (max_spool_bytes); traces wait in memory only"
            )
            return None
        try:
            own = self._own or self._open()
            self._sequence += 1
            final = own / f"{self._sequence:012d}{_SUFFIX}"
            _write(final, data)
        except OSError as error:
            GUARD.warn_once(
                "spool", "cannot write the spool (%s); traces wait in memory only", _reason(error)
            )
            return None
        self._bytes += len(data)
        return str(final)

    def save_some(self, traces: list[list[bytes]]) -> int:
        """Write as many of the traces as there is room for, oldest first; returns how many.

        For the end of a process, when what is not on disk is lost: a whole batch often finds no
        room where most of it would.
        """
        saved, size = 0, len(traces)
        while size and saved < len(traces):
            part = traces[saved : saved + size]
            if self.save(part) is None:
                size = len(part) // 2
            else:
                saved += len(part)
        return saved

    def remove(self, file: str) -> None:
        """Forget a settled batch."""
        path = Path(file)
        try:
            size = path.stat().st_size
            path.unlink(missing_ok=True)
            if path.parent == self._own:
                self._bytes -= size
        except OSError as error:
            GUARD.warn_once(
                "spool", "cannot remove a spooled batch (%s); it may be sent twice", _reason(error)
            )

    def adopt(self) -> tuple[str, list[list[bytes]]] | None:
        """The oldest batch a dead process left, under that process's lock; None when there is none.

        Each batch is given once; call `remove` when it is settled.
        """
        while True:
            if not self._orphans and not self._find_orphans():
                return None
            while self._orphans:
                file = str(self._orphans.popleft())
                traces = self.read(file)
                if traces:
                    return file, traces

    def _find_orphans(self) -> bool:
        """Lock one directory whose owner is dead and list its batches."""
        try:
            directories = sorted(self._root.iterdir()) if self._root.is_dir() else []
            for directory in directories:
                lock = directory / "lock"
                if directory == self._own or directory in self._adopted or not lock.exists():
                    continue
                fd = _try_lock(lock)
                if fd is None:
                    continue
                files = sorted(directory.glob("*" + _SUFFIX))
                if not files:
                    _discard(directory)
                    os.close(fd)
                    continue
                self._adopted[directory] = fd
                self._orphans.extend(files)
                return True
        except OSError as error:
            GUARD.warn_once("spool", "cannot read the spool (%s)", _reason(error))
        return False

    def close(self) -> None:
        """Give up the locks; files that are left are for the next process."""
        for directory in (self._own, *self._adopted):
            if directory is not None and not any(directory.glob("*" + _SUFFIX)):
                _discard(directory)
        self.renew_after_fork()

    def _open(self) -> Path:
        own = self._root / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        own.mkdir(parents=True, mode=0o700)
        try:
            self._lock_fd = _try_lock(own / "lock")
        except OSError:
            own.rmdir()  # without a lock nobody would ever look into it
            raise
        self._own = own
        return own

    def read(self, file: str) -> list[list[bytes]]:
        """The traces of a batch; what is damaged is left out."""
        path = Path(file)
        traces: list[list[bytes]] = []
        try:
            data = path.read_bytes()
        except OSError as error:
            GUARD.warn_once("spool", "cannot read a spooled batch (%s)", _reason(error))
            return []
        position = 0
        while position + _HEADER.size <= len(data):
            length, crc, begins = _HEADER.unpack_from(data, position)
            position += _HEADER.size
            span = data[position : position + length]
            position += length
            if len(span) != length or zlib.crc32(span) != crc:
                GUARD.warn_once("spool", "a spooled batch is damaged; its rest is skipped")
                break
            if begins or not traces:
                traces.append([])
            traces[-1].append(span)
        if not traces:
            path.rename(path.with_suffix(".damaged"))
        return traces


def _write(final: Path, data: bytes) -> None:
    """Put the file there whole, or leave nothing behind: a full disk needs the room."""
    partial = final.with_suffix(".tmp")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(final)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _reason(error: OSError) -> str:
    """What the system says, without the path."""
    return os.strerror(error.errno) if error.errno else type(error).__name__


def _try_lock(path: Path) -> int | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def _discard(directory: Path) -> None:
    for leftover in (*directory.glob("*.tmp"), directory / "lock"):
        leftover.unlink(missing_ok=True)
    try:
        directory.rmdir()
    except OSError as error:  # somebody put something else there
        GUARD.warn_once("spool", "cannot remove an empty spool directory (%s)", _reason(error))
