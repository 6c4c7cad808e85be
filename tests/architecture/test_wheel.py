"""The built wheel holds everything a user needs, and nothing a user should not get."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import ClassVar

import pytest

import hatch_build
from rag_monitor.language.compiled import COMPILED

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    "rag_monitor/py.typed",
    "rag_monitor/store/migrations/env.py",
    "rag_monitor/store/migrations/versions/0001_first_tables.py",
    "rag_monitor/store/migrations/versions/0002_marks.py",
    "rag_monitor/judges/embedded/weights.json",
    "rag_monitor/judges/embedded/lexicon.json.gz",
    "rag_monitor/judges/embedded/shipped/NOTICE",
    "rag_monitor/judges/embedded/shipped/encoder.json",
    "rag_monitor/judges/embedded/shipped/model.onnx",
    "rag_monitor/judges/embedded/shipped/tokenizer.json",
    "rag_monitor/judges/embedded/shipped/weights.json",
    "rag_monitor/judges/embedded/_matching.pyx",
    "rag_monitor/judges/prompts/zh.toml",
    "rag_monitor/language/traditional.txt",
    "rag_monitor/locale/zh/LC_MESSAGES/rag_monitor.po",
    "rag_monitor/metrics/profiles/rag.toml",
    "rag_monitor_langchain/__init__.py",
)
MAX_BYTES = 40 * 2**20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="building a wheel needs hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", str(folder), str(ROOT)], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_carries_code_data_and_migrations(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    assert [name for name in NEEDED if name not in names] == []


@pytest.mark.slow
def test_the_wheel_carries_what_is_compiled(wheel: Path) -> None:
    if COMPILED is None:
        pytest.skip("nothing can be compiled here")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    assert {hatch_build.compiled_name(source) for source in hatch_build.SOURCES} <= names
    assert "none-any" not in wheel.name


def test_every_compiled_source_is_named() -> None:
    found = {str(path.relative_to(ROOT)) for path in (ROOT / "rag_monitor").rglob("*.pyx")}

    assert found == set(hatch_build.SOURCES)


def test_the_package_is_built_without_a_compiler_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Application:
        warnings: ClassVar[list[str]] = []

        def display_warning(self, message: str) -> None:
            self.warnings.append(message)

    def refuse(*_: Path) -> None:
        raise OSError("no compiler")

    monkeypatch.setattr(hatch_build, "compile_all", refuse)
    hook = hatch_build.CompiledParts(
        str(ROOT),
        {},
        None,
        None,
        "dist",
        "wheel",
        app=Application(),  # type: ignore[arg-type]
    )
    data: dict[str, object] = {"force_include": {}}
    hook.initialize("standard", data)

    assert data == {"force_include": {}}
    assert Application.warnings == ["not compiled, runs as Python: no compiler"]


@pytest.mark.slow
def test_the_wheel_carries_no_tests_and_stays_small(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert [n for n in names if n.startswith(("tests/", "benchmarks/", "docs/"))] == []
    assert wheel.stat().st_size < MAX_BYTES
