"""`rag-monitor doctor` about hallucination detectors: what they are, how fast this machine is."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from rag_monitor.domain.judgement import JudgeRequest
from rag_monitor.judges.detectors import speed
from rag_monitor.judges.detectors.speed import PUBLISHED, Machine, guess, sample, tokens_of
from tests.unit.judges.detectors.onnx_files import nli_folder


def settings(folder: Path) -> list[str]:
    path = folder / "rag_monitor.toml"
    model = nli_folder(folder / "nli")
    path.write_text(
        f'judge = "detector"\ndatabase_url = "sqlite:///{folder}/m.db"\n'
        f'[judges.detector]\nmodel = "{model}"\nruntime = "onnx"\n'
        '[judges.gone]\nkind = "detector"\nmodel = "/nowhere/at-all"\n',
        encoding="utf-8",
    )
    return ["--config", str(path)]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "_LEAST_S", 0.0)
    monkeypatch.setattr(speed, "look", lambda: Machine("NVIDIA T4", 8e9, 1e11, 4))


def test_doctor_says_how_the_configured_detector_is_asked_without_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "look", lambda: pytest.fail("it measures only when asked"))

    done = CliRunner().invoke(app, ["doctor", "--json", *settings(tmp_path)])

    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["judge"]["ok"]
    assert checks["judge"]["detail"].startswith("detector/nli-onnx/nli-")
    assert "format nli, runs_on onnxruntime, CPU, max_tokens 512" in checks["judge"]["detail"]


@pytest.mark.usefixtures("quick")
def test_doctor_measures_configured_detectors_and_guesses_published_ones(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", "--detectors", *settings(tmp_path)])

    assert done.exit_code == 1, "one of them is not there"
    lines = done.stdout.splitlines()
    assert "ok   machine: NVIDIA T4, 8 GB free, about 100 × 10⁹ operations a second" in lines
    (measured,) = (line for line in lines if line.startswith("ok   detector detector: "))
    assert " s a trace, " in measured
    assert measured.endswith("tokens a second, measured; onnxruntime, CPU")
    assert any(line.startswith("BAD  detector gone: there is no folder") for line in lines)
    assert any("lettucedect-base" in line and "a guess" in line for line in lines)
    assert any("granite-guardian-3.1-8b: does not fit: its weights take 32.8" in x for x in lines)


@pytest.mark.usefixtures("quick")
def test_doctor_says_it_in_chinese(tmp_path: Path) -> None:
    arguments = ["doctor", "--detectors", "--language", "zh", *settings(tmp_path)]

    lines = CliRunner().invoke(app, arguments).stdout.splitlines()

    assert "正常   本机：NVIDIA T4，空闲 8 GB，每秒约 100 × 10⁹ 次运算" in lines
    assert any(line.startswith("正常   检测模型 detector：每条请求 ") for line in lines)
    assert any(line.startswith("异常   检测模型 gone：没有文件夹 ") for line in lines)


def test_a_sample_is_as_large_as_it_is_said_to_be() -> None:
    request: JudgeRequest = sample(3)

    assert [len(text.split()) for text in request.contexts or ()] == [200] * 5
    assert len(request.answer.split()) == 100
    assert sample(4) != request


def test_guesses_go_by_what_a_model_reads_and_does() -> None:
    machine = Machine("", math.inf, 1e11, 4)
    seconds = {model.name.rpartition("/")[2]: guess(model, machine) for model in PUBLISHED}
    lettuce = next(model for model in PUBLISHED if "lettucedect-base" in model.name)

    assert all(value is not None and value > 0 for value in seconds.values())
    assert tokens_of(lettuce) == pytest.approx(1300 + 130 + 40)
    assert seconds["lettucedect-base-modernbert-en-v1"] == pytest.approx(
        2 * 110e6 * 1470 / (1e11 * 0.5)
    )
    assert speed.look().operations > 0
