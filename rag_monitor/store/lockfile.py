"""One process per SQLite file: a lock file beside it, held while the store is open."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from rag_monitor.errors import ConfigurationError


class FileLock:
    """An advisory lock that the kernel drops when its process dies, however it dies.

    Raises:
        ConfigurationError: Another process (or another store of this one) holds it.
    """

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._handle)
            raise ConfigurationError(
                f"{database} is in use by another rag-monitor process (pid {holder}); SQLite takes "
                "one process with every role. Stop that one, use another file, or set "
                "RAG_MONITOR_DATABASE_URL to PostgreSQL to run roles as separate processes"
            ) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, str(os.getpid()).encode("ascii"), 0)

    def release(self) -> None:
        """Give the file up. The lock file stays: removing it would race with the next holder."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
