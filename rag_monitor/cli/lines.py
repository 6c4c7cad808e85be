"""Lines of a file that may be gzipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rag_monitor.evaluation.rows import open_bytes, readable


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Every non-empty line with its 1-based number; compression is told by content, not by name.

    Raises:
        ConfigurationError: The file cannot be opened or unpacked.
    """
    with readable(path), open_bytes(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line
