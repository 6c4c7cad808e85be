"""Quotas that are used up, limits that pass, and errors in the dress of a success."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="needs the openai client")

from rag_monitor.errors import JudgeError
from tests.variants.command import Done, rag_monitor, read_rows, write_rows
from tests.variants.judge_server import (
    Asked,
    Given,
    as_json,
    completion,
    refused,
    right,
    serving,
    settings,
)
from tests.variants.test_judge_reply_variants import judging, request, said

ROWS = 24


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


USED_UP: dict[str, tuple[int, dict[str, Any], str]] = {
    "a balance (402)": (
        402,
        error("Balance is not sufficient", type="unknown_error", code="invalid_request_error"),
        "Balance is not sufficient",
    ),
    "arrears in Chinese (429 with a number)": (
        429,
        error("您的账户已欠费，请充值后再试。", code="1113"),
        "您的账户已欠费",
    ),
    "a quota by its type (429)": (
        429,
        error("Your account is suspended, please recharge", type="exceeded_current_quota_error"),
        "please recharge",
    ),
    "a hard limit of billing (429)": (
        429,
        error("The billing hard limit has been reached.", code="billing_hard_limit_reached"),
        "billing hard limit",
    ),
    "credit that is too low (400)": (
        400,
        error("Your credit balance is too low to use this API.", type="invalid_request_error"),
        "credit balance is too low",
    ),
    "a free tier (403)": (
        403,
        error("The free tier of this model is used up.", code="AllocationQuota.FreeTierOnly"),
        "free tier of this model",
    ),
    "an overdue account (403)": (
        403,
        error("Your account has an overdue balance.", code="AccountOverdueError"),
        "overdue balance",
    ),
    "a code beside the message, no error object (403)": (
        403,
        {"code": 30001, "message": "Sorry, the balance of your account is insufficient"},
        "balance of your account is insufficient",
    ),
    "credits in a success (200)": (
        200,
        error("Insufficient credits. Add more to go on.", code=402),
        "Insufficient credits",
    ),
    "a quota in a success (200)": (
        200,
        error("You have used your whole quota.", code="insufficient_quota"),
        "whole quota",
    ),
}

STOPPING = (
    "a balance (402)",
    "arrears in Chinese (429 with a number)",
    "credit that is too low (400)",
    "a quota in a success (200)",
)
"""Of these the command is run, too: one of each kind of status."""

PASSING: dict[str, tuple[int, dict[str, Any]]] = {
    "requests per minute": (
        429,
        error("Rate limit reached for requests per min. Limit: 3.", code="rate_limit_exceeded"),
    ),
    "a limit whose text speaks of billing": (
        429,
        error(
            "Rate limit reached for tokens per min. Add a payment method to your billing page.",
            type="tokens",
            code="rate_limit_exceeded",
        ),
    ),
    "a quota per minute": (
        429,
        error("Quota exceeded for requests per minute, retry in 1s.", status="RESOURCE_EXHAUSTED"),
    ),
    "overloaded in a success": (200, error("The model is overloaded.", code=503)),
    "a limit in a success": (200, error("Provider is busy, try again.", code=429)),
    "engine busy in Chinese": (429, error("当前请求过多，请稍后重试。", code="1302")),
}


@pytest.mark.parametrize("name", USED_UP)
async def test_a_quota_that_is_used_up_is_not_asked_again_and_says_so_itself(name: str) -> None:
    status, body, sentence = USED_UP[name]
    async with judging(lambda _: Given(body, status)) as (judge, server):
        with pytest.raises(JudgeError) as caught:
            await judge.judge(request())

    assert sentence in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("name", PASSING)
async def test_near_miss_a_limit_that_passes_is_waited_for(name: str) -> None:
    status, body = PASSING[name]
    left = [Given(body, status, {"retry-after-ms": "5"})]

    def script(asked: Asked) -> Given:
        return left.pop() if left else Given(completion(as_json(right(asked))))

    async with judging(script, reasks=0) as (judge, server):
        assert said(await judge.judge(request())) == {0.9}

    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (error("The upstream returned nothing", code=500), "The upstream returned nothing"),
        ({"error": "model not loaded"}, "model not loaded"),
        ({"code": "InternalError", "message": "内部错误，请联系管理员"}, "内部错误"),
        ({"object": "error", "message": "prompt could not be tokenised", "code": 40303},
         "prompt could not be tokenised"),
        ({"detail": "worker 3 crashed"}, "worker 3 crashed"),
    ],
    ids=["object", "text", "code and message", "object error", "detail"],
)  # fmt: skip
async def test_an_error_in_a_success_is_an_error_with_its_sentence(
    body: dict[str, Any], sentence: str
) -> None:
    async with judging(lambda _: Given(body)) as (judge, _):
        with pytest.raises(JudgeError) as caught:
            await judge.judge(request())

    assert sentence in str(caught.value)


async def test_the_sentence_is_cleaned_and_cut_and_never_shows_the_key() -> None:
    message = "Key judge-key-for-tests is not valid\x1b[31m\r\n" + "x" * 5000

    key = "judge-key-for-tests"
    async with judging(lambda _: refused(message, 401), api_key=key) as (judge, _):
        with pytest.raises(JudgeError) as caught:
            await judge.judge(request())

    shown = str(caught.value)
    assert "is not valid" in shown
    assert key not in shown
    assert "\x1b" not in shown
    assert len(shown) < 1000


class TestEvaluate:
    """The command stops at once, and shows the server's or the parser's own sentence."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        row = {"question": "保修期多长？", "contexts": ["保修期为两年。"], "answer": "两年。"}
        write_rows(tmp_path / "rows.jsonl", [{"id": str(n), **row} for n in range(ROWS)])
        return tmp_path

    def run(self, folder: Path, url: str, *more: str) -> Done:
        config = settings(
            folder,
            url,
            'api_key = "judge-key-for-tests"',
            "reasks = 0",
            "probe_every = 0",
            "limits = {concurrency = 2, backoff_s = 0.001, backoff_cap_s = 0.002, attempts = 3, "
            "breaker_open_s = 0.01}",
        )
        return rag_monitor(
            "evaluate", folder / "rows.jsonl", "--judge", "openai_compatible",
            "--metrics", "faithfulness", "--config", config,
            "--output", folder / "scores.jsonl", *more,
        )  # fmt: skip

    @pytest.mark.parametrize("name", STOPPING)
    def test_stops_when_the_quota_is_used_up(self, folder: Path, name: str) -> None:
        status, body, sentence = USED_UP[name]
        with serving(lambda _: Given(body, status)) as server:
            done = self.run(folder, server.url)

        assert done.code == 3, done.shown
        assert sentence in done.shown
        assert "judge-key-for-tests" not in done.shown
        assert len(server.asked) <= 8, "rows were sent on after the quota was used up"

    def test_stops_in_the_middle_and_keeps_what_was_scored(self, folder: Path) -> None:
        status, body, sentence = USED_UP["arrears in Chinese (429 with a number)"]
        answered: list[Asked] = []

        def script(asked: Asked) -> Given:
            if len(answered) >= 6:
                return Given(body, status)
            answered.append(asked)
            return Given(completion(as_json(right(asked))))

        with serving(script) as server:
            done = self.run(folder, server.url)

        assert done.code == 3, done.shown
        assert sentence in done.shown
        assert len(server.asked) <= 6 + 8
        scored = [row["scores"].get("faithfulness") for row in read_rows(folder / "scores.jsonl")]
        assert scored.count(0.9) == 6

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            (Given(completion("I would rather not.")), "the reply holds no JSON object"),
            (Given({"error": {"message": "worker 3 crashed", "code": 500}}), "worker 3 crashed"),
            (Given(error("this model reads 512 tokens"), 413), "this model reads 512 tokens"),
        ],
        ids=["the parser's", "an error in a success", "a refused request"],
    )
    def test_shows_why_rows_failed(self, folder: Path, given: Given, sentence: str) -> None:
        with serving(lambda _: given) as server:
            done = self.run(folder, server.url)

        assert sentence in done.shown
        assert "judge-key-for-tests" not in done.shown


class TestDoctor:
    """The check of the judge shows the server's own sentence, too."""

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            (refused("The key has been revoked by its owner.", 401), "revoked by its owner"),
            (Given(error("worker 3 crashed", code=500)), "worker 3 crashed"),
            (refused("您的账户已欠费，请充值后再试。", 429, code="1113"), "您的账户已欠费"),
        ],
        ids=["401", "an error in a success", "a quota"],
    )
    def test_shows_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Given, sentence: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with serving(lambda _: given) as server:
            settings(tmp_path, server.url, 'api_key = "judge-key-for-tests"')
            done = rag_monitor("doctor")

        assert sentence in done.shown
        assert "judge-key-for-tests" not in done.shown
