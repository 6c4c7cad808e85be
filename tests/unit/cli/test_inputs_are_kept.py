"""No command writes over what it reads, or something else than the name of a file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_monitor.cli import main
from rag_monitor.cli.export import trace_file
from rag_monitor.errors import ConfigurationError

ROW = {"id": "a", "question": "q?", "contexts": ["It is red."], "answer": "It is red."}


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "{}", "-o", "{}"),
        ("evaluate", "{}", "--report", "{}", "--metrics", "bleu_1"),
        ("calibrate", "{}", "-o", "{}"),
        ("distil", "{}", "--judge", "openai_compatible", "-o", "{}"),
    ],
)
@pytest.mark.parametrize("linked", [False, True])
def test_the_input_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], linked: bool
) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([ROW]), encoding="utf-8")
    other = tmp_path / "same.json"
    other.symlink_to(file)
    given = [part.format(other if linked and n > 1 else file) for n, part in enumerate(command)]

    with pytest.raises(SystemExit) as ended:
        main(given)

    assert ended.value.code == 2
    assert "is the input; write to another file" in capsys.readouterr().err
    assert json.loads(file.read_text(encoding="utf-8")) == [ROW]


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "{file}", "-o", "{out}.jsonl"),
        ("calibrate", "{file}", "-o", "{out}.json"),
        ("distil", "{file}", "--judge", "openai_compatible", "-o", "{out}.json"),
    ],
)
def test_a_folder_that_is_not_there_is_told_before_anything_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([ROW]), encoding="utf-8")
    for out, said in (("gone/x", "没有文件夹"), ("there", "是文件夹")):
        for name in ("there.jsonl", "there.json"):
            (tmp_path / name).mkdir(exist_ok=True)
        given = [part.format(file=file, out=tmp_path / out) for part in command]

        with pytest.raises(SystemExit) as ended:
            main([*given, "--language", "zh"])

        assert ended.value.code == 2
        assert said in capsys.readouterr().err


def test_lines_are_not_written_under_the_name_of_a_table(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match=r"writes \.jsonl or \.parquet, not \.csv"),
        trace_file(tmp_path / "e.csv"),
    ):
        pass

    assert list(tmp_path.iterdir()) == []


def test_what_was_not_measured_is_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([ROW]), encoding="utf-8")
    found = []
    for metrics in ("faithfulness", "answer_supported"):
        with pytest.raises(SystemExit, match="0"):
            main(["evaluate", str(file), "--metrics", metrics, "--json"])
        found.append(json.loads(capsys.readouterr().out)["flagged"])
        with pytest.raises(SystemExit, match="0"):
            main(["evaluate", str(file), "--metrics", metrics])
        assert ("flagged as unsupported" in capsys.readouterr().out) is (found[-1] is not None)

    assert found == [None, 0]
