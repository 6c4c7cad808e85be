"""The command that installs an extra works from where this copy came from."""

from __future__ import annotations

import json
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from rag_monitor import installation
from rag_monitor.installation import install_command

ROOT = Path(__file__).resolve().parents[2]


def _recorded(monkeypatch: pytest.MonkeyPatch, folder: Path, source: object) -> None:
    """As if pip had installed rag-monitor and written `source` beside it."""
    info = folder / "rag_monitor-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rag-monitor\nVersion: 9\n")
    if source is not None:
        (info / "direct_url.json").write_text(json.dumps(source))
    monkeypatch.setattr(metadata, "distribution", lambda name: metadata.PathDistribution(info))


@pytest.mark.parametrize(
    ("source", "command"),
    [
        (
            {"url": "file:///src/rag%20monitor", "dir_info": {}},
            'pip install "/src/rag monitor[gpu,ray]"',
        ),
        (
            {"url": "file:///src/rag-monitor", "dir_info": {"editable": True}},
            'pip install -e "/src/rag-monitor[gpu,ray]"',
        ),
        (
            {"url": "file:///dist/rag_monitor-9-py3-none-any.whl", "archive_info": {}},
            'pip install "rag-monitor[gpu,ray] @ file:///dist/rag_monitor-9-py3-none-any.whl"',
        ),
        (
            {"url": "https://git.example/m.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            'pip install "rag-monitor[gpu,ray] @ git+https://git.example/m.git@abc"',
        ),
    ],
)
def test_a_copy_names_the_folder_wheel_or_repository_it_came_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: object, command: str
) -> None:
    _recorded(monkeypatch, tmp_path, source)

    assert install_command("gpu", "ray") == command


def test_a_copy_from_a_package_index_names_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _recorded(monkeypatch, tmp_path, None)
    monkeypatch.setattr(installation, "_ROOT", tmp_path)

    assert install_command("oidc") == 'pip install "rag-monitor[oidc]"'


def test_a_clone_that_was_never_installed_names_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nothing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", nothing)

    assert install_command("oidc") == f'pip install "{ROOT}[oidc]"'


def test_no_message_or_page_names_a_package_index_that_does_not_serve_us_yet() -> None:
    """Only the READMEs may, behind "once a release is on a package index"."""
    pages = subprocess.run(
        ["git", "ls-files", "rag_monitor", "integrations", "docs", "deploy", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if pages.returncode != 0:
        pytest.skip("the list of pages comes from git, and this is no clone")
    by_name = re.compile(r"pip install[^\n`]*[\s\"'](?:rag-monitor|rag_monitor)(?:\[|[\"'`\s]|$)")
    found = [
        (name, line)
        for name in pages.stdout.split()
        if (ROOT / name).is_file() and not name.endswith((".png", ".gz", ".onnx", ".npz", ".svg"))
        for line in (ROOT / name).read_text("utf-8", errors="ignore").splitlines()
        if by_name.search(line)
    ]
    allowed = {"README.md", "README.zh.md", "CHANGELOG.md", "rag_monitor/installation.py"}

    assert [hit for hit in found if hit[0] not in allowed] == []
