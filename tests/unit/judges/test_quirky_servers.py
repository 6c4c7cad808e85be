"""The judge in front of servers that each have a quirk of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("openai")

from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.errors import (
    JudgeError,
    JudgeRefused,
    JudgeUnavailable,
    OtherModelServed,
    QuotaExhausted,
)
from rag_monitor.judges.openai_compatible import create
from rag_monitor.judges.openai_compatible.capabilities import forget
from rag_monitor.judges.openai_compatible.judge import OpenAICompatibleJudge
from tests.servers.model_server import Asked, ModelServer, Quirk, Sent, refused, said, streamed
from tests.servers.quirks import AZURE, SCORED
from tests.unit.judges.requests import warranty
from tests.unit.judges.served import FAST


@asynccontextmanager
async def judging(
    model: str, quirks: Mapping[str, Quirk] = SCORED, **options: Any
) -> AsyncIterator[tuple[OpenAICompatibleJudge, ModelServer]]:
    forget()
    with ModelServer(quirks) as server:
        settings = {"base_url": server.url, "model": model, "limits": FAST, "probe_every": 0}
        judge = create(settings | {"reasks": 1} | options)
        try:
            yield judge, server
        finally:
            await judge.close()


def right(judgement: Judgement) -> bool:
    return not judgement.missing and {v.probability for v in judgement.verdicts} == {0.9}


@pytest.mark.parametrize("model", SCORED)
async def test_a_trace_is_scored_whatever_quirk_the_server_has(model: str) -> None:
    async with judging(model) as (judge, server):
        first = await judge.judge(warranty())
        asked = len(server.asked)
        second = await judge.judge(warranty(question="And how long is it for parts?"))

    assert right(first)
    assert right(second)
    assert len(server.asked) - asked <= 2, "what the server takes is remembered"


@pytest.mark.parametrize("model", SCORED)
async def test_doctor_s_probe_gets_along_with_the_same_servers(model: str) -> None:
    async with judging(model) as (judge, _):
        assert "shape" in await judge.inspect()


async def test_a_server_without_a_system_role_gets_its_text_in_the_user_s_turn() -> None:
    async with judging("gemini") as (judge, server):
        await judge.judge(warranty())
        before = len(server.asked)
        await judge.judge(warranty(question="Again?"))

    assert [asked.roles for asked in server.asked[before:]] == [["user"]]
    text = server.asked[-1].body["messages"][0]["content"]
    assert text.startswith("You check the answers")
    assert "24 months" in text


async def test_a_stream_s_tokens_are_counted() -> None:
    async with judging("dashscope-stream") as (judge, _):
        judgement = await judge.judge(warranty())

    assert (judgement.usage.input_tokens, judgement.usage.output_tokens) == (90, 30)


async def test_logprobs_of_a_stream_are_read() -> None:
    def yes(asked: Any) -> Sent:
        listed = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.4}]
        content = [{"token": "Yes", "logprob": -0.1, "top_logprobs": listed}]
        sent = streamed({"content": "Yes"})
        assert sent.raw is not None
        event = b'"delta": {"content": "Yes"}'
        logprobs = f', "logprobs": {{"content": {content}}}'.replace("'", '"').encode()
        return Sent(raw=sent.raw.replace(event, event + logprobs), kind=sent.kind)

    one = frozenset({Aspect.GRADE})
    async with judging("m", {"*": yes}, verdicts="logprobs", scoring_endpoints=False) as (judge, _):
        judgement = await judge.judge(warranty(aspects=one))

    (verdict,) = judgement.of(Aspect.GRADE)
    assert verdict.probability == pytest.approx(0.909, abs=0.01)


@pytest.mark.parametrize("copied", [False, True])
async def test_azure_gets_its_version_and_key_and_no_bearer_token(copied: bool) -> None:
    forget()
    with ModelServer(AZURE) as server:
        base = server.url.removesuffix("/v1") + "/openai/deployments/judge"
        version = {"api-version": "2024-10-21"}
        settings = {"base_url": base, "model": "azure", "query": version}
        if copied:  # as the portal shows it
            url = f"{base}/chat/completions?api-version=2024-10-21"
            settings = {"base_url": url, "model": "azure"}
        headers = {"api-key": "azure-secret-1"}
        judge = create(settings | {"headers": headers, "limits": FAST, "probe_every": 0})
        judgement = await judge.judge(warranty())
        await judge.close()

    assert right(judgement)


async def test_without_a_key_no_bearer_token_is_sent_and_with_one_it_is() -> None:
    async with judging("plain") as (judge, server):
        await judge.judge(warranty())
    assert "authorization" not in server.asked[0].headers

    async with judging("plain", api_key="k-1") as (judge, server):
        await judge.judge(warranty())
    assert server.asked[0].headers["authorization"] == "Bearer k-1"

    headers = {"Authorization": "Basic dXNlcjpwYXNz", "X-Team": "quality"}
    async with judging("plain", headers=headers, query={"v": "2"}) as (judge, server):
        await judge.judge(warranty())
    assert server.asked[0].headers["authorization"] == "Basic dXNlcjpwYXNz"
    assert server.asked[0].headers["x-team"] == "quality"
    assert server.asked[0].path == "/v1/chat/completions?v=2"


async def test_a_quota_that_is_used_up_is_asked_about_once_by_however_many_traces() -> None:
    def spent(_: Asked) -> Sent:
        return refused(429, "You exceeded your current quota.", code="insufficient_quota")

    options = {"limits": FAST | {"concurrency": 2}}
    async with judging("m", {"*": spent}, **options) as (judge, server):
        results = await judge.judge_many([warranty(question=f"{n}?") for n in range(40)])

    assert all(isinstance(result, QuotaExhausted) for result in results)
    assert len(server.asked) <= 2
    assert "You exceeded your current quota." in str(results[-1])


SECRETS = ("sk-live-abcdef123456", "azure-secret-1", "hunter22", "query-secret-9")


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500, 503])
async def test_no_error_of_a_server_shows_a_secret(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    def echo(asked: Any) -> Sent:
        told = f"\x1b[31mDenied\x1b[0m\n{dict(asked.headers)} {asked.path} http://u:hunter22@h/x"
        return refused(status, told + " Incorrect API key: sk-live-abc***456", code=str(status))

    options: dict[str, Any] = {
        "api_key": SECRETS[0],
        "headers": {"api-key": SECRETS[1]},
        "query": {"key": SECRETS[3]},
        "limits": FAST | {"attempts": 2},
    }
    async with judging("m", {"*": echo}, **options) as (judge, _):
        (error,) = await judge.judge_many([warranty()])

    shown = [str(error), *(record.getMessage() for record in caplog.records)]
    assert "Denied" in shown[0]
    for text in shown:
        assert not any(secret in text for secret in (*SECRETS, "sk-live", "\x1b", "\n"))
        assert len(text) < 450


async def test_an_address_is_shown_without_its_credentials() -> None:
    options = {"base_url": "http://user:hunter22@127.0.0.1:9/v1?key=query-secret-9"}
    async with judging("m", limits=FAST | {"attempts": 1}, **options) as (judge, _):
        with pytest.raises(
            JudgeUnavailable, match=r"cannot reach http://127\.0\.0\.1:9/v1:"
        ) as caught:
            await judge.judge(warranty())

    assert not any(secret in str(caught.value) for secret in SECRETS)


def answering_as(*models: str) -> Mapping[str, Quirk]:
    return {"*": lambda asked: said(asked.reply, model=models[(asked.number - 1) % len(models)])}


async def test_another_model_that_answers_becomes_part_of_the_identity_and_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with judging("big", answering_as("small-7b")) as (judge, _):
        configured = str(judge.identity)
        judgements = await judge.judge_many([warranty(question=f"{n}?") for n in range(5)])

    assert {str(j.identity) for j in judgements if isinstance(j, Judgement)} == {
        f"{configured}/served=small-7b"
    }
    assert judge.identity.served_model == "small-7b"
    told = [r.getMessage() for r in caplog.records if "small-7b" in r.getMessage()]
    assert told == [
        "the judge's server answers with the model 'small-7b', not 'big'; its scores name both"
    ]


async def test_another_model_can_be_made_a_failure() -> None:
    async with judging("big", answering_as("small-7b"), served_model="fail") as (judge, server):
        with pytest.raises(OtherModelServed, match="'small-7b', not 'big'") as caught:
            await judge.judge(warranty())

    assert caught.value.reason == "other_model_served"
    assert isinstance(caught.value, JudgeRefused)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("served", "mode", "recorded"),
    [
        ("big", "identity", ""),
        ("BIG", "identity", ""),
        ("models/big", "fail", ""),
        ("vendor/big", "fail", ""),
        ("big:latest", "fail", ""),
        (None, "fail", ""),
        ("", "fail", ""),
        ("big-2026-08-06", "fail", "big-2026-08-06"),
        ("big-0613", "identity", "big-0613"),
        ("small", "ignore", ""),
    ],
)
async def test_a_model_by_another_spelling_is_the_model_and_a_dated_version_is_recorded(
    served: Any, mode: str, recorded: str
) -> None:
    async with judging("big", answering_as(served), served_model=mode) as (judge, _):
        judgement = await judge.judge(warranty())

    assert judgement.identity.served_model == recorded


async def test_a_server_that_makes_up_names_makes_no_endless_series() -> None:
    names = [f"m{n}\n{'x' * 300}" for n in range(40)]
    async with judging("big", answering_as(*names)) as (judge, _):
        results = await judge.judge_many([warranty(question=f"{n}?") for n in range(40)])

    found = {r.identity.served_model for r in results if isinstance(r, Judgement)}
    assert len(found) <= 9
    assert all(len(name) <= 100 and name.isprintable() for name in found)


async def test_a_cached_judgement_keeps_the_model_that_gave_it() -> None:
    from tests.unit.judges.test_openai_compatible import _Cache

    forget()
    with ModelServer(answering_as("small-7b")) as server:
        settings = {"base_url": server.url, "model": "big", "limits": FAST, "probe_every": 0}
        judge = create(settings, cache=_Cache())
        await judge.judge(warranty())
        again = await judge.judge(warranty())
        await judge.close()

    assert again.usage.cached
    assert again.identity.served_model == "small-7b"


async def test_a_failure_says_what_was_wrong_with_the_reply() -> None:
    async with judging("m", {"*": lambda _: said("I'm sorry, but I can't.")}) as (judge, _):
        with pytest.raises(JudgeError, match="it begins: I'm sorry, but I can't"):
            await judge.judge(warranty())


async def test_a_verdict_that_stays_missing_says_what_was_wrong_with_the_last_reply() -> None:
    def gap(asked: Any) -> Sent:
        return said(asked.reply.replace('"2": 0.9', '"2": null') if asked.number == 1 else "No.")

    async with judging("m", {"*": gap}) as (judge, _):
        judgement = await judge.judge(warranty())

    assert set(judgement.missing.values()) == {"verdict_missing"}
    assert set(judgement.details.values()) == {"the reply holds no JSON object; it begins: No."}
