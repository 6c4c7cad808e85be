"""The judge behind a server: what it asks, what it makes of the replies."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("openai")

from benchmarks.stub_server import (
    Answer,
    Body,
    completion,
    embeddings,
    fill,
    obliging,
    schema_of,
)
from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.errors import (
    ConfigurationError,
    JudgeOutputInvalid,
    JudgeUnavailable,
)
from rag_monitor.judges.openai_compatible import create
from rag_monitor.judges.openai_compatible.capabilities import Shape
from rag_monitor.metrics.rag import score_trace
from rag_monitor.testing import make_trace
from tests.unit.judges.requests import filled, knowing, loan, warranty
from tests.unit.judges.served import FAST, in_turn, served, sure


async def test_the_worked_example_is_scored_as_designed() -> None:
    trace = make_trace(loan().question, loan().answer, loan().contexts, id="loan", app="bank")
    wanted = {
        "faithfulness": 1.0,
        "answer_relevance": 1.0,
        "context_relevance": 1 / 3,
        "context_utilization": 1 / 3,
        "context_recall": 1.0,
    }
    async with served(knowing) as (judge, server):
        judgement = await judge.judge(loan())

    scores = {s.metric: s.value for s in score_trace(trace, judgement, list(wanted))}
    assert scores == {metric: pytest.approx(value, abs=0.05) for metric, value in wanted.items()}
    assert len(server.requests) == 1
    assert judgement.usage.input_tokens == 900
    assert judgement.of(Aspect.SUPPORT)[0].evidence == 0
    assert "材料" in server.requests[0][1]["messages"][0]["content"]


async def test_verdicts_left_out_are_asked_for_again_and_nothing_else() -> None:
    def gap(_path: str, body: Body) -> Answer:
        reply = filled(body, lambda *_: 0.9)
        del reply["support"]["2"]
        return Answer(payload=completion(json.dumps(reply)))

    async with served(in_turn(gap, sure)) as (judge, server):
        judgement = await judge.judge(warranty())

    assert len(judgement.of(Aspect.SUPPORT)) == 2
    again = server.requests[1][1]["response_format"]["json_schema"]["schema"]["properties"]
    assert set(again) == {"nonce", "support", "rests_on"}
    assert set(again["support"]["properties"]) == {"2"}


async def test_a_verdict_that_never_comes_is_missing_with_a_reason() -> None:
    def gap(_path: str, body: Body) -> Answer:
        reply = filled(body, lambda *_: 0.9)
        reply.get("support", {}).pop("2")
        return Answer(payload=completion(json.dumps(reply)))

    async with served(gap) as (judge, _):
        judgement = await judge.judge(warranty())

    assert judgement.missing == {Aspect.SUPPORT: "verdict_missing"}
    assert len(judgement.of(Aspect.USEFULNESS)) == 2


async def test_garbage_without_end_is_refused_after_the_re_asks_and_two_halves() -> None:
    async with served(lambda *_: Answer(payload=completion("supported")), reasks=2) as (
        judge,
        server,
    ):
        with pytest.raises(JudgeOutputInvalid):
            await judge.judge(warranty())

    assert len(server.requests) == 3 + 2


async def test_a_form_too_big_for_the_model_is_asked_in_halves() -> None:
    def small_only(path: str, body: Body) -> Answer:
        asked = filled(body, lambda *_: 0.9)
        if len(asked) > 4:
            return Answer(payload=completion(json.dumps(asked)[:20]))
        return sure(path, body)

    async with served(small_only, reasks=1) as (judge, server):
        judgement = await judge.judge(warranty())

    assert {verdict.aspect for verdict in judgement.verdicts} == warranty().aspects
    assert judgement.missing == {}
    assert len(server.requests) == 2 + 2


@pytest.mark.parametrize("setting", ["isolated_attempts", "lonely_attempts"])
async def test_a_form_the_server_breaks_over_is_asked_in_halves_while_others_are_answered(
    setting: str,
) -> None:
    def breaking(path: str, body: Body) -> Answer:
        poisoned = "number 3" in body["messages"][1]["content"]
        if poisoned and len(filled(body, lambda *_: 0.9)) > 4:
            return Answer(payload={"error": "CUDA error"}, status=500)
        return sure(path, body)

    limits = FAST | {"concurrency": 1, setting: 2}
    async with served(breaking, limits=limits) as (judge, _):
        results = await judge.judge_many([warranty(question=f"number {n}?") for n in range(9)])

    for result in results:
        assert isinstance(result, Judgement)
        assert result.missing == {}
        assert {verdict.aspect for verdict in result.verdicts} == warranty().aspects


async def test_an_embedding_model_that_is_down_costs_its_own_metric_only() -> None:
    def script(path: str, body: Body) -> Answer:
        if path.endswith("/embeddings"):
            return Answer(payload={"error": "down"}, status=503)
        return obliging(path, body)

    asked = warranty().aspects | {Aspect.QUESTION_SIMILARITY}
    async with served(script, embedding_model="e", limits=FAST | {"attempts": 2}) as (judge, _):
        judgement = await judge.judge(warranty(aspects=asked))
        with pytest.raises(JudgeUnavailable):
            await judge.judge(warranty(aspects=frozenset({Aspect.QUESTION_SIMILARITY})))

    assert judgement.missing == {Aspect.QUESTION_SIMILARITY: "judge_unavailable"}
    assert {verdict.aspect for verdict in judgement.verdicts} == warranty().aspects


@pytest.mark.parametrize(
    ("refusals", "shape"), [(0, Shape.JSON_SCHEMA), (1, Shape.TOOL), (2, Shape.TEXT)]
)
async def test_a_server_without_schemas_is_asked_by_tool_then_by_text(
    refusals: int, shape: Shape
) -> None:
    refused = Answer(payload={"error": {"message": "not supported here"}}, status=400)
    seen: list[Body] = []

    def script(_path: str, body: Body) -> Answer:
        if len(seen) < refusals:
            seen.append(body)
            return refused
        form = seen[0] if seen else body
        words = body["messages"][1]["content"]
        reply = filled(form, lambda *_: 0.9)
        reply["nonce"] = words.split('"nonce":')[1].split('"')[1]
        return Answer(payload=completion(json.dumps(reply), tool="tools" in body))

    async with served(script) as (judge, server):
        judgement = await judge.judge(warranty())
        assert judge._chat.capabilities.shape is shape
        await judge.judge(warranty())

    assert not judgement.missing
    assert len(server.requests) == refusals + 2


async def test_parameters_a_model_does_not_know_are_left_out() -> None:
    def script(path: str, body: Body) -> Answer:
        for word in ("temperature", "max_tokens"):
            if word in body:
                hint = "use max_completion_tokens" if word == "max_tokens" else ""
                message = f"{word} is not supported with this model {hint}"
                return Answer(payload={"error": {"message": message}}, status=400)
        return sure(path, body)

    async with served(script) as (judge, server):
        assert not (await judge.judge(warranty())).missing
        assert "max_completion_tokens" in server.requests[-1][1]


async def test_a_trace_that_is_too_long_is_cut_and_says_so() -> None:
    def script(path: str, body: Body) -> Answer:
        if len(str(body["messages"])) > 6_000:
            message = "This model's maximum context length is 2048 tokens"
            return Answer(payload={"error": {"message": message}}, status=400)
        return sure(path, body)

    async with served(script) as (judge, _):
        judgement = await judge.judge(warranty(contexts=("word " * 4_000, "short")))

    assert 0 < judgement.coverage < 0.5
    assert len(judgement.of(Aspect.SUPPORT)) == 2


def token(path: str, body: Body) -> Answer:
    """One-token verdicts: sure about the first passage and statement, unsure about others."""
    asked = body["messages"][1]["content"].rsplit("\n", 1)[1]
    yes = 0.9 if "1" in asked or "lasts" in asked else 0.2
    top = {"Yes": math.log(yes * 0.8), " yes": math.log(yes * 0.1), "No": math.log((1 - yes) * 0.9)}
    return Answer(payload=completion("Yes", top_logprobs=top, input_tokens=50, output_tokens=1))


async def test_one_token_verdicts_share_their_prefix_and_read_the_label_mass() -> None:
    async with served(token, verdicts="logprobs") as (judge, server):
        judgement = await judge.judge(warranty())

    prefixes = {body["messages"][1]["content"].rsplit("\n", 1)[0] for _, body in server.requests}
    assert len(prefixes) == 1
    assert all(body["max_tokens"] == 1 for _, body in server.requests)
    assert [v.probability for v in judgement.of(Aspect.SUPPORT)] == pytest.approx([0.9, 0.2])
    assert judgement.usage.calls == 5


@pytest.mark.parametrize(
    ("top", "expected", "note"),
    [
        ({"Yes": -0.01}, 0.99, "bounded"),
        ({"Yes": math.log(0.6), "Maybe": math.log(0.2)}, 0.75, "bounded"),
        ({"<think>": -0.01, "Yes": -9.0}, None, "low_label_mass"),
    ],
)
async def test_a_label_that_is_not_listed_is_bounded_and_a_small_mass_is_no_verdict(
    top: dict[str, float], expected: float | None, note: str
) -> None:
    script = in_turn(Answer(payload=completion("Yes", top_logprobs=top)))
    async with served(script, verdicts="logprobs") as (judge, _):
        judgement = await judge.judge(warranty(aspects=frozenset({Aspect.GRADE})))

    if expected is None:
        assert judgement.missing == {Aspect.GRADE: note}
    else:
        (verdict,) = judgement.of(Aspect.GRADE)
        assert verdict.probability == pytest.approx(expected, abs=0.01)
        assert verdict.reason == note


async def test_without_logprobs_the_word_is_the_verdict_and_marked() -> None:
    def script(_path: str, body: Body) -> Answer:
        if "logprobs" in body:
            return Answer(payload={"error": {"message": "logprobs not supported"}}, status=400)
        return Answer(payload=completion("No"))

    async with served(script, verdicts="logprobs") as (judge, _):
        judgement = await judge.judge(warranty(aspects=frozenset({Aspect.GRADE})))

    (verdict,) = judgement.of(Aspect.GRADE)
    assert (verdict.probability, verdict.reason) == (0.0, "text_verdict")


class _Embedder:
    """Vectors by text, as the reference vectors give them."""

    name = "given"

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = vectors

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [self.vectors[text] for text in texts]


async def test_regenerated_questions_are_written_from_the_answer_alone() -> None:
    vectors = {"q?": [1.0, 0.0], "g1": [1.0, 0.0], "g2": [0.6, 0.8], "g3": [0.0, 1.0]}
    request = warranty(question="q?", aspects=frozenset({Aspect.QUESTION_SIMILARITY}))

    def writing(_path: str, body: Body) -> Answer:
        schema = schema_of(body)
        assert schema is not None
        reply = {**fill(schema), "questions": ["g1", "g2", "g3"]}
        return Answer(payload=completion(json.dumps(reply)))

    async with served(writing, services={"embedder": _Embedder(vectors)}) as (judge, server):
        judgement = await judge.judge(request)

    assert [v.probability for v in judgement.of(Aspect.QUESTION_SIMILARITY)] == pytest.approx(
        [1.0, 0.6, 0.0], abs=1e-12
    )
    assert "q?" not in str(server.requests[0][1]["messages"])


async def test_the_server_s_own_embeddings_can_be_used() -> None:
    request = warranty(aspects=frozenset({Aspect.QUESTION_SIMILARITY}))
    async with served(obliging, embedding_model="e") as (judge, server):
        judgement = await judge.judge(request)

    assert len(judgement.of(Aspect.QUESTION_SIMILARITY)) == 3
    assert [path for path, _ in server.requests] == ["/v1/chat/completions", "/v1/embeddings"]
    assert len(embeddings({"input": "a"})["data"]) == 1


async def test_what_is_known_without_asking_costs_nothing() -> None:
    async with served(sure) as (judge, server):
        empty = await judge.judge(warranty(contexts=()))
        blank = await judge.judge(warranty(answer="  "))
        refusal = await judge.judge(
            warranty(answer="I'm sorry, I cannot answer that.", aspects=frozenset({Aspect.SUPPORT}))
        )

    assert [v.probability for v in empty.of(Aspect.SUPPORT)] == [0.0, 0.0]
    assert blank.missing[Aspect.SUPPORT] == "empty_answer"
    assert refusal.refusal
    assert refusal.missing == {Aspect.SUPPORT: "refusal"}
    assert [
        sorted(body["response_format"]["json_schema"]["schema"]["properties"])
        for _, body in server.requests
    ] == [["grade", "nonce"]]


@pytest.mark.parametrize("logprob", [math.nan, math.inf, 1000.0, "x", None, 10**400])
async def test_logprobs_that_are_none_make_no_verdict(logprob: Any) -> None:
    reply = completion("Yes", top_logprobs={"Yes": logprob, "No": -2.3})
    async with served(lambda *_: Answer(payload=reply), verdicts="logprobs") as (judge, _):
        with pytest.raises(JudgeOutputInvalid):
            await judge.judge(warranty())


@pytest.mark.parametrize("after", ["nan", "-5", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"])
async def test_nonsense_for_a_time_to_wait_is_passed_over(after: str) -> None:
    busy = Answer(payload={"error": {}}, status=429, headers=(("retry-after", after),))
    async with served(in_turn(busy, sure)) as (judge, server):
        await judge.judge(warranty())

    assert len(server.requests) == 2


class _Cache(dict[str, str]):
    def put(self, key: str, reply: str, *, project: str, trace_id: str) -> None:
        self[key] = reply


async def test_an_identical_request_is_answered_from_the_cache_and_another_project_is_not() -> None:
    async with served(knowing, services={"cache": _Cache()}) as (judge, server):
        first = await judge.judge(loan())
        second = await judge.judge(loan(key="another trace with the same content"))
        await judge.judge(loan(project="other"))

    assert second.verdicts == first.verdicts
    assert second.usage.cached
    assert len(server.requests) == 2


async def test_a_refused_key_is_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    refused = Answer(payload={"error": {"message": "bad key k-123456"}}, status=401)
    async with served(lambda *_: refused, api_key="k-123456") as (judge, server):
        for _ in range(2):
            with pytest.raises(JudgeUnavailable, match="401"):
                await judge.judge(warranty())

    assert len(server.requests) == 2
    [told] = [record.getMessage() for record in caplog.records]
    assert "answered 401" in told
    assert "bad key [secret]" in told
    assert "k-123456" not in told


async def test_a_judge_that_gets_a_known_answer_wrong_makes_its_batch_suspect() -> None:
    async with served(sure, probe_every=2) as (judge, _):
        first, second = await judge.judge_many([warranty(), warranty(key="b")])

    assert {first.suspect, second.suspect} == {"known_answer_wrong"}  # type: ignore[union-attr]


async def test_a_leaked_canary_makes_the_judgement_suspect() -> None:
    def leak(_path: str, body: Body) -> Answer:
        canary = body["messages"][0]["content"].rsplit(" ", 1)[1]
        reply = filled(body, lambda *_: 0.9)
        reply["inferred_key_points"] = [{"text": canary, "covered": 1.0}]
        return Answer(payload=completion(json.dumps(reply)))

    async with served(leak) as (judge, _):
        judgement = await judge.judge(warranty(aspects=frozenset({Aspect.COVERAGE})))

    assert judgement.suspect == "canary_leaked"


async def test_probing_tells_what_the_server_can_do() -> None:
    def script(path: str, body: Body) -> Answer:
        if body.get("top_logprobs", 0) > 5:
            return Answer(payload={"error": {"message": "top_logprobs must be <= 5"}}, status=400)
        return obliging(path, body)

    async with served(script) as (judge, _):
        found = await judge.probe()

    assert (found.shape, found.top_logprobs) == (Shape.JSON_SCHEMA, 5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "base_url is missing"),
        ({"base_url": "localhost:8000", "model": "m"}, "http://"),
        ({"base_url": "http://x/v1", "model": "m", "modle": 1}, "no setting 'modle'"),
        ({"base_url": "http://x/v1", "model": "m", "verdicts": "guess"}, "verdicts: .*'logprobs'"),
        ({"base_url": "http://x/v1", "model": "m", "limits": {"attempts": 0}}, "attempts"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        create(settings)


def test_the_key_stays_out_of_every_printed_form() -> None:
    from rag_monitor.judges.openai_compatible.options import read_options

    options = read_options({"base_url": "http://x/v1", "model": "m", "api_key": "sk-secret"})

    assert "sk-secret" not in repr(options)


async def test_the_exact_way_asks_step_by_step() -> None:
    async with served(obliging, verdicts="exact") as (judge, server):
        judgement = await judge.judge(warranty())

    assert len(judgement.of(Aspect.SUPPORT)) == 3
    assert len(server.requests) == 5
    assert judge.identity.model.endswith("exact")
