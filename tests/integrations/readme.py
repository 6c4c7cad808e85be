"""Runs the example of an integration's README."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

INTEGRATIONS = Path(__file__).resolve().parents[2] / "integrations"
MAX_LINES = 10
_FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def run_example(folder: str, number: int = 0, /, **given: Any) -> dict[str, Any]:
    """Execute a Python block of the README; `given` are the names it may use. Returns all."""
    text = (INTEGRATIONS / folder / "README.md").read_text(encoding="utf-8")
    example = _FENCE.findall(text)[number]
    lines = [line for line in example.splitlines() if line.strip()]
    assert len(lines) <= MAX_LINES, "an example has ten lines"
    names = {"__name__": "example", **given}
    exec(compile(example, f"{folder}/README.md", "exec"), names)  # noqa: S102 - our own text
    return names
