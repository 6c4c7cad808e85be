"""The rules of the house that a reader relies on."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rag_monitor

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "rag_monitor"
MODULES = sorted(p for top in ("rag_monitor", "integrations") for p in (ROOT / top).rglob("*.py"))
MAX_LINES = 500

DOORS = {
    "fastapi", "starlette", "uvicorn", "httpx", "sqlalchemy", "alembic", "apscheduler",
    "prometheus_client", "torch", "transformers", "onnxruntime", "tokenizers", "openai", "numpy",
    "pydantic", "jieba", "rich", "typer",
}  # fmt: skip
MAX_OWN_MODULES = 30
"""Modules of ours that `import rag_monitor` may load."""
MAX_MODULES = 300
"""Everything in `sys.modules` after it, the interpreter and OpenTelemetry included."""

PUBLIC_NAMES = {
    "__version__", "configure", "copy_context", "current", "feedback", "flush", "generation",
    "plugin", "record_contexts", "retrieval", "shutdown", "stats", "trace", "workflow",
}  # fmt: skip

ENVIRONMENT_DOORS = {"rag_monitor/config/__init__.py", "rag_monitor/sdk/client.py"}
ABOVE_CONFIG = ("rag_monitor/cli/", "rag_monitor/demo/", "rag_monitor/server/")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_every_module_is_short_and_says_what_it_is(path: Path) -> None:
    source = path.read_text(encoding="utf-8")

    assert len(source.splitlines()) <= MAX_LINES
    assert ast.get_docstring(ast.parse(source)), "needs a module docstring"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.p[yx][xi]")), ids=_name)
def test_every_compiled_source_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_every_folder_with_code_is_a_package_with_a_docstring() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}

    assert [_name(f) for f in folders if not (f / "__init__.py").is_file()] == []


def test_the_environment_is_read_behind_two_doors_only() -> None:
    readers = {_name(path) for path in PACKAGE.rglob("*.py") if _reads_environment(path)}

    assert {r for r in readers if not r.startswith(ABOVE_CONFIG)} <= ENVIRONMENT_DOORS


def _reads_environment(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    written = {  # `os.environ[…] = …` tells a library something, and reads nothing
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(tree):
        if id(node) in written:
            continue
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv"):
            return True
        imported = node.names if isinstance(node, ast.ImportFrom) and node.module == "os" else []
        if {alias.name for alias in imported} & {"environ", "environb", "getenv"}:
            return True
    return False


def _modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(' '.join(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_sdk_opens_no_door_and_loads_little() -> None:
    loaded = _modules_after("import rag_monitor")

    assert {name.partition(".")[0] for name in loaded} & DOORS == set()
    assert sum(name.startswith("rag_monitor") for name in loaded) <= MAX_OWN_MODULES
    assert len(loaded) <= MAX_MODULES


def test_decorating_a_handler_loads_what_its_first_call_needs() -> None:
    decorated = "import rag_monitor\n@rag_monitor.trace\ndef answer(question): return question\n"
    called = f"{decorated}answer('who?')"

    def own(code: str) -> set[str]:
        return {name for name in _modules_after(code) if name.startswith("rag_monitor")}

    assert "rag_monitor.sdk.transport" in own(decorated)
    assert own(called) == own(decorated)


def test_the_command_starts_without_the_heavy_libraries() -> None:
    loaded = {name.partition(".")[0] for name in _modules_after("import rag_monitor.cli")}

    assert loaded & DOORS == set()


def test_the_public_names_are_these() -> None:
    assert set(rag_monitor.__all__) == PUBLIC_NAMES
    assert all(hasattr(rag_monitor, name) for name in PUBLIC_NAMES)


def test_the_layers_hold() -> None:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    folders = [ROOT, *sorted(path for path in (ROOT / "integrations").iterdir() if path.is_dir())]
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
