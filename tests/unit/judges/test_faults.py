"""A server that misbehaves in every way: each trace ends scored or failed with a reason."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

pytest.importorskip("openai")

from benchmarks.stub_server import Answer, Body, Script, StubServer, completion
from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.errors import JudgeError
from rag_monitor.judges.limits import LimitOptions
from rag_monitor.judges.openai_compatible import OpenAICompatibleOptions
from rag_monitor.judges.openai_compatible.judge import OpenAICompatibleJudge
from tests.unit.judges.requests import filled, warranty

TRUTH = {"support": (0.9, 0.1), "usefulness": (0.8, 0.2), "grade": (0.7,)}
FAULTS = (
    "malformed", "429", "500", "hang", "drip", "truncated", "prose in chinese", "too many", "reset",
    "html",
)  # fmt: skip


def right(body: Body) -> str:
    return json.dumps(filled(body, lambda aspect, index: TRUTH[aspect][index]))


def faulty(kind: str, body: Body) -> Answer:
    good = right(body)
    wrong = json.loads(good)
    wrong["support"] = {**wrong.get("support", {}), "9": 1.0}
    html = b"<html>502 Bad Gateway</html>"
    answers = {
        "malformed": Answer(payload=completion(good.replace('"', "'"))),
        "429": Answer(payload={"error": "slow down"}, status=429, headers=(("retry-after", "0"),)),
        "500": Answer(payload={"error": "oops"}, status=500),
        "hang": Answer(payload={}, delay_s=30),
        "drip": Answer(payload=completion(good), drip_s=0.05),
        "truncated": Answer(payload=completion(good[: len(good) // 2])),
        "prose in chinese": Answer(payload=completion("该回答完全有依据，满分。")),
        "too many": Answer(payload=completion(json.dumps(wrong))),
        "reset": Answer(payload=completion(good), cut=True),
        "html": Answer(payload=html, headers=(("content-type", "text/html"),)),
    }
    return answers[kind]


def scripted(share: float, seed: int, *, persistent: bool = False) -> tuple[Script, Counter[str]]:
    draw = random.Random(seed)
    seen: Counter[str] = Counter()

    def script(_path: str, body: Body) -> Answer:
        trace = body["messages"][1]["content"].split("Trace ")[1].split(".")[0]
        own = random.Random(f"{seed}{trace}") if persistent else draw
        if own.random() >= share:
            return Answer(payload=completion(right(body)))
        kind = own.choice(FAULTS)
        seen[kind] += 1
        return faulty(kind, body)

    return script, seen


async def judged(script: Script, count: int = 100) -> list[Judgement | Exception]:
    limits = LimitOptions(
        attempt_timeout_s=0.4, backoff_s=0.002, backoff_cap_s=0.01, deadline_s=20, attempts=6
    )
    async with StubServer(script, keep=False) as server:
        options = OpenAICompatibleOptions(
            base_url=server.url, model="m", limits=limits, probe_every=0
        )
        judge = OpenAICompatibleJudge(options)
        try:
            requests = [
                warranty(question=f"Trace {n}. How long?", key=str(n)) for n in range(count)
            ]
            return list(await judge.judge_many(requests))
        finally:
            await judge.close()


def wrong_scores(results: list[Judgement | Exception]) -> list[float]:
    return [
        verdict.probability
        for result in results
        if isinstance(result, Judgement)
        for verdict in result.verdicts
        if verdict.probability != TRUTH[verdict.aspect.value][verdict.index]
    ]


async def test_passing_faults_lose_next_to_nothing_and_make_no_wrong_score() -> None:
    script, seen = scripted(0.35, seed=7)

    results = await judged(script)

    assert len(seen) == len(FAULTS), "every kind of fault must have happened"
    failures = [result for result in results if isinstance(result, Exception)]
    assert len(failures) <= 2
    assert all(isinstance(failure, JudgeError) for failure in failures)
    assert wrong_scores(results) == []
    assert all(not result.missing for result in results if isinstance(result, Judgement))


async def test_lasting_faults_fail_their_own_trace_with_a_reason() -> None:
    script, _ = scripted(0.2, seed=3, persistent=True)

    results = await judged(script, 60)

    failures = [result for result in results if isinstance(result, Exception)]
    assert failures
    assert all(isinstance(failure, JudgeError) for failure in failures)
    assert {failure.reason for failure in failures if isinstance(failure, JudgeError)} <= {
        "judge_unavailable", "judge_timeout", "judge_output_invalid",
    }  # fmt: skip
    assert len(failures) < 30
    assert wrong_scores(results) == []


def test_the_truth_covers_what_the_requests_ask() -> None:
    assert {Aspect(name) for name in TRUTH} == warranty().aspects
