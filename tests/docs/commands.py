"""Runs a printed command line, or checks as much of it as this machine allows."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from typer.main import get_command

from rag_monitor.cli import main
from rag_monitor.cli.application import app
from tests.docs.pages import ROOT

Words = list[str]
_ELSEWHERE = {
    "demo": "tests/acceptance runs the whole story",
    "serve": "the monitor these snippets talk to was started by it",
    "golden": "asks an endpoint of yours; tests/unit/offline runs it against one",
    "calibrate": "needs hundreds of labelled rows; tests/unit/cli runs it",
    "documents": "asks a monitor with traces; tests/integration/test_documents.py runs it",
}
"""Our commands whose options are checked here, and which run in other tests."""
_ONCE = {("rules", "check")}
"""Slow ones, which run on the first page that prints them."""
_seen: set[tuple[str, ...]] = set()


def lines(text: str) -> list[str]:
    """The commands of a shell block; quoted and continued lines stay together, comments go."""
    found, waiting = [], ""
    for line in text.splitlines():
        waiting = f"{waiting}\n{line}" if waiting else line
        if waiting.endswith("\\"):
            continue
        try:
            words = shlex.split(waiting, comments=True)
        except ValueError:  # a quotation goes on
            continue
        if words:
            found.append(waiting)
        waiting = ""
    assert not waiting, f"a quotation is never closed: {waiting!r}"
    return found


def run(line: str, folder: Path) -> None:
    """Execute a line in `folder`, or check it; fails when it does not work as printed."""
    words = shlex.split(line, comments=True)
    while "=" in words[0] and words[0].split("=")[0].isupper():
        words.pop(0)  # `NAME=value command`
    handler = _HANDLERS.get(words[0])
    assert handler is not None, f"nobody knows how to check `{words[0]}`; mark the block `not run`"
    handler(words, line, folder)


def _ours(words: Words, line: str, folder: Path) -> None:
    check_options(words)
    named = any(re.fullmatch(r"[A-Z]{2,}", word) for word in words[2:])  # `rotate ID`: yours
    if named or words[1] in _ELSEWHERE or tuple(words) in _seen:
        return
    if tuple(words[1:3]) in _ONCE:
        _seen.add(tuple(words))
    with pytest.raises(SystemExit) as ended:
        main(words[1:])
    gated = any(word.startswith("--fail") for word in words)  # exits with 1 by what it measured
    assert ended.value.code in ({0, 1} if gated else {0}), f"`{line}` exits with {ended.value.code}"


def check_options(words: Words) -> None:
    """The command and every option of it exist."""
    command = get_command(app)
    rest = words[1:]
    while rest and hasattr(command, "commands"):
        name = rest.pop(0)
        assert name in command.commands, f"there is no command `{name}`"
        command = command.commands[name]
    known = {"--help"} | {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    assert {word for word in rest if word.startswith("--")} <= known


def _pip(words: Words, line: str, folder: Path) -> None:
    """Not run: tests do not install. The package, its extras and files exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert words[1] == "install"
    for wanted in words[2:]:
        if wanted.startswith(("rag-monitor", ".")):
            extras = re.findall(r"\[([\w,-]+)\]", wanted)
            known = set(project["optional-dependencies"])
            assert {name for group in extras for name in group.split(",")} <= known
        else:
            assert re.fullmatch(r"[a-z][\w.-]*(?:[<>=]=?[\d.]+)?", wanted), wanted


def _curl(words: Words, line: str, folder: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    done = subprocess.run(
        ["curl", "--fail-with-body", "--max-time", "60", *words[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"`{line}`: {done.stdout} {done.stderr}"


def _make(words: Words, line: str, folder: Path) -> None:
    """Not run: `make test` would run us. The targets exist."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in (word for word in words[1:] if "=" not in word):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def _python(words: Words, line: str, folder: Path) -> None:
    """Not run: benchmarks take minutes. The module or script exists."""
    if words[1:3] == ["-m", "venv"]:
        return
    if words[1] == "-m":
        assert importlib.util.find_spec(words[2]) is not None, words[2]
    else:
        assert (ROOT / words[1]).exists(), words[1]


def _files(words: Words, line: str, folder: Path) -> None:
    """Not run: it changes the system. What it takes from this project exists."""
    for word in words[1:]:
        if word.startswith(("deploy/", "benchmarks/")) and word != "deploy/.env":
            assert (ROOT / word).exists(), word


def _venv(words: Words, line: str, folder: Path) -> None:
    _pip(["pip", *words[1:]], line, folder)


_HANDLERS: Mapping[str, Callable[[Words, str, Path], None]] = {
    "rag-monitor": _ours,
    "pip": _pip,
    "/opt/rag-monitor/bin/pip": _venv,
    "curl": _curl,
    "make": _make,
    "python": _python,
    "python3": _python,
    **dict.fromkeys(
        (
            "docker",
            "kubectl",
            "cp",
            "mkdir",
            "mv",
            "install",
            "systemctl",
            "git",
            "cd",
            "openssl",
            "promtool",
            "export",
            "psql",
            "pg_dump",
            "pg_restore",
            "createdb",
        ),
        _files,
    ),
}


def environment(folder: Path, url: str) -> dict[str, str]:
    """What the commands find in their environment."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RAG_MONITOR_")}
    return kept | {
        "RAG_MONITOR_ENDPOINT": url,
        "RAG_MONITOR_DATABASE_URL": f"sqlite:///{folder / 'mine.db'}",
    }
