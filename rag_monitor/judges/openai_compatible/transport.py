"""The one place that talks through the `openai` client: one chat request, one reply or error.

No retries here; `limits.Limits` owns them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

import httpx

from rag_monitor.domain.clock import SystemClock
from rag_monitor.errors import (
    ConfigurationError,
    JudgeOutputInvalid,
    JudgeRefused,
    JudgeTimeout,
    JudgeUnavailable,
)
from rag_monitor.judges.limits import Overloaded
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions

if TYPE_CHECKING:
    import openai

Message = Mapping[str, str]

_REFUSED: Final = frozenset({401, 402, 403, 404, 405})
_BROKE: Final = 500
_BAD_REQUEST: Final = frozenset({400, 413, 415, 422, 501})


class RequestRefused(JudgeOutputInvalid):
    """The server does not take a request of this shape or size."""

    reason = "request_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What one request brought."""

    content: str | None
    """The text, or the arguments of the tool call."""
    top_logprobs: Sequence[tuple[str, float]] | None = None
    """Of the first token, most likely first."""
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Meter:
    """Adds up what the calls of one judgement cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    notes: set[str] = field(default_factory=set)
    """What was noticed on the way, e.g. `canary_leaked`."""

    def add(self, reply: ChatReply) -> None:
        """Count the tokens of a reply."""
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens


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
            JudgeOutputInvalid: The response is not a chat completion.
        """
        meter.calls += 1
        payload = {"model": self._options.model, "messages": list(messages)}
        raw = await self._post("/chat/completions", payload | dict(body))
        reply = _read_chat(raw)
        meter.add(reply)
        return reply

    async def embed(self, texts: Sequence[str], meter: Meter) -> list[list[float]]:
        """Vectors of `texts` from the server's embedding model.

        Raises:
            JudgeError: As for `chat`.
        """
        meter.calls += 1
        payload = {
            "model": self._options.embedding_model,
            "input": list(texts),
            "encoding_format": "float",
        }
        raw = await self._post("/embeddings", payload)
        meter.input_tokens += _count(raw, "prompt_tokens")
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
        except openai.APITimeoutError:
            raise JudgeTimeout from None
        except openai.APIStatusError as error:
            raise _status_error(error, self._options.api_key) from None
        except openai.APIConnectionError as error:
            raise JudgeUnavailable(
                f"cannot reach {self._options.base_url}: {error.__cause__ or error}"
            ) from None
        except (ValueError, RecursionError):
            raise JudgeOutputInvalid("the response is not JSON") from None
        if not isinstance(raw, Mapping):
            raise JudgeOutputInvalid("the response is not a JSON object")
        return raw

    def _connected(self) -> openai.AsyncOpenAI:
        if self._client is None:
            self._client = self._openai.AsyncOpenAI(
                base_url=self._options.base_url,
                api_key=self._options.api_key or "none",
                timeout=self._options.limits.attempt_timeout_s,
                max_retries=0,
            )
        return self._client


def _status_error(error: openai.APIStatusError, key: str | None) -> Exception:
    status, message = error.status_code, str(error.message)
    if key:  # some servers repeat it
        message = message.replace(key, "…")
    said = f"the judge's server answered {status}: {message[:200]}"
    if status in _REFUSED:
        return JudgeRefused(said)
    if status in _BAD_REQUEST:
        return RequestRefused(said)
    return Overloaded(said, _retry_after(error.response.headers), broke=status == _BROKE)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    exact = headers.get("retry-after-ms")
    value = headers.get("retry-after")
    try:
        if exact is not None:
            return float(exact) / 1000
        return None if value is None else float(value)
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(value or "") - SystemClock().now()).total_seconds()
    except (ValueError, TypeError):
        return None


def _read_chat(raw: Mapping[str, Any]) -> ChatReply:
    try:
        choice = raw["choices"][0]
        message = choice["message"]
        calls = message.get("tool_calls")
        content = calls[0]["function"]["arguments"] if calls else message.get("content")
        logprobs = _first_token(choice.get("logprobs"))
    except (KeyError, IndexError, TypeError, AttributeError):
        raise JudgeOutputInvalid("the response is not a chat completion") from None
    if content is not None and not isinstance(content, str):
        raise JudgeOutputInvalid("the content of the reply is not text")
    return ChatReply(
        content=content,
        top_logprobs=logprobs,
        input_tokens=_count(raw, "prompt_tokens"),
        output_tokens=_count(raw, "completion_tokens"),
    )


def _first_token(logprobs: Any) -> list[tuple[str, float]] | None:
    if not logprobs or not logprobs.get("content"):
        return None
    first = logprobs["content"][0]
    listed = first.get("top_logprobs") or [first]
    found = [(str(entry["token"]), float(entry["logprob"])) for entry in listed]
    return sorted(found, key=lambda pair: -pair[1])


def _count(raw: Mapping[str, Any], name: str) -> int:
    usage = raw.get("usage")
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if type(value) is int and value >= 0 else 0


def _read_vectors(raw: Mapping[str, Any], count: int) -> list[list[float]]:
    try:
        rows = sorted(raw["data"], key=lambda row: int(row["index"]))
        vectors = [[float(x) for x in row["embedding"]] for row in rows]
    except (KeyError, TypeError, ValueError):
        raise JudgeOutputInvalid("the response holds no embeddings") from None
    if len(vectors) != count or len({len(vector) for vector in vectors}) != 1:
        raise JudgeOutputInvalid(f"{len(vectors)} embeddings for {count} texts")
    return vectors
