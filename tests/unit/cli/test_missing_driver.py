"""A PostgreSQL URL without its driver: every command says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag_monitor.installation import install_command

ROOT = Path(__file__).resolve().parents[3]
_WITHOUT = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "psycopg":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from rag_monitor.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("command", [("doctor",), ("migrate",), ("migrate", "--check"), ("serve",)])
def test_a_command_without_the_driver_says_what_to_install(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT, *command],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "RAG_MONITOR_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = done.stdout + done.stderr

    assert done.returncode != 0
    assert (
        f"PostgreSQL needs psycopg (No module named 'psycopg'): {install_command('postgresql')}"
        in said
    )
    assert "mistake of ours" not in said
    assert "Traceback" not in said
