"""The student takes on what its teacher thinks, and the shipped judge does not."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rag_monitor.cli import fitting as command
from rag_monitor.cli.application import app
from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    Verdict,
)
from rag_monitor.errors import RagMonitorError
from rag_monitor.judges.embedded import create, create_lexical
from rag_monitor.judges.embedded.distil import Distilled, distil
from rag_monitor.judges.embedded.encoder import load_encoder, shipped_encoder
from rag_monitor.judges.embedded.model import Model, full, lexical
from rag_monitor.offline.distilling import gather_lessons
from rag_monitor.offline.labelled import read_labelled
from tests.unit.judges.embedded import tiny_encoders

THINGS = ("ferry", "tram", "coach", "barge")
PLACES = ("harbour", "station", "market", "bridge", "castle")
HOURS = ("noon", "dawn", "dusk", "midnight")


class MindsQuotations:
    """A teacher that takes every rewording, but no quotation that is not in the passage."""

    identity = JudgeIdentity(name="teacher", model="m", prompts="p")
    aspects = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})

    async def judge(self, request: JudgeRequest) -> Judgement:
        [passage] = request.contexts or ("",)
        values = [
            0.95 if all(q in passage for q in re.findall('"([^"]+)"', statement.text)) else 0.05
            for statement in request.statements or ()
        ]
        verdicts = [
            Verdict(aspect=Aspect.SUPPORT, probability=p, index=n) for n, p in enumerate(values)
        ]
        whole = Verdict(aspect=Aspect.ANSWER_SUPPORTED, probability=min(values))
        return Judgement(identity=self.identity, verdicts=(*verdicts, whole))

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        return [await self.judge(request) for request in requests]

    async def close(self) -> None:
        return


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Half reworded freely, half in the passage's own words but for a quotation."""
    path = tmp_path / "rows.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for number, (thing, place, hour) in enumerate(product(THINGS, PLACES, HOURS)):
            passage = f"The old {thing} leaves the {place} gate at {hour} with mail for the island."
            quoted = f'The old {thing} leaves the {place} gate at {hour} with "royal mail".'
            reworded = f"Around {hour} an elderly {thing} departs, so neighbours report."
            answer = quoted if number % 2 else reworded
            asked = f"Trip {number} by {thing}?"
            row = {"id": str(number), "question": asked, "contexts": [passage], "answer": answer}
            lines.write(json.dumps(row) + "\n")
    return path


def taught(rows: Path) -> Distilled:
    lessons = asyncio.run(gather_lessons(list(read_labelled(rows)), MindsQuotations()))
    return distil(lessons, lexical())


def test_the_student_agrees_with_its_teacher_on_sources_it_never_saw(rows: Path) -> None:
    facts = taught(rows).facts["en"]

    assert facts["answers"] == 80
    assert facts["held_out"]["auroc"] >= facts["before"]["auroc"]
    assert facts["held_out"]["auroc"] > 0.95
    assert facts["held_out"]["brier"] < facts["before"]["brier"]


def test_the_same_verdicts_give_the_same_file_and_version(rows: Path) -> None:
    assert taught(rows) == taught(rows)


def test_a_language_with_too_few_verdicts_keeps_its_weights(rows: Path) -> None:
    languages = json.loads(taught(rows).packed)["languages"]

    own = lexical().of_language("zh")
    assert languages["zh"] == {name: languages["zh"][name] for name in own.__slots__}
    assert tuple(languages["zh"]["claim"]) == own.claim
    assert tuple(languages["en"]["claim"]) != lexical().of_language("en").claim


def test_no_learnt_weight_is_negative(rows: Path) -> None:
    languages = json.loads(taught(rows).packed)["languages"]

    assert min(languages["en"]["claim"]) >= 0.0


def test_the_encoder_is_given_a_weight_where_it_agrees_with_the_teacher(
    rows: Path, tmp_path: Path
) -> None:
    folder = tiny_encoders.pairs(tmp_path / "encoder")
    encoder = load_encoder(folder, 1)
    lessons = [
        replace(lesson, read=[(4.0 - 8.0 * (value or 0.0),) * 2 for value in lesson.taught])
        for lesson in asyncio.run(gather_lessons(list(read_labelled(rows)), MindsQuotations()))
    ]

    learnt = distil(lessons, lexical(), encoder.version)

    path = tmp_path / "weights.json"
    path.write_bytes(learnt.packed)
    judge = create({"weights": str(path), "encoder": str(folder)})
    assert judge.identity.calibration == learnt.version
    assert json.loads(learnt.packed)["languages"]["en"]["read"] > [0.02, 0.02]


def test_the_shipped_encoder_is_read_where_it_was_and_stays_unread_where_it_was_not(
    rows: Path,
) -> None:
    encoder = shipped_encoder(1)
    lessons = [
        replace(lesson, read=[(4.0 - 8.0 * (value or 0.0),) * 2 for value in lesson.taught])
        for lesson in asyncio.run(gather_lessons(list(read_labelled(rows)), MindsQuotations()))
    ]

    shipped = json.loads(
        (files("rag_monitor.judges.embedded") / "shipped/weights.json").read_text()
    )
    shipped["languages"]["en"]["read"] = [0.0, 0.0]
    start = Model(json.dumps(shipped).encode())
    languages = json.loads(distil(lessons, start, encoder.version).packed)["languages"]

    own = full().of_language("zh")
    assert tuple(languages["zh"]["read"]) == own.read > (0, 0)
    assert tuple(languages["zh"]["claim"]) == own.claim
    assert tuple(languages["en"]["claim"]) != full().of_language("en").claim
    assert languages["en"]["read"] == [0.0, 0.0]


def test_too_few_verdicts_are_refused_with_their_number(rows: Path) -> None:
    lessons = asyncio.run(gather_lessons(list(read_labelled(rows))[:20], MindsQuotations()))

    with pytest.raises(RagMonitorError, match="10 held and 10 rejected in en"):
        distil([replace(x, holds=bool(n % 2)) for n, x in enumerate(lessons)], lexical())


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_the_command_writes_weights_the_judge_takes(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "create_judge", lambda _settings, _name: MindsQuotations())
    output = tmp_path / "weights.json"

    done = _run("distil", rows, "--judge", "teacher", "--output", output, "--json")

    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["answers"] == 80
    student = create({"weights": str(output)})
    assert student.identity.calibration == figures["version"]
    reworded = JudgeRequest(
        question="When?",
        contexts=("The old ferry leaves the harbour gate at noon with mail for the island.",),
        answer="Around noon an elderly ferry departs, so neighbours report.",
        aspects=MindsQuotations.aspects,
    )
    judgement, before = student.judge_one(reworded), create({}).judge_one(reworded)
    [value], [shipped_value] = (j.of(Aspect.ANSWER_SUPPORTED) for j in (judgement, before))
    assert value.probability >= judgement.threshold
    assert value.probability > shipped_value.probability


def test_a_student_without_an_encoder_is_taught_on_request(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "create_judge", lambda _settings, _name: MindsQuotations())
    output = tmp_path / "weights.json"

    done = _run("distil", rows, "--judge", "teacher", "--output", output, "--lexical")

    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert 'judge = "embedded-lexical" and [judges.embedded-lexical]' in told
    assert create_lexical({"weights": str(output)}).identity.name == "embedded-lexical"
    both = _run("distil", rows, "--judge", "teacher", "--lexical", "--encoder", tmp_path)
    assert isinstance(both.exception, RagMonitorError)


def test_the_student_cannot_teach_itself(rows: Path) -> None:
    done = _run("distil", rows, "--judge", "embedded")

    assert isinstance(done.exception, RagMonitorError)
