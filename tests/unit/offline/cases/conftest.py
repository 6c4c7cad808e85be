"""What the cases share: the command as a user types it, and the cases kept beside the checkout."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rag_monitor.cli.application import app
from rag_monitor.cli.words import choose_none

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What `evaluate` made of a file."""

    code: int
    report: dict[str, Any]
    lines: list[dict[str, Any]]
    stderr: str

    def mean(self, name: str) -> float:
        """The mean of a metric."""
        value: float = self.report["metrics"][name]["mean"]
        return value

    def figure(self, name: str) -> float:
        """What a target of this name is held against."""
        value: float = self.report["figures"][name]["value"]
        return value

    @property
    def targets(self) -> dict[str, bool | None]:
        """Whether each target is met."""
        return {target["metric"]: target["met"] for target in self.report["targets"]}


def run(*arguments: object) -> Result:
    """A command, in this process."""
    choose_none()
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def command() -> Callable[..., Result]:
    """Any command of `rag-monitor`."""
    return run


@pytest.fixture
def evaluate(tmp_path: Path) -> Callable[..., Evaluated]:
    """`evaluate --json` on a file, or on rows."""

    def evaluated(source: Path | Sequence[Row], *more: object) -> Evaluated:
        output = tmp_path / "scores.jsonl"
        path = source if isinstance(source, Path) else written(tmp_path / "rows.jsonl", source)
        done = run("evaluate", path, "--json", "--output", output, *more)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        lines = output.read_text("utf-8").splitlines()
        return Evaluated(
            done.exit_code, json.loads(done.stdout), list(map(json.loads, lines)), done.stderr
        )

    return evaluated


def written(path: Path, rows: Sequence[Row]) -> Path:
    """Rows as JSON lines."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Put rows into a file."""
    return lambda name, rows: written(tmp_path / name, rows)


@pytest.fixture
def targets(tmp_path: Path) -> Callable[..., tuple[str, Path]]:
    """Options with a profile of targets: `metric=("at_least", 0.8)`."""

    def profile(**bounds: Any) -> tuple[str, Path]:
        path = tmp_path / "targets.toml"
        parts = [
            f'[[target]]\nmetric = "{metric}"\n{side} = {value}\n'
            for metric, (side, value) in bounds.items()
        ]
        path.write_text("\n".join(parts), encoding="utf-8")
        return "--targets", path

    return profile


@pytest.fixture
def shared_case() -> Callable[[str], Path]:
    """A file of the cases that are kept beside the checkout; skips where there are none."""

    def case(name: str) -> Path:
        data = os.environ.get("RAG_MONITOR_TEST_DATA")
        beside = Path(data).parent if data else Path(__file__).resolve().parents[5] / "shared"
        path = beside / "cases" / "evaluation" / name
        if not path.is_file():
            pytest.skip(f"the case {name} is not kept beside this checkout")
        return path

    return case
