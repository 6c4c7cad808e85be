"""What all integrations have in common: how they are found, shipped and refused."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rag_monitor.installation import install_command
from tests.integrations.captured import Captured

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = sorted(p.parent for p in (ROOT / "integrations").glob("*/rag_monitor_*/"))
NAMES = [folder.name for folder in FOLDERS]
FRAMEWORKS = {
    "coze": ("httpx", "coze"),
    "dify": ("httpx", "dify"),
    "fastapi": ("starlette", "fastapi"),
    "flask": ("flask", "flask"),
    "haystack": ("haystack", "haystack"),
    "langchain": ("langchain_core", "langchain"),
    "llama_index": ("llama_index", "llama-index"),
    "openai": ("openai", "openai"),
}
MAX_LINES = 300
_WITHOUT = """
import sys
sys.path[:0] = [{root!r}, {folder!r}]

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import rag_monitor_{name}
"""


def test_every_folder_is_known_here() -> None:
    assert sorted(FRAMEWORKS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_integration_is_shipped_typed_found_and_has_its_extra(name: str) -> None:
    package = f"rag_monitor_{name}"
    path = f"integrations/{name}/{package}"
    tools = PROJECT["tool"]

    assert path in tools["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert package in tools["mypy"]["packages"]
    assert package in tools["importlinter"]["root_packages"]
    assert PROJECT["project"]["entry-points"]["rag_monitor.integrations"][name] == package
    assert len(PROJECT["project"]["optional-dependencies"][FRAMEWORKS[name][1]]) == 1
    assert (ROOT / path / "py.typed").is_file()
    assert f'".[{FRAMEWORKS[name][1]}]"' in (ROOT / "integrations" / name / "README.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("name", NAMES)
def test_its_modules_are_short(name: str) -> None:
    modules = (ROOT / "integrations" / name).rglob("*.py")

    assert max(len(m.read_text(encoding="utf-8").splitlines()) for m in modules) <= MAX_LINES


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_framework_gives_one_error_with_the_command(name: str) -> None:
    missing, extra = FRAMEWORKS[name]
    folder = str(ROOT / "integrations" / name)
    code = _WITHOUT.format(root=str(ROOT), folder=folder, missing=missing, name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert install_command(extra) in done.stderr.splitlines()[-1]
    assert "During handling" not in done.stderr


def test_the_example_of_an_own_integration_records_a_trace(captured: Captured) -> None:
    text = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    section = text.partition("\n## Your own\n")[2]
    example = section.partition("```python\n")[2].partition("```")[0]
    exec(compile(example, "docs/integrations.md", "exec"), {})  # noqa: S102 - our own text

    trace = captured.trace
    assert (trace.question, trace.answer) == ("How long is the warranty?", "24 months.")
    assert [d.id for d in trace.contexts] == ["doc-7"]
    assert trace.streamed
