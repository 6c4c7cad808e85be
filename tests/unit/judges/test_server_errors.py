"""What kind of trouble a judge's server is in, as vendors put it in English and Chinese."""

# ruff: noqa: E501 - one case a line

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_monitor.errors import JudgeError, JudgeRefused, QuotaExhausted
from rag_monitor.judges.limits import Overloaded
from rag_monitor.judges.openai_compatible.error_body import error_in, parse_error_body
from rag_monitor.judges.openai_compatible.refused import ReplyWithheld, RequestRefused, TooLong
from rag_monitor.judges.openai_compatible.server_errors import error_of, wait_of


def openai(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def found(status: int, body: Any, headers: dict[str, str] | None = None) -> JudgeError:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return error_of(status, parse_error_body(raw), headers or {}, ())


QUOTA = {
    "openai": (429, openai("You exceeded your current quota.", code="insufficient_quota")),
    "openai with a wait": (429, openai("Quota is over.", type="insufficient_quota")),
    "dashscope arrears": (400, openai("Access denied, account not in good standing.", code="Arrearage")),
    "dashscope native": (400, {"code": "Arrearage", "message": "Access denied", "request_id": "r"}),
    "dashscope free tier": (403, openai("The free tier is over.", code="AllocationQuota.FreeTierOnly")),
    "dashscope free quota": (403, openai("Free allocated quota exceeded.")),
    "deepseek": (402, openai("Insufficient Balance", type="unknown_error")),
    "payment required": (402, "Payment Required"),
    "no words": (402, ""),
    "openrouter": (402, openai("Insufficient credits. Buy more on the credits page.", code=402)),
    "openrouter afford": (402, openai("This needs more credits, or fewer max_tokens.")),
    "openrouter day": (429, openai("Rate limit exceeded: free-models-per-day.", code=429)),
    "openrouter key": (403, openai("Key limit exceeded (total limit).")),
    "moonshot": (429, openai("Your account is suspended due to insufficient balance.",
                             type="exceeded_current_quota_error")),
    "zhipu": (429, openai("您的账户已欠费，请充值后重试。", code="1113")),
    "zhipu package": (429, openai("余额不足或无可用资源包，请充值。", code="1113")),
    "zhipu day": (429, openai("该接口已达今日调用次数限额", code="1304")),
    "volcengine": (403, openai("Your account has an overdue balance.", code="AccountOverdueError")),
    "siliconflow": (403, {"code": 30001, "message": "Sorry, your account balance is insufficient"}),
    "minimax inside": (200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}),
    "tencent inside": (200, {"Response": {"Error": {"Code": "ResourcePackExhausted", "Message": "资源包已用尽"}}}),
    "baidu inside": (200, {"error_code": 17, "error_msg": "Open api daily request limit reached"}),
    "one-api": (403, openai("用户额度不足，剩余额度: ￥0.00", code="insufficient_user_quota")),
    "one-api token": (401, openai("该令牌额度已用尽", type="new_api_error")),
    "one-api hold": (403, openai("预扣费额度失败", code="pre_consume_token_quota_failed")),
    "traditional": (403, openai("帳戶餘額不足，請充值")),
    "anthropic": (400, openai("Your credit balance is too low to access the API.")),
    "xai": (403, {"error": "Your team has used all available credits or reached its spending limit."}),
    "fireworks": (412, {"error": {"message": "Account is suspended: monthly spending limit."}}),
    "huggingface": (402, {"error": "You have exceeded your monthly included credits"}),
    "perplexity": (401, openai("You exceeded your current quota", type="insufficient_quota")),
    "azure gateway": (403, {"statusCode": 403, "message": "Out of call volume quota. It will be replenished in 02:13:40."}),
    "groq day": (429, openai("Limit on tokens per day (TPD) reached. Please try again in 14m24s.")),
    "cohere trial": (429, {"message": "You use a trial key, limited to 1000 API calls / month."}),
    "gemini day": (429, [openai("You exceeded your current quota. Please retry in 34s.", code=429,
                                details=[{"violations": [{"quotaId": "RequestsPerDayPerProject"}]}])]),
    "wrapped by a gateway": (429, openai("Provider returned error", code=429, metadata={
        "raw": json.dumps(openai("Insufficient balance, recharge your account"))})),
    "json in a message": (500, openai(json.dumps(openai("insufficient credits", code="x")))),
}  # fmt: skip
RATE = {
    "openai": (429, openai("Rate limit reached on requests per min.", code="rate_limit_exceeded")),
    "openai day, soon over": (429, openai("Limit on tokens per day reached. Try again in 8.6s.")),
    "azure": (429, openai("You exceeded the token rate limit of your tier. Retry after 7 seconds.")),
    "dashscope tokens": (429, openai("You exceeded your current quota, see /error-code#token-limit",
                                     code="insufficient_quota")),
    "dashscope allocation": (429, {"code": "Throttling.AllocationQuota", "message": "Allocated quota exceeded"}),
    "dashscope burst": (429, openai("Request rate increased too quickly.", code="limit_burst_rate")),
    "gemini minute": (429, [openai("You exceeded your current quota. Please retry in 40.1s.")]),
    "gemini plain": (429, [openai("Resource has been exhausted (e.g. check quota).")]),
    "vertex": (429, openai("Quota exceeded for metric requests_per_minute_per_base_model.")),
    "openrouter minute": (429, openai("Rate limit exceeded: free-models-per-min.")),
    "openrouter inside": (200, openai("Provider returned error", code=429)),
    "zhipu concurrency": (429, openai("您当前使用该API的并发数过高，请降低并发，或联系客服增加限额。", code="1302")),
    "mistral": (429, {"message": "Requests rate limit exceeded"}),
    "cohere": (429, {"message": "Trial keys are limited to 40 API calls / minute."}),
    "tencent": (400, openai("请求过于频繁，请稍后再试")),
    "empty": (429, ""),
}  # fmt: skip
TRANSIENT = {
    "overload": (503, openai("The engine is overloaded.")),
    "gateway page": (502, "<html><head><title>502 Bad Gateway</title></head></html>"),
    "loading": (503, openai("Loading model", code=503)),
    "cloudflare": (529, "overloaded"),
    "timeout": (408, ""),
    "broken": (500, openai("Internal server error")),
    "broken inside": (200, openai("upstream failed")),
    "a word inside": (200, {"status": "error", "message": "something went wrong"}),
    "moonshot": (503, openai("The engine is currently overloaded", type="engine_overloaded_error")),
}
SETUP = {
    "key": (401, openai("Incorrect API key provided.")),
    "region": (403, "Forbidden"),
    "model": (404, openai("The model `x` does not exist.")),
    "ollama": (404, {"error": "model 'x' not found, try pulling it first"}),
    "azure": (404, openai("Resource not found", code="404")),
    "gemini key": (400, [openai("API key not valid. Please pass a valid API key.")]),
    "mistral model": (400, {"object": "error", "message": "Invalid model: x", "code": 1500}),
    "openrouter model": (400, openai("x is not a valid model ID")),
    "zhipu model": (400, openai("模型 x 不存在，请检查模型代码。", code="1211")),
    "ollama memory": (500, {"error": "model requires more system memory (9 GiB) than is available"}),
    "fastapi": (404, {"detail": "Not Found"}),
    "spark inside": (200, {"header": {"code": 11200, "message": "鉴权失败"}, "success": False}),
}  # fmt: skip
CONTENT = {
    "azure": (400, openai("The response was filtered by the content management policy.")),
    "dashscope": (400, openai("Input data may contain …", code="data_inspection_failed")),
    "deepseek": (400, openai("Content Exists Risk")),
    "zhipu": (400, openai("系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301")),
    "openrouter": (403, openai("Your input was flagged", metadata={"reasons": ["violence"]})),
    "volcengine": (400, openai("…", code="InputTextSensitiveContentDetected")),
    "minimax inside": (200, {"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}),
}  # fmt: skip
SIZE = {
    "openai": (400, openai("This model's maximum context length is 8192 tokens.")),
    "openai minute": (429, openai("Request too large on tokens per min: the input must be reduced.")),
    "nginx": (413, "<html><title>413 Request Entity Too Large</title></html>"),
    "dashscope": (400, openai("Range of input length should be [1, 30720]")),
    "tgi": (422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096", "error_type": "v"}),
    "llama.cpp": (500, openai("the request exceeds the available context size")),
    "sglang": (400, {"object": "error", "message": "The input (9 tokens) is longer than the model's context length"}),
    "chinese": (400, openai("输入超出模型最大长度限制")),
}  # fmt: skip
SHAPE = {
    "unknown": (400, openai("Unsupported parameter: 'top_logprobs'")),
    "logprobs": (400, openai("top_logprobs exceeds the limit of 5")),
    "penalty": (400, openai("frequency_penalty is not a number")),
    "memory": (400, openai("response_format is not available for this model")),
    "fastapi": (422, {"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs", "input": "x"}]}),
    "template": (500, openai("Value is not callable: null at row 1, column 2")),
    "inside": (200, {"object": "error", "message": "bad grammar", "code": 400}),
}


@pytest.mark.parametrize(
    ("expected", "case"),
    [
        pytest.param(kind, case, id=f"{kind.__name__}: {name}")
        for kind, cases in (
            (QuotaExhausted, QUOTA),
            (JudgeRefused, SETUP),
            (ReplyWithheld, CONTENT),
            (TooLong, SIZE),
            (RequestRefused, SHAPE),
        )
        for name, case in cases.items()
    ],
)
def test_the_kind_of_trouble_is_told_from_the_words(
    expected: type[JudgeError], case: tuple[int, Any]
) -> None:
    assert type(found(*case)) is expected


@pytest.mark.parametrize("name", [*RATE, *TRANSIENT])
def test_what_passes_by_itself_is_asked_again(name: str) -> None:
    assert type(found(*{**RATE, **TRANSIENT}[name])) is Overloaded


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (500, openai("Oops"), "answered 500: Oops"),
        (401, {"error": "no such key"}, "answered 401: no such key"),
        (404, {"detail": "Not Found"}, "answered 404: Not Found"),
        (422, {"detail": [{"loc": ["body", "n"], "msg": "too many", "input": "secret text"}]},
         "answered 422: too many (body.n)"),
        (502, "<html><h1>Bad &amp; broken</h1><script>x()</script></html>",
         "answered 502: a web page: Bad & broken"),
        (503, "", "answered 503: it gave no reason"),
        (429, openai("Provider returned error", metadata={"raw": "upstream is busy"}),
         "answered 429: Provider returned error: upstream is busy"),
        (500, {"message": json.dumps(openai("Oops")), "error": openai("Oops")["error"]},
         "answered 500: Oops"),
        (200, openai("Busy", code=503), "answered 200 with an error inside (503): Busy"),
        (200, openai("Busy"), "answered 200 with an error inside: Busy"),
        (400, [openai("Wrong")], "answered 400: Wrong"),
    ],
)  # fmt: skip
def test_the_server_s_own_sentence_is_told(status: int, body: Any, sentence: str) -> None:
    assert str(found(status, body)) == f"the judge's server {sentence}"


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"content": "x"}}], "error": None},
        {"choices": [{"message": {"content": "x"}}], "base_resp": {"status_code": 0}},
        {"data": [{"index": 0, "embedding": [1.0]}], "object": "list"},
        {"tokens": [1], "count": 1, "message": "ok"},
        {"scores": [[0.5]]},
        {"choices": []},
        {},
    ],
)
def test_a_result_is_no_error(body: dict[str, Any]) -> None:
    assert error_in(body) is None


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, "", 0.25),
        ({"x-ratelimit-reset-requests": "6m0s"}, "", 360.0),
        ({"x-ratelimit-reset-requests": "1h", "x-ratelimit-remaining-requests": "9",
          "x-ratelimit-reset-tokens": "2s", "x-ratelimit-remaining-tokens": "0"}, "", 2.0),
        ({}, "Please try again in 1.2s.", 1.2),
        ({}, "Please retry after 7 seconds.", 7.0),
        ({}, "Please try again in 7m12s", 432.0),
        ({}, "retryDelay 34s", 34.0),
        ({}, "请在 20 秒后重试", 20.0),
        ({"retry-after": "nan"}, "", None),
        ({"x-ratelimit-reset": "soon"}, "", None),
        ({}, "Rate limit reached", None),
    ],
)  # fmt: skip
def test_how_long_to_wait_is_read_wherever_it_is_said(
    headers: dict[str, str], text: str, seconds: float | None
) -> None:
    assert wait_of(headers, text) == (None if seconds is None else pytest.approx(seconds))
