"""The first commands of the README do what it says in a fresh clone. Run by `make test-clone`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WANTED = "RAG_MONITOR_TEST_CLONE"
_INSTALLS = "minutes of installing; `make test-clone` runs it"
_FIRST_BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(WANTED not in os.environ, reason=_INSTALLS),
]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a user has after `git clone`: the tracked files and nothing else."""
    for program in ("git", "make"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} on this machine")
    folder = tmp_path_factory.mktemp("fresh") / "rag-monitor"
    subprocess.run(
        ["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(folder)], check=True
    )  # fmt: skip
    return folder


def _environment(home: Path) -> dict[str, str]:
    """A user's environment: no virtual environment, no setting of ours, a home of its own."""
    ours = ("RAG_MONITOR_", "VIRTUAL_ENV", "PYTHONPATH", "PYTEST_", "MAKE", "MFLAGS", "CI")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    home.mkdir(exist_ok=True)
    return kept | {"HOME": str(home)}


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_the_first_block_is_the_two_commands(readme: str) -> None:
    block = _FIRST_BLOCK.search((ROOT / readme).read_text("utf-8"))

    assert block is not None
    assert re.fullmatch(
        r'make demo(?: DEMO_ARGS="--language zh")?\nmake test\n', block[1]
    ), block[1]  # fmt: skip


def test_the_first_block_runs_as_printed(clone: Path) -> None:
    block = _FIRST_BLOCK.search((clone / "README.md").read_text("utf-8"))
    assert block is not None
    demo, test = block[1].splitlines()
    environment = _environment(clone.parent / "home")

    story = subprocess.run(
        demo, shell=True, cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert story.returncode == 0, story.stderr[-4000:]
    assert "ALERT firing" in story.stdout + story.stderr

    # The whole suite would contain this test, so one file of it stands for all.
    environment["PYTEST_ARGS"] = "tests/unit/test_skeleton.py"
    suite = subprocess.run(
        test, shell=True, cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert suite.returncode == 0, suite.stdout[-4000:] + suite.stderr[-4000:]
    assert re.search(r"\d+ passed", suite.stdout)
