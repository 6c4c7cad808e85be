"""Lines of a file that may be gzipped."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rag_monitor.errors import ConfigurationError

_GZIP_MAGIC: Final = b"\x1f\x8b"


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Every non-empty line with its 1-based number; compression is told by content, not by name.

    Raises:
        ConfigurationError: The file cannot be opened or unpacked.
    """
    try:
        with path.open("rb") as probe:
            packed = probe.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        with gzip.open(path, "rb") if packed else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"cannot read {path}: {reason}") from None
