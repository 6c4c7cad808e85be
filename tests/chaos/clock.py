"""A wall clock of a process that tests set, while its monotonic clock goes on."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from functools import cache
from pathlib import Path


@cache
def library() -> Path | None:
    """The shim, compiled once; None where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="rag-monitor-clock-"))
    made = folder / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


class WallClock:
    """How far one process's wall clock is ahead; `environment` makes a process obey it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.shift(0)

    @property
    def environment(self) -> dict[str, str]:
        """What the process must be started with; nothing where there is no compiler."""
        shim = library()
        if shim is None:
            return {}
        return {"LD_PRELOAD": str(shim), "CHAOS_CLOCK": str(self._file)}

    def shift(self, seconds: float) -> None:
        """Set it ahead of the machine's, or behind."""
        with self._file.open("r+b" if self._file.exists() else "w+b") as file:
            file.write(struct.pack("=q", int(seconds)))
