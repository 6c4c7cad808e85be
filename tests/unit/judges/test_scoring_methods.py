"""Label probabilities by the scoring endpoints of vLLM and SGLang, each played by a script."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("openai")

from benchmarks.stub_server import Answer, Body, StubServer, completion, fill, schema_of
from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.judges.openai_compatible import create
from rag_monitor.judges.openai_compatible.capabilities import forget
from rag_monitor.judges.openai_compatible.judge import OpenAICompatibleJudge
from tests.unit.judges.requests import warranty

FAST = {"backoff_s": 0.001, "backoff_cap_s": 0.002, "attempt_timeout_s": 5.0, "deadline_s": 10.0}
LABELS = {"Yes": 1, "yes": 2, " Yes": 3, " yes": 4, "No": 11, "no": 12, " No": 13, " no": 14}
"""`YES` and `NO` are two tokens each."""
MASSES = {1: 0.5, 2: 0.1, 3: 0.1, 4: 0.02, 11: 0.1, 12: 0.05, 13: 0.02, 14: 0.01}
YES_SHARE = 0.72 / 0.9
REFUSED = Answer(payload={"error": {"message": "unknown field"}}, status=400)
NOWHERE = Answer(payload={"error": "not found"}, status=404)


class Server:
    """A server with the endpoints it is told to have."""

    def __init__(self, *endpoints: str, scale: float = 1.0) -> None:
        self.endpoints = set(endpoints)
        self.scale = scale
        self.calls: list[tuple[str, Body]] = []

    def __call__(self, path: str, body: Body) -> Answer:
        self.calls.append((path, body))
        if path == "/tokenize" and "tokenize" in self.endpoints:
            return self._tokenize(body)
        if path == "/v1/score" and "sglang" in self.endpoints:
            row = [self._mass(label) for label in body["label_token_ids"]]
            return Answer(payload={"scores": [row for _ in body["items"]]})
        if path == "/generative_scoring" and "vllm" in self.endpoints:
            score = self._mass(body["label_token_ids"][0])
            return Answer(payload={"data": [{"score": score} for _ in body["items"]]})
        if path == "/v1/chat/completions":
            return self._chat(body)
        return NOWHERE

    def paths(self) -> list[str]:
        return [path for path, _ in self.calls]

    def _mass(self, label: int) -> float:
        return MASSES[label] * self.scale

    def _tokenize(self, body: Body) -> Answer:
        if "messages" not in body:
            label = LABELS.get(body["prompt"])
            return Answer(payload={"tokens": [label] if label else [90, 91]})
        if "template" not in self.endpoints:
            return REFUSED
        text = "".join(message["content"] for message in body["messages"])
        return Answer(payload={"tokens": [100 + ord(c) for c in text] + [7]})

    def _chat(self, body: Body) -> Answer:
        if (schema := schema_of(body)) is not None:
            return Answer(payload=completion(json.dumps(fill(schema))))
        ids: Sequence[int] | None = body.get("logprob_token_ids")
        if ids is None or "ids" not in self.endpoints:
            # As servers do that do not know the field: they leave it unread.
            return Answer(payload=completion("Yes", top_logprobs={"Yes": -0.1, "No": -2.4}))
        listed = {f"token_id:{label}": math.log(self._mass(label)) for label in ids}
        return Answer(payload=completion("token_id:1", top_logprobs=listed))


@asynccontextmanager
async def judging(server: Server, **options: Any) -> AsyncIterator[OpenAICompatibleJudge]:
    forget()
    async with StubServer(server) as stub:
        settings = {"base_url": stub.url, "model": "m", "limits": FAST, "probe_every": 0}
        judge = create(settings | {"verdicts": "logprobs"} | options)
        try:
            yield judge
        finally:
            await judge.close()


def values(judgement: Judgement) -> list[float]:
    return [verdict.probability for verdict in judgement.verdicts]


@pytest.mark.parametrize(
    ("endpoints", "way", "path"),
    [
        (("tokenize", "template", "sglang", "ids", "vllm"), "sglang_score", "/v1/score"),
        (("tokenize", "template", "ids", "vllm"), "logprob_token_ids", "/v1/chat/completions"),
        (("tokenize", "template", "vllm"), "vllm_generative_scoring", "/generative_scoring"),
    ],
)
async def test_the_best_way_is_found_and_read_over_all_spellings(
    endpoints: tuple[str, ...], way: str, path: str
) -> None:
    server = Server(*endpoints)
    async with judging(server) as judge:
        assert (await judge.inspect())["labels_by"] == way
        server.calls.clear()
        judgement = await judge.judge(warranty())

    assert values(judgement) == [pytest.approx(YES_SHARE)] * 5
    assert {p for p in server.paths() if p != "/tokenize"} == {path}


async def test_scoring_sends_the_shared_part_once_for_all_verdicts() -> None:
    server = Server("tokenize", "template", "sglang")
    async with judging(server) as judge:
        await judge.inspect()
        server.calls.clear()
        judgement = await judge.judge(warranty())

    ((_, body),) = [call for call in server.calls if call[0] == "/v1/score"]
    assert len(body["items"]) == 5
    assert len(body["query"]) > 5 * max(map(len, body["items"][1:]))
    assert body["apply_softmax"] is False
    assert judgement.usage.calls == 1


@pytest.mark.parametrize(
    "endpoints", [(), ("tokenize",), ("tokenize", "sglang"), ("tokenize", "vllm")]
)
async def test_without_a_rendered_chat_or_endpoints_the_plain_way_is_taken(
    endpoints: tuple[str, ...],
) -> None:
    server = Server(*endpoints)
    async with judging(server) as judge:
        assert (await judge.inspect())["labels_by"] == "top_logprobs"
        judgement = await judge.judge(warranty())

    plain = math.exp(-0.1) / (math.exp(-0.1) + math.exp(-2.4))
    assert values(judgement) == [pytest.approx(plain)] * 5


async def test_a_server_is_probed_once() -> None:
    server = Server("tokenize", "template", "ids")
    async with judging(server) as judge:
        await judge.judge(warranty())
        probes = server.paths().count("/tokenize")
        await judge.judge_many([warranty(), warranty()])

    assert server.paths().count("/tokenize") == probes


@pytest.mark.parametrize("endpoint", ["sglang", "ids", "vllm"])
async def test_a_small_label_mass_is_no_verdict(endpoint: str) -> None:
    server = Server("tokenize", "template", endpoint, scale=0.4)
    async with judging(server) as judge:
        judgement = await judge.judge(warranty())

    assert judgement.verdicts == ()
    assert judgement.missing == dict.fromkeys(warranty().aspects, "low_label_mass")


async def test_a_way_that_stops_working_gives_way_to_the_plain_one() -> None:
    server = Server("tokenize", "template", "sglang")
    async with judging(server) as judge:
        await judge.judge(warranty())
        server.endpoints.clear()
        judgement = await judge.judge(warranty())

    assert len(judgement.verdicts) == 5
    assert server.paths()[-1] == "/v1/chat/completions"


async def test_scores_that_are_no_probabilities_are_never_verdicts() -> None:
    server = Server("tokenize", "template", "sglang", scale=3.0)
    async with judging(server) as judge:
        assert (await judge.inspect())["labels_by"] == "top_logprobs"


async def test_looking_for_endpoints_can_be_turned_off() -> None:
    server = Server("tokenize", "template", "sglang", "ids", "vllm")
    async with judging(server, scoring_endpoints=False) as judge:
        await judge.judge(warranty(aspects=frozenset({Aspect.GRADE})))

    assert server.paths() == ["/v1/chat/completions"]
