"""Models that think first, replies that are cut, filters and models that decline."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("openai")

from benchmarks.stub_server import Answer, Body, completion
from rag_monitor.errors import JudgeError
from rag_monitor.judges.openai_compatible.capabilities import Shape
from rag_monitor.judges.thinking import without_thoughts
from tests.unit.judges.requests import filled, warranty
from tests.unit.judges.served import in_turn, served, sure


def limit_of(body: Body) -> int:
    return int(body.get("max_tokens") or body["max_completion_tokens"])


def finished(payload: dict[str, Any], reason: str, **message: Any) -> dict[str, Any]:
    payload["choices"][0]["finish_reason"] = reason
    payload["choices"][0]["message"] |= message
    return payload


def thinker(tokens: int, **message: Any) -> Any:
    """Thinks so many tokens long before it replies."""

    def script(path: str, body: Body) -> Answer:
        if limit_of(body) <= tokens:
            cut = finished(completion("", output_tokens=limit_of(body)), "length", **message)
            return Answer(payload=cut)
        return sure(path, body)

    return script


@pytest.mark.parametrize("message", [{}, {"reasoning_content": "Let me see. The warranty"}])
async def test_a_model_that_thinks_is_given_room_and_that_is_remembered(
    message: dict[str, str],
) -> None:
    async with served(thinker(3000, **message)) as (judge, server):
        judgement = await judge.judge(warranty())
        await judge.judge(warranty(question="Again?"))

    assert judgement.missing == {}
    limits = [limit_of(body) for _, body in server.requests]
    assert limits[1] == limits[2] == limits[0] + 4096
    assert judgement.usage.calls == 2
    assert judgement.usage.output_tokens == limits[0]  # the stub counts the cut call only


async def test_one_that_never_comes_to_its_reply_says_so_and_is_not_asked_on() -> None:
    async with served(thinker(100_000)) as (judge, server):
        with pytest.raises(JudgeError, match="turn its thinking off") as caught:
            await judge.judge(warranty())

    assert caught.value.reason == "reply_cut"
    assert len(server.requests) == 3


async def test_a_limit_of_the_operators_is_not_tried_three_times() -> None:
    async with served(thinker(100_000), extra_body={"max_tokens": 5000}) as (judge, server):
        with pytest.raises(JudgeError) as caught:
            await judge.judge(warranty())

    assert caught.value.reason == "reply_cut"
    assert [limit_of(body) for _, body in server.requests] == [5000]


async def test_room_that_the_server_cannot_give_is_not_taken_from_the_passages() -> None:
    def small(path: str, body: Body) -> Answer:
        if limit_of(body) > 4000:
            error = {"message": "maximum context length is 4096 tokens"}
            return Answer(payload={"error": error}, status=400)
        return thinker(3999)(path, body)

    async with served(small) as (judge, server):
        with pytest.raises(JudgeError) as caught:
            await judge.judge(warranty())

    assert caught.value.reason == "reply_cut"
    assert len(server.requests) == 2


async def test_a_reply_cut_without_a_thought_gets_no_more_room() -> None:
    def rambling(_path: str, body: Body) -> Answer:
        return Answer(payload=finished(completion('{"nonce": "' + "a" * 99), "length"))

    async with served(rambling, reasks=1) as (judge, server):
        with pytest.raises(JudgeError) as caught:
            await judge.judge(warranty())

    assert caught.value.reason == "judge_output_invalid"
    assert len({limit_of(body) for _, body in server.requests[:2]}) == 1


@pytest.mark.parametrize("opening", ["<think>\n", ""])
async def test_thoughts_in_front_of_the_reply_are_left_out(opening: str) -> None:
    def aloud(_path: str, body: Body) -> Answer:
        system = body["messages"][0]["content"]
        canary = system.rpartition(":")[2].strip()
        reply = json.dumps(filled(body, lambda *_: 0.9))
        thoughts = f'I must not mention {canary}. Maybe {{"support": 0}}?\n</think>\n\n'
        return Answer(payload=completion(opening + thoughts + reply))

    async with served(aloud) as (judge, server):
        judgement = await judge.judge(warranty())

    assert (judgement.missing, judgement.suspect) == ({}, None)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("content", "reply"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": "</think>{}"}', '{"a": "</think>{}"}'),
        ("<think>a</think>{}</think>{}", "{}</think>{}"),
        ("<think>without end", ""),
        ("prose", "prose"),
    ],
)
def test_only_what_stands_before_a_reply_is_a_thought(content: str, reply: str) -> None:
    assert without_thoughts(content) == reply


AZURE = {"error": {"code": "content_filter", "message": "The response was filtered"}}
DASHSCOPE = {"error": {"code": "data_inspection_failed", "message": "Input data may contain"}}
ZHIPU = {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}}


@pytest.mark.parametrize(
    "answer",
    [
        Answer(payload=AZURE, status=400),
        Answer(payload=DASHSCOPE, status=400),
        Answer(payload=ZHIPU, status=400),
        Answer(payload=finished(completion("", input_tokens=9), "content_filter")),
        Answer(payload=finished(completion(None), "stop", refusal="I cannot help with that.")),
    ],
)
async def test_what_a_filter_or_the_model_withholds_is_asked_for_once(answer: Answer) -> None:
    async with served(in_turn(answer, sure)) as (judge, server):
        with pytest.raises(JudgeError) as caught:
            await judge.judge(warranty())
        assert caught.value.reason == "reply_withheld"
        assert len(server.requests) == 1
        await judge.judge(warranty(question="Another?"))
        assert judge._chat.capabilities.shape is Shape.JSON_SCHEMA


async def test_a_filter_on_the_second_call_leaves_the_first_ones_verdicts() -> None:
    def gap(_path: str, body: Body) -> Answer:
        reply = filled(body, lambda *_: 0.9)
        del reply["support"]["2"]
        return Answer(payload=completion(json.dumps(reply)))

    async with served(in_turn(gap, Answer(payload=AZURE, status=400))) as (judge, server):
        judgement = await judge.judge(warranty())

    assert len(server.requests) == 2
    assert set(judgement.missing.values()) == {"verdict_missing"}
    assert {verdict.aspect for verdict in judgement.verdicts} == warranty().aspects
