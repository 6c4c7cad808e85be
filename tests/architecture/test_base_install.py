"""What somebody sees who installed only the SDK."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rag_monitor.installation import install_command

ROOT = Path(__file__).resolve().parents[2]

_WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from rag_monitor.cli import main
main(["doctor"])
"""


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_the_command_says_what_to_install(missing: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT.format(missing=missing)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert f"needs {missing}" in done.stderr
    assert install_command("server") in done.stderr
    assert "Traceback" not in done.stderr
