"""From `rag-monitor calibrate` to a stored score: the calibration applies and is named."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("openai")

from benchmarks.stub_server import Answer, Body, completion, fill, schema_of
from rag_monitor.cli.application import app
from rag_monitor.config import load_settings
from rag_monitor.domain.score import Score
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.judges.calibration import read_calibration
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock, make_task, make_trace
from rag_monitor.worker.judging import create_plan
from tests.db import new_sqlite
from tests.unit.cli.test_doctor_judge import served

METRIC = "answer_supported"


def overconfident(_path: str, body: Body) -> Answer:
    """Says 0.95 of true answers and 0.85 of false ones, right about nine times in ten."""
    schema = schema_of(body)
    assert schema is not None
    words = body["messages"][1]["content"]
    value = 0.95 if "24 months" in words.split('"answer":')[1] else 0.85
    reply = fill(schema, value)
    if "noncommittal" in reply:
        reply["noncommittal"] = 0.05
    return Answer(payload=completion(json.dumps(reply)))


def labelled(path: Path) -> Path:
    draw = random.Random(3)
    rows = []
    for number in range(120):
        says = number % 2 == 0
        right = says if draw.random() < 0.9 else not says
        rows.append(
            {
                "id": str(number),
                "question": f"How long is the warranty of item {number}?",
                "contexts": [f"The warranty of item {number} lasts 24 months."],
                "answer": f"It lasts {24 if says else 60} months for item {number}.",
                "label_faithful": int(right),
            }
        )
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def run(*arguments: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def database(folder: Path) -> StoreOptions:
    return StoreOptions(url=new_sqlite(folder / "monitor.db"))


async def scored(config: Path, store: Store, judge: str) -> Score:
    """What the worker makes of one trace under these settings."""
    settings = load_settings(config, {})
    plan = create_plan(settings, store)
    pipeline = Pipeline(plan, Sampler(settings.sampling), ManualClock())
    trace = make_trace(
        "How long is the warranty of item 1?",
        "It lasts 60 months for item 1.",
        ["The warranty of item 1 lasts 24 months."],
    )
    try:
        item = make_task(trace, forced=True)
        (outcome,) = await pipeline.evaluate([item])
        scores = [*outcome.scores]
        if outcome.sampled:
            (more,) = await pipeline.evaluate(
                [replace(item, sampled=True, decisions=outcome.decisions)]
            )
            scores += more.scores
    finally:
        for each in plan.judges:
            await each.close()
    (score,) = [
        score
        for score in scores
        if score.metric == METRIC and score.judge is not None and score.judge.name.startswith(judge)
    ]
    return score


@pytest.mark.parametrize("judge", ["embedded", "openai_compatible"])
def test_a_fitted_calibration_reaches_the_scores(judge: str, tmp_path: Path) -> None:
    config, stored = tmp_path / "rag_monitor.toml", tmp_path / "calibration.json"
    rows = labelled(tmp_path / "rows.jsonl")
    with served(overconfident) as url, Store.open(database(tmp_path)) as store:
        plain = (
            f'judge = "{judge}"\n'
            f'[judges.openai_compatible]\nbase_url = "{url}"\nmodel = "m"\nprobe_every = 0\n'
        )
        config.write_text(plain, encoding="utf-8")
        before = asyncio.run(scored(config, store, judge))
        fitted = run(
            "calibrate", rows, "--judge", judge, "--output", stored, "--config", config, "--json"
        )
        table = f"[judges.{judge}]"
        calibrated = (plain if table in plain else f"{plain}{table}\n").replace(
            table, f'{table}\ncalibration = "{stored}"'
        )
        config.write_text(calibrated, encoding="utf-8")
        after = asyncio.run(scored(config, store, judge))
        again = run(
            "agreement", rows, "--judge", judge, "--config", config, "--limit", 20, "--json"
        )

    (verdict,) = after.verdicts
    assert before.judge is not None
    assert after.judge == replace(before.judge, calibration=fitted["version"])
    assert after.value == pytest.approx(
        read_calibration(stored, fitted["judge"]).apply(before.value or 0.0)
    )
    assert after.value != pytest.approx(before.value)
    assert verdict.raw == before.verdicts[0].raw
    assert after.flagged == (after.value < fitted["threshold"])
    assert again["judge"].endswith(fitted["version"])


def test_a_calibration_fits_a_judge_whose_server_answers_with_another_model(tmp_path: Path) -> None:
    def other(path: str, body: Body) -> Answer:
        answer = overconfident(path, body)
        return replace(answer, payload=answer.payload | {"model": "small-7b"})

    config, stored = tmp_path / "rag_monitor.toml", tmp_path / "calibration.json"
    rows = labelled(tmp_path / "rows.jsonl")
    asked = ("--judge", "openai_compatible", "--config", config, "--json")
    with served(other) as url:
        table = f'[judges.openai_compatible]\nbase_url = "{url}"\nmodel = "m"\nprobe_every = 0\n'
        config.write_text(table, encoding="utf-8")
        fitted = run("calibrate", rows, *asked, "--output", stored)
        config.write_text(f'{table}calibration = "{stored}"\n', encoding="utf-8")
        report = run("evaluate", rows, *asked, "--metrics", "faithfulness")

    assert "served" not in fitted["judge"]
    assert report["judge"] == f"{fitted['judge']}/{fitted['version']}/served=small-7b"


def test_an_overconfident_server_says_what_it_means_after_calibration(tmp_path: Path) -> None:
    config = tmp_path / "rag_monitor.toml"
    with served(overconfident) as url:
        config.write_text(
            f'[judges.openai_compatible]\nbase_url = "{url}"\nmodel = "m"\nprobe_every = 0\n',
            encoding="utf-8",
        )
        fitted = run(
            "calibrate",
            labelled(tmp_path / "rows.jsonl"),
            *("--judge", "openai_compatible", "--config", config, "--json"),
            *("--output", tmp_path / "calibration.json"),
        )

    assert fitted["held_out"]["ece"] < fitted["before"]["ece"] / 2
    assert fitted["held_out"]["brier"] < fitted["brier_of_base_rate"] < fitted["before"]["brier"]
