"""`rag-monitor doctor` says whether the embedded judge runs as fast as it can."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_monitor.cli import doctor
from rag_monitor.cli.application import app


def compiled(*arguments: str) -> Any:
    found = CliRunner().invoke(app, ["doctor", "--json", *arguments])
    (check,) = [c for c in json.loads(found.stdout)["checks"] if c["name"] == "compiled"]
    return check


def test_what_is_compiled_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "COMPILED", object())

    assert compiled() == {"name": "compiled", "ok": True, "detail": "yes", "looked_at": True}


@pytest.mark.parametrize(
    ("language", "words"), [("en", "install a C compiler"), ("zh", "安装 C 编译器")]
)
def test_what_runs_as_python_is_in_order_and_told(
    language: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "COMPILED", None)
    check = compiled("--language", language)

    assert check["ok"] is True
    assert words in check["detail"]
