"""`rag-monitor` as a user types it, without the seconds that a fresh process takes to begin."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_monitor.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def shown(self) -> str:
        """All that was printed, on one line."""
        return " ".join(f"{self.out} {self.err}".split())

    @property
    def json(self) -> Any:
        """What `--json` printed."""
        return json.loads(self.out)


def rag_monitor(*arguments: object) -> Done:
    """Run a command to its end."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
            code: Any = 0
        except SystemExit as ended:
            code = ended.code
    return Done(code=code or 0, out=out.getvalue(), err=err.getvalue())


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A file of JSON lines."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of scores."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
