"""Verdicts must not hang on the order in which a process happens to walk its sets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
JUDGE_ALL = """
import json, sys
from benchmarks.embedded_judge.corpora import everyday
from benchmarks.embedded_judge.details import FOLDER
from benchmarks.embedded_judge.written import statements
from rag_monitor.domain.judgement import JudgeRequest
from rag_monitor.judges.embedded import create_lexical
from rag_monitor.judges.embedded.judge import ASPECTS

rows = [(row["question"] or "", row["answer"], tuple(row["contexts"])) for row in everyday()]
rows += [("", said.text, (said.premise,)) for said in [*statements(FOLDER)][::6]]
judge = create_lexical({})
for number, (question, answer, contexts) in enumerate(rows):
    asked = JudgeRequest(question=question, answer=answer, contexts=contexts, aspects=ASPECTS)
    for verdict in judge.judge_one(asked).verdicts:
        told = (number, verdict.aspect, verdict.reason, verdict.evidence, verdict.probability)
        print(json.dumps(told))
"""


def _verdicts(seed: str) -> list[list[object]]:
    done = subprocess.run(
        [sys.executable, "-c", JUDGE_ALL],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_two_processes_say_the_same_of_every_answer() -> None:
    first, second = _verdicts("0"), _verdicts("4")

    assert len(first) > 5_000
    for one, other in zip(first, second, strict=True):
        assert one[:-1] == other[:-1]
        assert one[-1] == pytest.approx(other[-1], abs=1e-6)
