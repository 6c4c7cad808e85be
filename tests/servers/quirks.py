"""Quirks of model servers, by the name of the model that has them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.servers.model_server import Asked, Quirk, Sent, refused, said, streamed


def _text_only(content: object, **message: object) -> Quirk:
    """A server without schemas and tools, whose message holds `content` with the reply in it."""

    def quirk(asked: Asked) -> Sent:
        if asked.has("response_format", "tools"):
            return refused(400, "response_format and tools are not available here")
        return said(_with_reply(content, asked.reply), **_with_reply(message, asked.reply))

    return quirk


def _with_reply(value: object, reply: str) -> object:
    if isinstance(value, str):
        return value.replace("REPLY", reply)
    if isinstance(value, list):
        return [_with_reply(part, reply) for part in value]
    if isinstance(value, dict):
        return {name: _with_reply(part, reply) for name, part in value.items()}
    return value


def _once(first: Sent, then: Quirk = lambda asked: said(asked.reply)) -> Quirk:
    """Every first of two requests gets `first`."""
    return lambda asked: first if asked.number % 2 else then(asked)


def _plain(asked: Asked) -> Sent:
    return said(asked.reply)


def _vllm_misplaced(asked: Asked) -> Sent:
    """A reasoning parser that takes the whole reply for thoughts."""
    return said(None, reasoning=asked.reply, tool_calls=[])


def _vllm_no_tools(asked: Asked) -> Sent:
    if asked.wants_schema:
        return refused(400, "Grammar backend failed: json_schema is unsupported", type="BadRequest")
    if asked.has("tools"):
        return refused(400, '"required" tool choice requires --tool-call-parser to be set')
    return said(f"```json\n{asked.reply}\n```")


def _vllm_inside(asked: Asked) -> Sent:
    """An error that comes with status 200."""
    if asked.wants_schema:
        error = {"object": "error", "message": "guided decoding: unsupported", "code": 400}
        return Sent(payload=error)
    return said(asked.reply)


def _sglang(asked: Asked) -> Sent:
    if asked.wants_schema:
        error = {"object": "error", "message": "Failed to compile json grammar", "code": 400}
        return Sent(payload=error, status=400)
    return said(asked.reply, reasoning_content=None)


def _ollama(asked: Asked) -> Sent:
    if asked.has("tools"):
        return Sent(payload={"error": "registry/qwen does not support tools"}, status=400)
    if asked.wants_schema:
        return Sent(payload={"error": "invalid format: schema"}, status=400)
    return said(f"<think>\nhm\n</think>\n\n{asked.reply}")


def _ollama_call(asked: Asked) -> Sent:
    if asked.wants_schema:
        return Sent(payload={"error": "format is not supported"}, status=400)
    if not asked.reply.startswith("{"):
        return said(asked.reply)
    call = {"function": {"name": "record", "arguments": json.loads(asked.reply)}}
    return said("", tool_calls=[call], finish="tool_calls")


def _dashscope_stream(asked: Asked) -> Sent:
    if not asked.body.get("stream"):
        return refused(400, "This model only supports streaming; set stream to true.")
    half = len(asked.reply) // 2
    return streamed(
        {"role": "assistant", "content": "", "reasoning_content": "let me see"},
        {"content": None, "reasoning_content": " … yes"},
        {"content": asked.reply[:half]},
        {"content": asked.reply[half:]},
    )


def _dashscope_no_counts(asked: Asked) -> Sent:
    if not asked.body.get("stream"):
        return refused(400, "该模型仅支持流式输出")
    if asked.has("stream_options"):
        return refused(400, "Unknown parameter: stream_options")
    return streamed({"content": asked.reply})


def _dashscope_thinking(asked: Asked) -> Sent:
    if asked.body.get("enable_thinking") is not False:
        message = "parameter.enable_thinking must be set to false for non-streaming calls"
        return refused(400, message, code="invalid_parameter_error")
    return said(asked.reply)


def _deepseek(asked: Asked) -> Sent:
    if asked.wants_schema:
        return refused(400, "This response_format type is unavailable now")
    message = {"role": "assistant", "content": asked.reply, "reasoning_content": "hm"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return Sent(raw=b"\n\n\n" + json.dumps({"choices": [choice]}).encode())


def _azure(asked: Asked) -> Sent:
    if "api-version=2024-10-21" not in asked.path:
        return Sent(payload={"error": {"code": "404", "message": "Resource not found"}}, status=404)
    if asked.headers.get("api-key") != "azure-secret-1" or "authorization" in asked.headers:
        message = "Access denied due to invalid subscription key or wrong API endpoint."
        return Sent(payload={"error": {"code": "401", "message": message}}, status=401)
    sent = said(asked.reply)
    filters = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}]
    return Sent(payload={**sent.payload, "prompt_filter_results": filters})


def _openrouter(asked: Asked) -> Sent:
    """Rate limited upstream, which is told with status 200; the reply comes as a stream."""
    if asked.number % 2:
        raw = json.dumps({"error": {"message": "upstream is busy, retry shortly", "code": 429}})
        error = {
            "message": "Provider returned error",
            "code": 429,
            "metadata": {"raw": raw, "provider_name": "Somebody"},
        }
        return Sent(payload={"error": error, "user_id": "u"})
    return streamed({"content": asked.reply}, comment="OPENROUTER PROCESSING")


def _openrouter_choice(asked: Asked) -> Sent:
    if asked.number % 2:
        error = {"code": 502, "message": "Upstream closed the connection"}
        choice = {"index": 0, "finish_reason": "error", "error": error, "message": {"content": ""}}
        return Sent(payload={"choices": [choice]})
    return said(asked.reply)


def _gemini(asked: Asked) -> Sent:
    if "system" in asked.roles:
        error = {
            "code": 400,
            "message": "Developer instruction is not enabled for models/gemma-3-27b-it",
            "status": "INVALID_ARGUMENT",
        }
        return Sent(payload=[{"error": error}], status=400)
    return said(f"```json\n{asked.reply}\n```\n")


def _gemini_minute(asked: Asked) -> Sent:
    if asked.number % 2:
        details = [
            {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
            {"retryDelay": "0.05s"},
        ]
        error = {
            "code": 429,
            "message": "You exceeded your current quota. Please retry in 0.05s.",
            "status": "RESOURCE_EXHAUSTED",
            "details": details,
        }
        return Sent(payload=[{"error": error}], status=429)
    return said(asked.reply)


def _mistral(asked: Asked) -> Sent:
    thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    half = len(asked.reply) // 2
    texts = [asked.reply[:half], asked.reply[half:]]
    return said([thoughts, *({"type": "text", "text": text} for text in texts)])


def _mistral_roles(asked: Asked) -> Sent:
    if "system" in asked.roles:
        detail = [
            {
                "loc": ["body", "messages", 0, "role"],
                "msg": "Input should be 'user' or 'assistant'",
                "type": "literal_error",
                "input": "system",
            }
        ]
        return Sent(payload={"object": "error", "detail": detail}, status=422)
    return said(asked.reply)


def _llama_cpp(asked: Asked) -> Sent:
    if asked.has("tools", "response_format"):
        error = {
            "code": 500,
            "message": "Value is not callable: null at row 3, column 11:\n{{ tools }}",
            "type": "server_error",
        }
        return Sent(payload={"error": error}, status=500)
    return said(asked.reply)


def _llama_cpp_template(asked: Asked) -> Sent:
    if "system" in asked.roles:
        message = "Jinja Exception: Conversation roles must alternate user/assistant/…"
        return refused(500, message, code=500)
    return said(asked.reply)


def _o_series(asked: Asked) -> Sent:
    if asked.has("max_tokens"):
        return refused(400, "'max_tokens' is not supported. Use 'max_completion_tokens' instead.")
    if asked.has("temperature"):
        return refused(400, "'temperature' does not support 0 with this model")
    if "system" in asked.roles:
        return refused(400, "'messages[0].role' does not support 'system' with this model.")
    return said(asked.reply)


def _legacy(asked: Asked) -> Sent:
    return Sent(payload={"choices": [{"index": 0, "text": asked.reply, "finish_reason": "stop"}]})


def _function_call(asked: Asked) -> Sent:
    if asked.wants_schema:
        return refused(400, "unknown field response_format")
    return said(None, function_call={"name": "record", "arguments": asked.reply})


def _gbk(asked: Asked) -> Sent:
    payload = said(f"评审结果：{asked.reply}").payload
    raw = json.dumps(payload, ensure_ascii=False).encode("gbk")
    return Sent(raw=raw, kind="application/json; charset=gbk")


def _object_content(asked: Asked) -> Sent:
    return said(json.loads(asked.reply) if asked.reply.startswith("{") else asked.reply)


def _busy_minimax(asked: Asked) -> Sent:
    if asked.number % 2:
        busy = {"status_code": 1002, "status_msg": "rate limit, please retry later"}
        return Sent(payload={"choices": None, "base_resp": busy})
    return Sent(payload={**said(asked.reply).payload, "base_resp": {"status_code": 0}})


SCORED: Mapping[str, Quirk] = {
    "plain": _plain,
    "fence": _text_only("```json\nREPLY\n```"),
    "fence-and-words": _text_only("My verdict:\n```\nREPLY\n```\nThat is all."),
    "words-before": _text_only("Sure! REPLY"),
    "words-after": _text_only("REPLY\n\nLet me know if you need more."),
    "byte-order-mark": _text_only("\ufeffREPLY"),
    "thoughts": _text_only('<think>is it {"support": {"1": 0.1}}?</think>REPLY'),
    "thoughts-from-the-prompt": _text_only('hm, {"nonce": "?"} …</think>\nREPLY'),
    "thoughts-with-a-draft": _text_only("<thinking>REPLY – no</thinking>\nREPLY"),
    "reasoning-tag": _text_only("<reasoning>hm</reasoning>\n```json\nREPLY\n```"),
    "seed-oss": _text_only("<seed:think>hm</seed:think>REPLY"),
    "magistral-raw": _text_only("[THINK]hm[/THINK]REPLY"),
    "kimi-vl": _text_only("◁think▷hm◁/think▷REPLY"),
    "harmony": _text_only(
        "<|channel|>analysis<|message|>REPLY?<|end|><|start|>assistant<|channel|>final<|message|>"
        "REPLY"
    ),
    "harmony-call": _text_only(
        "<|channel|>commentary to=functions.record <|constrain|>json<|message|>REPLY<|call|>"
    ),
    "parts": _text_only([{"type": "text", "text": "REPLY"}]),
    "parts-of-responses": _text_only([{"type": "output_text", "text": "REPLY"}]),
    "call-as-text": _text_only(
        '<tool_call>{"name": "record", "arguments": REPLY}</tool_call>', tool_calls=[]
    ),
    "vllm-misplaced": _vllm_misplaced,
    "vllm-no-tools": _vllm_no_tools,
    "vllm-error-200": _vllm_inside,
    "sglang": _sglang,
    "ollama": _ollama,
    "ollama-call": _ollama_call,
    "dashscope-stream": _dashscope_stream,
    "dashscope-no-counts": _dashscope_no_counts,
    "dashscope-thinking": _dashscope_thinking,
    "deepseek": _deepseek,
    "openrouter": _openrouter,
    "openrouter-choice": _openrouter_choice,
    "gemini": _gemini,
    "gemini-per-minute": _gemini_minute,
    "mistral": _mistral,
    "mistral-roles": _mistral_roles,
    "llama-cpp": _llama_cpp,
    "llama-cpp-roles": _llama_cpp_template,
    "llama-cpp-loading": _once(refused(503, "Loading model", type="unavailable_error")),
    "o-series": _o_series,
    "legacy": _legacy,
    "function-call": _function_call,
    "gbk": _gbk,
    "minimax-busy": _busy_minimax,
    "always-streams": lambda asked: streamed({"content": asked.reply}),
    "object-content": _object_content,
    "rate-limit": _once(Sent(payload={}, status=429, headers={"retry-after": "0"})),
    "rate-limit-reset": _once(
        Sent(payload={}, status=429, headers={"x-ratelimit-reset-requests": "20ms"})
    ),
}
"""Servers that every trace gets a right score from."""

AZURE: Mapping[str, Quirk] = {"azure": _azure}
