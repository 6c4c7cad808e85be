"""A reply is exactly one JSON object of what was asked for, or it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_monitor.domain.judgement import Aspect
from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.openai_compatible.form import Answers, Form
from rag_monitor.judges.parsing import parse_object
from rag_monitor.judges.questions import Question

FORM = Form(
    questions=(
        Question(aspect=Aspect.SUPPORT, index=0, text="a"),
        Question(aspect=Aspect.SUPPORT, index=1, text="b"),
        Question(aspect=Aspect.GRADE),
    ),
    lists=(),
    nonce="n1",
    passages=2,
)
GOOD = '{"nonce": "n1", "support": {"1": 0.9, "2": 0.1}, "rests_on": {"1": 2, "2": 0}, "grade": 1}'

BROKEN = {
    "empty": "",
    "blank": " \n ",
    "prose": "The answer is supported.",
    "yes": "Yes",
    "number": "0.9",
    "string": '"0.9"',
    "list": "[0.9, 0.1]",
    "null": "null",
    "true": "true",
    "fenced": f"```json\n{GOOD}\n```",
    "prose before": f"Here you are: {GOOD}",
    "prose after": f"{GOOD}\nI hope this helps.",
    "two objects": GOOD + GOOD,
    "echo first": '{"score": 1.0, "reason": "ok"}' + GOOD,
    "grade after": f"{GOOD}\nGRADE: C",
    "cut short": GOOD[:-12],
    "cut in a number": GOOD[:45],
    "html page": "<html><body>502 Bad Gateway</body></html>",
    "duplicate keys": GOOD.replace('"grade": 1', '"grade": 0, "grade": 1'),
    "duplicate numbers": GOOD.replace('"2": 0.1', '"1": 0.1'),
    "not a number": GOOD.replace('"grade": 1', '"grade": NaN'),
    "infinity": GOOD.replace('"grade": 1', '"grade": Infinity'),
    "overflow": GOOD.replace('"grade": 1', '"grade": 1e309'),
    "above one": GOOD.replace('"grade": 1', '"grade": 1.5'),
    "below zero": GOOD.replace('"grade": 1', '"grade": -0.1'),
    "string number": GOOD.replace('"grade": 1', '"grade": "1"'),
    "fraction": GOOD.replace('"grade": 1', '"grade": "11/10"'),
    "percent": GOOD.replace('"grade": 1', '"grade": "100%"'),
    "chinese mark": GOOD.replace('"grade": 1', '"grade": "满分"'),
    "full-width digits": GOOD.replace('"grade": 1', '"grade": １．０'),
    "boolean": GOOD.replace('"grade": 1', '"grade": true'),
    "list of one": GOOD.replace('"grade": 1', '"grade": [1]'),
    "object for a number": GOOD.replace('"grade": 1', '"grade": {"value": 1}'),
    "comment": GOOD.replace('"grade"', '/* checked */ "grade"'),
    "trailing comma": GOOD[:-1] + ",}",
    "single quotes": GOOD.replace('"', "'"),
    "byte order mark": "\ufeff" + GOOD,
    "deep nesting": "[" * 10_000 + "]" * 10_000,
    "deep object": '{"grade":' * 20_000 + "1" + "}" * 20_000,
    "megabyte": GOOD[:-1] + ', "reason": "' + "好" * 1_000_000 + '"}',
    "unknown field": GOOD.replace('"grade"', '"reason": "ok", "grade"'),
    "verdict too many": GOOD.replace('"2": 0.1', '"2": 0.1, "3": 0.5'),
    "padded number": GOOD.replace('"2": 0.1', '"02": 0.1'),
    "list of verdicts": GOOD.replace('{"1": 0.9, "2": 0.1}', "[0.9, 0.1]"),
    "passage that is not there": GOOD.replace('"1": 2', '"1": 3'),
    "passage as a fraction": GOOD.replace('"1": 2', '"1": 1.0'),
    "wrong nonce": GOOD.replace('"n1"', '"n2"'),
    "no nonce": GOOD.replace('"nonce": "n1", ', ""),
    "refusal": "I'm sorry, but I can't help with that.",
    "wrong language": "该回答完全有依据。",
}


def read(text: str) -> Answers:
    answers = Answers()
    FORM.read(parse_object(text), answers)
    return answers


def test_a_proper_reply_is_read_with_the_passage_each_verdict_rests_on() -> None:
    answers = read(GOOD)

    assert [answers.probabilities[question] for question in FORM.questions] == [0.9, 0.1, 1.0]
    assert answers.evidence == {0: 1, 1: None}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_reply_is_refused_and_leaves_nothing_behind(name: str) -> None:
    answers = Answers()

    with pytest.raises(JudgeOutputInvalid):
        FORM.read(parse_object(BROKEN[name]), answers)

    assert answers.probabilities == {}
    assert answers.evidence == {}


@pytest.mark.parametrize("gap", [{"1": 0.9}, {"1": 0.9, "2": None}, None])
def test_a_verdict_left_out_stays_open(gap: Any) -> None:
    reply = json.loads(GOOD)
    reply["support"] = gap

    answers = read(json.dumps(reply))

    assert FORM.questions[1] not in answers.probabilities
    assert FORM.questions[2] in answers.probabilities
