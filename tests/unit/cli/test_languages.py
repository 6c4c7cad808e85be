"""Every command speaks both languages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from tests.docs.test_commands_page import KNOWN, options

_HAN = re.compile(r"[\u4e00-\u9fff]")


def test_every_command_takes_a_language() -> None:
    assert [name for name, one in KNOWN.items() if "--language" not in options(one)] == []


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.chdir(tmp_path)
    return CliRunner()


def test_doctor_tells_people_in_chinese_and_keeps_the_names_of_json(runner: CliRunner) -> None:
    runner.invoke(app, ["migrate"])
    told = runner.invoke(app, ["doctor", "--language", "zh"])
    asked = runner.invoke(app, ["doctor", "--json"], env={"RAG_MONITOR_LANGUAGE": "zh"})
    english = runner.invoke(app, ["doctor"])

    assert told.exit_code == 0
    lines = told.stdout.splitlines()[1:]
    assert all(line.startswith("正常") for line in lines)
    assert any("数据库：可以连接，结构版本" in line for line in lines)
    assert any("没有等待评审的请求" in line for line in lines)
    found = {check["name"]: check["detail"] for check in json.loads(asked.stdout)["checks"]}
    assert found["queue"] == "没有等待评审的请求"
    assert not _HAN.search(english.stdout)
    assert "ok   database: reachable, schema" in english.stdout


def test_migrate_says_where_the_schema_is_in_both(runner: CliRunner) -> None:
    needed = runner.invoke(app, ["migrate", "--check", "--language", "zh"])
    done = runner.invoke(app, ["migrate", "--language", "zh"])
    again = runner.invoke(app, ["migrate"])

    assert (needed.exit_code, done.exit_code) == (1, 0)
    assert "还没有文件" in needed.stdout
    assert "请去掉 --check" in needed.stdout
    assert re.search(r"数据库结构的版本为 \d+（原为 空）", done.stdout)
    assert re.fullmatch(r"the schema is at \d+\n", again.stdout)


def test_erase_asks_in_the_language_of_the_reader(runner: CliRunner) -> None:
    refused = runner.invoke(app, ["erase", "amy", "--language", "zh"], input="n\n")

    assert refused.exit_code == 1
    assert "删除用户 'amy' 的全部数据？" in refused.output
