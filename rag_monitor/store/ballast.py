"""A file that is given up when the disk is full, so that retention has room to delete.

SQLite needs space to delete: without it a full disk could never be emptied from inside.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

_LOG: Final = logging.getLogger(__name__)
_BLOCK: Final = 2**20


class Ballast:
    """`bytes_` of real blocks in a file beside the database."""

    def __init__(self, database: Path, bytes_: int) -> None:
        self._path = database.with_name(database.name + ".ballast")
        self._bytes = bytes_

    def fill(self) -> bool:
        """Write it if it is missing; False when there is no room for it now."""
        if self._bytes <= 0 or (self._path.exists() and self._path.stat().st_size >= self._bytes):
            return True
        try:
            with self._path.open("wb") as file:
                os.fchmod(file.fileno(), 0o600)
                for _ in range(0, self._bytes, _BLOCK):
                    file.write(b"\1" * _BLOCK)
        except OSError as error:
            _LOG.warning("no room for the reserve of %d bytes: %s", self._bytes, error)
            self.drop()
            return False
        return True

    def drop(self) -> None:
        """Give the space back to the disk."""
        self._path.unlink(missing_ok=True)
