"""Agreement, calibration and evaluation by a detector, as by every other judge."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from rag_monitor.judges.detectors.texts import Texts
from tests.unit.judges.detectors.onnx_files import nli_folder
from tests.unit.judges.detectors.tiny_detectors import tokenizer

ROWS = 120


def rows(path: Path) -> Path:
    """Answers of which those with a 60 are not supported, but for one label in ten."""
    draw = random.Random(3)
    found = []
    for number in range(ROWS):
        says = number % 2 == 0
        right = says if draw.random() < 0.9 else not says
        item = "abcdefghijkl"[number // 10] + "abcdefghij"[number % 10]
        found.append(
            {
                "id": str(number),
                "question": f"How long is the warranty of item {item}?",
                "contexts": [f"The warranty of item {item} lasts 24 months."],
                "answer": f"It lasts {24 if says else 60} months.",
                "label_faithful": int(right),
            }
        )
    path.write_text("\n".join(map(json.dumps, found)), encoding="utf-8")
    return path


def knowing(path: Path) -> Path:
    """A model that takes sixty for a contradiction."""
    weights = np.zeros((400, 3), np.float32)
    weights[:, 1] = 0.02
    texts = Texts(tokenizer("bert"))
    (only,) = set(texts.encode(" 60").ids[1:-1]) - set(texts.encode("The 24 of 50 0").ids)
    weights[only, 0] = 3.0
    return nli_folder(path, weights)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "rag_monitor.toml"
    model = knowing(tmp_path / "nli")
    path.write_text(
        f'database_url = "sqlite:///{tmp_path}/m.db"\n'
        f'[judges.mine]\nkind = "detector"\nmodel = "{model}"\nruntime = "onnx"\n',
        encoding="utf-8",
    )
    return path


def run(*arguments: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_is_compared_with_people_calibrated_and_flags_by_the_calibration(
    tmp_path: Path, settings: Path
) -> None:
    labelled = rows(tmp_path / "rows.jsonl")
    by = ("--judge", "mine", "--config", settings)
    calibration = tmp_path / "calibration.json"

    agreed = run("agreement", labelled, *by, "--json")
    fitted = run("calibrate", labelled, *by, "-o", calibration, "--json")
    settings.write_text(
        settings.read_text(encoding="utf-8") + f'calibration = "{calibration}"\n', encoding="utf-8"
    )
    output = tmp_path / "scores.jsonl"
    run("evaluate", labelled, *by, "--output", output, "--json")

    assert agreed["judge"].startswith("detector/nli-onnx/nli-")
    assert agreed["rows"] == ROWS
    assert fitted["judge"] == agreed["judge"]
    scored = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert {row["judge"].rpartition("/")[2] for row in scored} == {fitted["version"]}
    assert [row["flagged"] for row in scored] == [n % 2 == 1 for n in range(ROWS)]
