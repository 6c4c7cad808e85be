"""One process per SQLite file: a lock file beside it, held while the store is open."""

from __future__ import annotations

import fcntl
import logging
import os
import tempfile
from pathlib import Path
from typing import Final

from rag_monitor.errors import ConfigurationError

_LOG: Final = logging.getLogger(__name__)
_HOLDER: Final = 32
"""Bytes of the lock file that name the process which holds it."""


def require_writable(database: Path) -> None:
    """Refuse a folder in which the database cannot be made; leaves nothing behind.

    Raises:
        ConfigurationError: Nothing can be written there.
    """
    try:
        with tempfile.TemporaryFile(dir=database.parent):
            pass
    except OSError as error:
        raise _unwritable(database, error.strerror) from None


def _unwritable(database: Path, reason: str | None) -> ConfigurationError:
    """What to do about a folder in which SQLite cannot make the files it needs beside its own."""
    return ConfigurationError(
        "SQLite {database}: nothing can be written in {folder} as user {user} ({reason}); give "
        "that user the folder, mount its disk writable, or correct RAG_MONITOR_DATABASE_URL",
        database=database,
        folder=database.parent,
        user=os.geteuid(),
        reason=reason,
    )


class FileLock:
    """An advisory lock that the kernel drops when its process dies, however it dies.

    It stands beside the file itself, so that whoever comes by a symbolic link meets it, too.

    Raises:
        ConfigurationError: Another process (or another store of this one) holds it, the folder
            cannot be written, or its file system knows no locks.
    """

    def __init__(self, database: Path) -> None:
        file = database.resolve()
        path = file.with_name(file.name + ".lock")
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unwritable(database, error.strerror) from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = (
                os.pread(self._handle, _HOLDER, 0).decode("ascii", "replace").strip() or "unknown"
            )
            os.close(self._handle)
            raise ConfigurationError(
                "{database} is in use by another rag-monitor process (pid {holder}); SQLite "
                "takes one process with every role. Stop that one, use another file, or set "
                "RAG_MONITOR_DATABASE_URL to PostgreSQL to run roles as separate processes",
                database=database,
                holder=holder,
            ) from None
        except OSError as error:
            os.close(self._handle)
            raise ConfigurationError(
                "SQLite {database}: its file system knows no locks ({reason}); without them two "
                "processes would damage the file: take a local disk, or PostgreSQL",
                database=database,
                reason=error.strerror,
            ) from None
        self._sign()

    def _sign(self) -> None:
        """Say who holds it, for the message to the next one; on a full disk nobody needs to know.

        Not cut first: what was there may be the only room there is.
        """
        try:
            os.pwrite(self._handle, str(os.getpid()).ljust(_HOLDER).encode("ascii"), 0)
        except OSError as error:
            _LOG.warning("the lock of the database does not say who holds it: %s", error.strerror)

    def release(self) -> None:
        """Give the file up. The lock file stays: removing it would race with the next holder."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
