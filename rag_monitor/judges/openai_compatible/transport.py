"""The one place that talks through the `openai` client: one chat request, one reply or error.

No retries here; `limits.Limits` owns them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx

from rag_monitor.errors import (
    ConfigurationError,
    JudgeOutputInvalid,
    JudgeRefused,
    JudgeTimeout,
    JudgeUnavailable,
)
from rag_monitor.judges.accounting import estimate_tokens
from rag_monitor.judges.limits import Overloaded
from rag_monitor.judges.openai_compatible.bounded import ENCODING, ReplyRefusedError, bound
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions
from rag_monitor.judges.openai_compatible.refused import ReplyWithheld, RequestRefused
from rag_monitor.judges.openai_compatible.thinking import has_thought, without_thoughts
from rag_monitor.outbound import patience

if TYPE_CHECKING:
    import openai

Message = Mapping[str, str]

_REFUSED: Final = frozenset({401, 402, 403, 404, 405})
_BROKE: Final = 500
_WITHHELD: Final = frozenset({"content_filter", "sensitive"})
_MOST_TOKENS: Final = 100_000_000
"""Of one call; what claims more is no count."""
_TOKENS_PER_PART: Final = 4
_SLACK: Final = 1e-2
"""Logprobs of servers that compute in half precision may lie a little above 0."""
_FILTERED: Final = re.compile(
    r"content[ _-]?(?:filter|management policy|exists risk)|data_?inspection_?failed"
    r"|\bcontentfilter\b|\b1301\b.{0,80}(?:sensitive|敏感)|responsible_?ai",
    re.IGNORECASE,
)
"""How Azure, DashScope, DeepSeek and Zhipu say that a filter stopped the request."""
_BAD_REQUEST: Final = frozenset({400, 413, 415, 422, 501})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What one request brought."""

    content: str | None
    """The text after any thoughts, or the arguments of the tool call."""
    top_logprobs: Sequence[tuple[str, float]] | None = None
    """Of the first token, most likely first."""
    cut: bool = False
    """It ends where the limit of tokens was reached."""
    thought: bool = False
    """The model thought before it replied, as far as the server says so."""


class ChatTransport:
    """A connection pool to one server and model. Use it from one event loop."""

    def __init__(self, options: OpenAICompatibleOptions) -> None:
        try:
            import openai
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                "the openai_compatible judge needs the openai client: "
                "pip install 'rag-monitor[openai]'"
            ) from error
        self._openai = openai
        self._options = options
        self._client: openai.AsyncOpenAI | None = None

    async def chat(
        self, messages: Sequence[Message], body: Mapping[str, Any], meter: Meter
    ) -> ChatReply:
        """Send one chat request.

        Raises:
            JudgeUnavailable: Connection, overload or server error.
            JudgeRefused: No access: key, model name, address or credit.
            JudgeTimeout: The client's own timeout ran out.
            RequestRefused: The server does not accept the request.
            ReplyWithheld: A content filter or the model declines.
            JudgeOutputInvalid: The response is not a chat completion, or larger than any.
        """
        payload = {"model": self._options.model, "messages": list(messages)} | dict(body)
        sent = _expected(message["content"] for message in messages)
        async with meter.call(sent, _most_written(payload)) as call:
            raw = await self._post("/chat/completions", payload)
            said = _usage(raw, "prompt_tokens"), _usage(raw, "completion_tokens")
            call.used(sent if said[0] is None else said[0], said[1] or 0)
            reply = _read_chat(raw)
            if said[1] is None:
                call.output_tokens = estimate_tokens([reply.content or ""])
        return reply

    async def embed(self, texts: Sequence[str], meter: Meter) -> list[list[float]]:
        """Vectors of `texts` from the server's embedding model.

        Raises:
            JudgeError: As for `chat`.
        """
        payload = {
            "model": self._options.embedding_model,
            "input": list(texts),
            "encoding_format": "float",
        }
        sent = _expected(texts)
        async with meter.call(sent) as call:
            raw = await self._post("/embeddings", payload)
            said = _usage(raw, "prompt_tokens")
            call.used(sent if said is None else said, 0)
            return _read_vectors(raw, len(texts))

    async def post(self, url: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put a request to an endpoint that the `openai` client does not know.

        Args:
            url: Absolute, of the same server.
            body: Everything but the model's name.

        Raises:
            JudgeError: As for `chat`.
        """
        return await self._post(url, {"model": self._options.model} | dict(body))

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _post(self, path: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        openai = self._openai
        try:
            # The typed methods of the client copy every request through its own models first, which
            # costs as much again as sending it.
            response = await self._connected().post(
                path, cast_to=httpx.Response, body=dict(payload)
            )
            raw = json.loads(response.content)
        except openai.APITimeoutError as error:
            if type(error.__cause__).__name__ == "ConnectTimeout":  # of whichever HTTP library
                base = self._options.base_url
                raise JudgeUnavailable(f"cannot reach {base}: no connection") from None
            raise JudgeTimeout from None
        except openai.APIStatusError as error:
            raise _status_error(error, self._options.api_key) from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, ReplyRefusedError):  # as some versions hand it on
                raise JudgeOutputInvalid(str(error.__cause__)) from None
            raise JudgeUnavailable(
                f"cannot reach {self._options.base_url}: {error.__cause__ or error}"
            ) from None
        except ReplyRefusedError as error:
            raise JudgeOutputInvalid(str(error)) from None
        except (ValueError, RecursionError):
            raise JudgeOutputInvalid("the response is not JSON") from None
        if not isinstance(raw, Mapping):
            raise JudgeOutputInvalid("the response is not a JSON object")
        return raw

    def _connected(self) -> openai.AsyncOpenAI:
        if self._client is None:
            longest = self._options.limits.attempt_timeout_s
            self._client = self._openai.AsyncOpenAI(
                base_url=self._options.base_url,
                api_key=self._options.api_key or "none",
                # Half the time without a connection: nothing was sent, so nothing counts as used.
                timeout=self._openai.Timeout(longest, connect=longest / 2),
                max_retries=0,
                default_headers={"Accept-Encoding": ENCODING},
                http_client=self._openai.DefaultAsyncHttpxClient(event_hooks={"response": [bound]}),
            )
        return self._client


def _status_error(error: openai.APIStatusError, key: str | None) -> Exception:
    status, message = error.status_code, str(error.message)
    if key:  # some servers repeat it
        message = message.replace(key, "…")
    said = f"the judge's server answered {status}: {message[:200]}"
    if status in _REFUSED:
        return JudgeRefused(said)
    if status in _BAD_REQUEST and _FILTERED.search(f"{error.code} {message}"):
        return ReplyWithheld(said)
    if status in _BAD_REQUEST:
        return RequestRefused(said)
    return Overloaded(said, _retry_after(error.response.headers), broke=status == _BROKE)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    exact = patience.retry_after(headers.get("retry-after-ms"))
    return patience.retry_after(headers.get("retry-after")) if exact is None else exact / 1000


def _read_chat(raw: Mapping[str, Any]) -> ChatReply:
    try:
        choice = raw["choices"][0]
        message = choice["message"]
        calls = message.get("tool_calls")
        content = calls[0]["function"]["arguments"] if calls else message.get("content")
        logprobs = _first_token(choice.get("logprobs"))
        finish, declined = choice.get("finish_reason"), message.get("refusal")
        thought = has_thought(message, raw.get("usage"))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
        raise JudgeOutputInvalid("the response is not a chat completion") from None
    if content is not None and not isinstance(content, str):
        raise JudgeOutputInvalid("the content of the reply is not text")
    if finish in _WITHHELD:
        raise ReplyWithheld(f"the judge's server withholds its reply: {finish}")
    if declined and isinstance(declined, str) and not content:
        raise ReplyWithheld(f"the model declines to judge: {declined[:200]}")
    return ChatReply(
        content=content if calls else without_thoughts(content),
        top_logprobs=logprobs,
        cut=finish == "length",
        thought=thought,
    )


def _first_token(logprobs: Any) -> list[tuple[str, float]] | None:
    if not logprobs or not logprobs.get("content"):
        return None
    first = logprobs["content"][0]
    listed = first.get("top_logprobs") or [first]
    found = [(str(entry["token"]), float(entry["logprob"])) for entry in listed]
    # JSON of Python servers knows NaN and Infinity; a verdict made of one would be a score.
    if not all(logprob <= _SLACK for _, logprob in found):
        raise JudgeOutputInvalid("the server's logprobs are none")
    return sorted(found, key=lambda pair: -pair[1])


def _expected(texts: Iterable[str]) -> int:
    """A guess at the tokens of what is sent, with those of the chat template."""
    parts = list(texts)
    return estimate_tokens(parts) + _TOKENS_PER_PART * (len(parts) + 1)


def _most_written(payload: Mapping[str, Any]) -> int:
    """The limit that the request sets the reply; settings of the user's may set another."""
    limits = (payload.get(name) for name in ("max_completion_tokens", "max_tokens"))
    return max((limit for limit in limits if type(limit) is int), default=0)


def _usage(raw: Mapping[str, Any], name: str) -> int | None:
    """What the server says it counted; None: nothing, or nothing that can be."""
    usage = raw.get("usage")
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def _read_vectors(raw: Mapping[str, Any], count: int) -> list[list[float]]:
    try:
        rows = sorted(raw["data"], key=lambda row: int(row["index"]))
        vectors = [[float(x) for x in row["embedding"]] for row in rows]
    except (KeyError, TypeError, ValueError):
        raise JudgeOutputInvalid("the response holds no embeddings") from None
    if len(vectors) != count or len({len(vector) for vector in vectors}) != 1:
        raise JudgeOutputInvalid(f"{len(vectors)} embeddings for {count} texts")
    return vectors
