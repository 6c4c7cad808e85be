"""Order and length: what moves a judge is found, what does not is not."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Verdict
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import JudgeUnavailable
from rag_monitor.offline.bias import length_bias, position_bias
from rag_monitor.testing import ScriptedJudge, make_trace


def traces(count: int = 10, passages: int = 3) -> list[Trace]:
    texts = [f"passage {n}" for n in range(passages)]
    return [make_trace(f"q{n}", "an answer", texts, id=f"t{n}") for n in range(count)]


def saying(value: float) -> Judgement:
    verdict = Verdict(aspect=Aspect.ANSWER_SUPPORTED, probability=value, raw=value)
    return Judgement(identity=ScriptedJudge().identity, verdicts=(verdict,))


def first_counts(request: JudgeRequest) -> Judgement:
    return saying(0.7 if (request.contexts or ("",))[0] == "passage 0" else 0.4)


async def test_a_judge_that_reads_only_the_first_passage_shifts_and_flips() -> None:
    found = await position_bias(ScriptedJudge(first_counts), traces())

    assert found.judged == 10
    assert found.mean_shift == pytest.approx(0.3)
    assert (found.noise, found.flipped) == (0.0, 1.0)


async def test_a_judge_without_regard_for_order_does_not_shift() -> None:
    found = await position_bias(ScriptedJudge(dict.fromkeys(Aspect, 0.8)), traces())

    assert (found.mean_shift, found.noise, found.flipped) == (0.0, 0.0, 0.0)


async def test_noise_is_told_apart_from_order() -> None:
    draw = random.Random(5)

    found = await position_bias(ScriptedJudge(lambda _: saying(draw.random())), traces(200))

    assert found.mean_shift is not None
    assert found.noise is not None
    assert found.mean_shift == pytest.approx(found.noise, abs=0.08)


async def test_traces_with_one_passage_are_left_out_and_failures_counted() -> None:
    judge = ScriptedJudge(lambda _: JudgeUnavailable())

    found = await position_bias(judge, [*traces(4), *traces(3, passages=1)])

    assert (found.judged, found.failed, found.mean_shift) == (0, 4, None)


def test_a_score_that_is_only_length_has_no_worth_without_it() -> None:
    lengths = [10 * n + 10 for n in range(40)]
    faithful = [n < 20 for n in range(40)]
    probabilities = [1 - math.log(1 + length) / 10 for length in lengths]

    found = length_bias(probabilities, lengths, faithful)

    assert found.correlation is not None
    assert found.correlation == pytest.approx(-1.0)
    assert found.auroc == found.auroc_of_length == 1.0
    assert found.auroc_without_length == pytest.approx(0.5)


def test_a_score_that_knows_the_truth_keeps_its_worth() -> None:
    draw = random.Random(1)
    faithful = [draw.random() < 0.5 for _ in range(200)]
    lengths = [draw.randint(20, 800) for _ in faithful]
    probabilities = [0.9 if label else 0.1 for label in faithful]

    found = length_bias(probabilities, lengths, faithful)

    assert found.auroc_without_length == pytest.approx(1.0)
    assert found.correlation == pytest.approx(0.0, abs=0.15)


def test_answers_of_one_length_say_nothing_about_length() -> None:
    found = length_bias([0.9, 0.2, 0.8], [50, 50, 50], [True, False, True])

    assert found.correlation is None
    assert found.auroc == found.auroc_without_length == 1.0


def test_the_command_reports_bias_beside_agreement(tmp_path: Path) -> None:
    rows = [
        {
            "id": str(n),
            "question": f"How long is warranty {n}?",
            "answer": f"It lasts {24 if n % 2 else 99} months." + " It covers parts." * (n % 3),
            "contexts": ["The warranty lasts 24 months. It covers parts.", "We open at nine."],
            "label_faithful": n % 2,
        }
        for n in range(12)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")

    done = CliRunner().invoke(app, ["agreement", str(file), "--bias", "--bias-rows", "5", "--json"])

    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["position_asked"] == 5
    assert figures["position_noise"] == 0.0
    assert 0.0 <= figures["position_mean_shift"] <= 1.0
    assert figures["length_auroc"] == pytest.approx(figures["auroc"]["value"])
