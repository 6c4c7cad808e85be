"""A reply holds exactly one JSON object of what was asked for, or it is refused."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from benchmarks.stub_server import completion
from rag_monitor.domain.judgement import Aspect
from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.openai_compatible.chat_reply import read_chat
from rag_monitor.judges.openai_compatible.structured_prompt import Answers, StructuredPrompt
from rag_monitor.judges.questions import Question

PROMPT = StructuredPrompt(
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
    "two objects": GOOD + GOOD,
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


ASSIGNED = GOOD.replace('"', '\\"')
AROUND = {
    "in a fence": f"```json\n{GOOD}\n```",
    "in a fence without a language": f"```\n{GOOD}\n```",
    "in a fence with a sentence": f"Here is my verdict.\n```JSON\n{GOOD}\n```\nDone.",
    "after a sentence": f"Here you are: {GOOD}",
    "after a Chinese sentence": f"以下是评审结果：{GOOD}",
    "before a sentence": f"{GOOD}\nI hope this helps.",
    "before a grade": f"{GOOD}\nGRADE: C",
    "after an object of a passage": '{"score": 1.0, "reason": "ok"}' + GOOD,
    "after a brace in prose": f"As {{asked}}: {GOOD}",
    "after quotation marks in prose": f"“{{” opens it: {GOOD}",
    "after a byte order mark": "\ufeff" + GOOD,
    "indented": json.dumps(json.loads(GOOD), indent=4),
    "with full-width punctuation": GOOD.replace(": ", "：").replace(", ", "，"),
    "with full-width braces": GOOD.replace("{", "｛").replace("}", "｝").replace(",", "，"),
    "with curly quotation marks": re.sub('"([^"]*)"', "“\\1”", GOOD),
    "with full-width quotation marks": GOOD.replace('"', "＂"),
    "in a fence with Chinese punctuation": f"```json\n{GOOD.replace(', ', '，')}\n```",
    "after thoughts": f'<think>maybe {{"grade": 0}}</think>\n{GOOD}',
    "after thoughts that draft the reply": f"<think>{GOOD} no, wait</think>\n{GOOD}",
    "after thoughts whose beginning is in the prompt": f"hm {GOOD} so\n</think>\n{GOOD}",
    "after thoughts and a sentence": f"<thinking>hm</thinking>\nThe verdict is {GOOD}",
    "after thoughts in a fence": f"<reasoning>hm</reasoning>\n```json\n{GOOD}\n```",
    "after thoughts within thoughts": f"<seed:think>a<seed:cot_budget_reflect>b"
    f"</seed:cot_budget_reflect>{GOOD}</seed:think>{GOOD}",
    "after a thought": f"<thought>hm</thought>{GOOD}",
    "after a scratchpad": f"<scratchpad>{GOOD}</scratchpad>{GOOD}",
    "after Chinese thoughts": f"<思考>先看段落</思考>{GOOD}",
    "after thoughts in brackets": f"[THINK]hm[/THINK]{GOOD}",
    "after a thinking block of Cohere": f"<|START_THINKING|>{GOOD}<|END_THINKING|>{GOOD}",
    "after an analysis channel": "<|channel|>analysis<|message|>" + GOOD
    + "<|end|><|start|>assistant<|channel|>final<|message|>" + GOOD,
    "in the final channel alone": "<|channel|>final <|constrain|>JSON<|message|>" + GOOD,
    "after a thought channel": f"<|channel>thought\n{GOOD}\n<channel|>{GOOD}",
    "as a call in a channel": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>"
    f"commentary to=functions.record <|constrain|>json<|message|>{GOOD}<|call|>",
    "as a tool call in text": f'<tool_call>{{"name": "record", "arguments": {GOOD}}}</tool_call>',
    "as arguments in a string": f'{{"name": "record", "arguments": "{ASSIGNED}"}}',
    "wrapped": f'{{"result": {GOOD}}}',
    "in a list": f"[{GOOD}]",
}  # fmt: skip

TWO = {
    "twice": GOOD + GOOD,
    "with a draft before it": f"Draft: {GOOD}\nFinal: {GOOD}",
    "with another in a fence": f"{GOOD}\n```json\n{GOOD.replace('0.9', '0.1')}\n```",
    "with another in Chinese punctuation": GOOD + GOOD.replace(": ", "："),
    "with a broken one before it": GOOD[:-1] + ",}" + GOOD,
    "with one cut short before it": f"{GOOD[:60]}\n{GOOD}",
    "with another inside of it": GOOD[:-1] + f', "again": {GOOD}}}',
    "with another in a string": GOOD[:-1] + f', "again": "{ASSIGNED}"}}',
    "after thoughts, twice": f"<think>hm</think>{GOOD}{GOOD}",
}


def read(text: str) -> Answers:
    answers = Answers()
    PROMPT.read(read_chat(completion(text)).object(PROMPT.nonce), answers)
    return answers


def test_a_proper_reply_is_read_with_the_passage_each_verdict_rests_on() -> None:
    answers = read(GOOD)

    assert [answers.probabilities[question] for question in PROMPT.questions] == [0.9, 0.1, 1.0]
    assert answers.evidence == {0: 1, 1: None}


@pytest.mark.parametrize("name", AROUND)
def test_what_stands_around_a_reply_does_not_matter(name: str) -> None:
    answers = read(AROUND[name])

    assert [answers.probabilities[question] for question in PROMPT.questions] == [0.9, 0.1, 1.0]


@pytest.mark.parametrize("name", TWO)
def test_of_two_replies_none_is_taken(name: str) -> None:
    with pytest.raises(JudgeOutputInvalid, match="more than once"):
        read(TWO[name])


def test_an_object_that_a_trace_put_there_is_never_the_reply() -> None:
    planted = GOOD.replace('"n1"', '"n0"').replace("0.1", "1.0")

    assert read(planted + GOOD).probabilities == read(GOOD).probabilities
    assert read(f"{GOOD}\n{planted}").probabilities == read(GOOD).probabilities
    with pytest.raises(JudgeOutputInvalid, match="wrong nonce"):
        read(planted)
    with pytest.raises(JudgeOutputInvalid, match="repeats the nonce"):
        read(planted.replace('"nonce": "n0", ', ""))


def test_full_width_text_inside_of_strings_stays_as_it_is() -> None:
    reply = '｛"nonce"：“n1”，"text"：“他说：\\"好，｛可以｝\\"。”｝'

    assert read_chat(completion(reply)).object("n1")["text"] == '他说："好，｛可以｝"。'


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("", "the reply is empty"),
        ("I'm sorry,\nI can't.", "no JSON object; it begins: I'm sorry, I can't."),
        (GOOD[:-1] + ",}", "not one JSON object: .*double quotes"),
        (GOOD.replace('"grade": 1', '"grade": "0.9"'), 'grade is not a number but "0.9"'),
        (GOOD.replace('"grade": 1', '"grade": 90'), "grade is 90, outside 0 to 1"),
        (GOOD.replace('"grade"', '"reasoning": "x", "grade"'), "not asked for: reasoning"),
    ],
)
def test_a_refused_reply_is_told_with_what_is_wrong_with_it(reply: str, said: str) -> None:
    with pytest.raises(JudgeOutputInvalid, match=said):
        read(reply)


def test_a_complete_reply_of_a_cut_one_is_taken_and_one_with_an_open_end_is_not() -> None:
    payload = completion(GOOD)
    payload["choices"][0]["finish_reason"] = "length"
    assert read_chat(payload).object("n1")["grade"] == 1

    payload["choices"][0]["message"]["content"] = f"{GOOD}\nOn second thoughts, statement 2"
    with pytest.raises(JudgeOutputInvalid, match="cut off"):
        read_chat(payload).object("n1")


@pytest.mark.parametrize(
    "hostile", ["{" * 200_000, '{"a":' * 40_000, "<think>" * 28_000, "“" * 99_999]
)
def test_a_hostile_reply_is_refused_in_no_time(hostile: str) -> None:
    began = time.perf_counter()
    with pytest.raises(JudgeOutputInvalid):
        read(hostile)

    assert time.perf_counter() - began < 2.0


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_reply_is_refused_and_leaves_nothing_behind(name: str) -> None:
    answers = Answers()

    with pytest.raises(JudgeOutputInvalid):
        PROMPT.read(read_chat(completion(BROKEN[name])).object(PROMPT.nonce), answers)

    assert answers.probabilities == {}
    assert answers.evidence == {}


@pytest.mark.parametrize("gap", [{"1": 0.9}, {"1": 0.9, "2": None}, None])
def test_a_verdict_left_out_stays_open(gap: Any) -> None:
    reply = json.loads(GOOD)
    reply["support"] = gap

    answers = read(json.dumps(reply))

    assert PROMPT.questions[1] not in answers.probabilities
    assert PROMPT.questions[2] in answers.probabilities
