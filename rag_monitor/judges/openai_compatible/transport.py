"""The one place that talks through the `openai` client: one chat request, one reply or error.

No retries here; `limits.Limits` owns them. Replies are read up to a size, and what is compressed is
counted as it comes out: a server that never stops, or one whose few kilobytes unpack to gigabytes,
would else fill the memory of the worker before its time ran out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx

from rag_monitor.errors import (
    ConfigurationError,
    JudgeOutputInvalid,
    JudgeTimeout,
    JudgeUnavailable,
    RagMonitorError,
)
from rag_monitor.i18n import Message
from rag_monitor.installation import install_command
from rag_monitor.judges.accounting import estimate_tokens
from rag_monitor.judges.openai_compatible.address import Address, address_of
from rag_monitor.judges.openai_compatible.chat_reply import ChatReply, read_chat
from rag_monitor.judges.openai_compatible.error_body import error_in, parse_error_body
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions
from rag_monitor.judges.openai_compatible.served_model import ServedModels
from rag_monitor.judges.openai_compatible.server_errors import error_of
from rag_monitor.judges.openai_compatible.streams import gathered, is_stream
from rag_monitor.redaction.redactor import presentable

if TYPE_CHECKING:
    import openai
import zlib
from collections.abc import AsyncIterable, AsyncIterator
from functools import cache
from importlib import import_module

MAX_REPLY_BYTES: Final = 16 * 1024 * 1024
"""A page of verdicts with logprobs is less than one, a batch of embeddings a few."""
ENCODING: Final = "gzip"
"""The only compression that is asked for, and unpacked here."""
_GZIP: Final = 16 + zlib.MAX_WBITS


class ReplyRefusedError(RagMonitorError):
    """The server sent more than is read, or packed it in a way that cannot be."""


async def bound(response: Any) -> None:
    """Have the body of a response read up to `MAX_REPLY_BYTES`.

    An event hook for the client of httpx, or of whichever library like it the `openai` client uses.
    """
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    gzip = packed in {ENCODING, f"x-{ENCODING}"}
    if gzip:
        del response.headers["content-encoding"]  # it is unpacked before the library sees it
    elif packed not in {"", "identity"}:
        raise ReplyRefusedError(
            "the reply is packed as {packed!r}, not as {encoding}",
            packed=packed[:40],
            encoding=ENCODING,
        )
    library = import_module(type(response).__module__.partition(".")[0])
    response.stream = _bounded(library.AsyncByteStream)(response.stream, gzip=gzip)


@cache
def _bounded(base: Any) -> Any:
    """A stream that fails after so much; the library takes none but of its own kind."""

    class Bounded(base):  # type: ignore[misc] # known at run time only
        def __init__(self, inner: Any, *, gzip: bool) -> None:
            self._inner = inner
            self._gzip = gzip

        def __aiter__(self) -> AsyncIterator[bytes]:
            return _read(self._inner, gzip=self._gzip)

        async def aclose(self) -> None:
            await self._inner.aclose()

    return Bounded


async def _read(parts: AsyncIterable[bytes], *, gzip: bool) -> AsyncIterator[bytes]:
    unpack = zlib.decompressobj(_GZIP).decompress if gzip else None
    left = MAX_REPLY_BYTES
    async for part in parts:
        plain = part
        if unpack is not None:
            try:  # one byte beyond what is left tells that there is more
                plain = unpack(part, left + 1)
            except zlib.error:
                raise ReplyRefusedError(
                    "the reply is not {encoding} as it says", encoding=ENCODING
                ) from None
        left -= len(plain)
        if left < 0:
            raise ReplyRefusedError(
                "the reply is longer than {longest:,} bytes", longest=MAX_REPLY_BYTES
            )
        yield plain


ChatMessage = Mapping[str, str]

_MOST_TOKENS: Final = 100_000_000
"""Of one call; what claims more is no count."""
_TOKENS_PER_PART: Final = 4


class ChatTransport:
    """A connection pool to one server and model. Use it from one event loop."""

    def __init__(self, options: OpenAICompatibleOptions) -> None:
        try:
            import openai
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                "the openai_compatible judge needs the openai client: {command}",
                command=install_command("openai"),
            ) from error
        self._openai = openai
        self._options = options
        self._address: Address = address_of(options)
        self._served = ServedModels(options.model, options.served_model)
        self._client: openai.AsyncOpenAI | None = None

    async def chat(
        self, messages: Sequence[ChatMessage], body: Mapping[str, Any], meter: Meter
    ) -> ChatReply:
        """Send one chat request.

        Raises:
            JudgeUnavailable: Connection, overload or server error.
            JudgeRefused: No access (key, model name, address), no credit, or another model.
            JudgeTimeout: The client's own timeout ran out.
            RequestRefused: The server does not accept the request.
            ReplyWithheld: A content filter or the model declines.
            JudgeOutputInvalid: The response is not a chat completion, or larger than any.
        """
        payload = {"model": self._options.model, "messages": list(messages)} | dict(body)
        sent = _expected(message["content"] for message in messages)
        async with meter.call(sent, _most_written(payload)) as call:
            raw = await self._post("/chat/completions", payload)
            usage = _usage(raw, "prompt_tokens"), _usage(raw, "completion_tokens")
            call.used(sent if usage[0] is None else usage[0], usage[1] or 0)
            meter.served |= self._served.note(raw.get("model"))
            reply = read_chat(raw)
            if usage[1] is None:
                call.output_tokens = estimate_tokens(reply.texts)
        return reply

    async def embed(self, texts: Sequence[str], meter: Meter) -> list[list[float]]:
        """Vectors of `texts` from the server's embedding model.

        Raises:
            JudgeError: As for `chat`.
        """
        payload = {
            "model": self._options.embedding_model,
            # Half a surrogate pair is text to Python and an error to every encoder.
            "input": [text.encode("utf-8", "replace").decode() for text in texts],
            "encoding_format": "float",
        }
        sent = _expected(texts)
        async with meter.call(sent) as call:
            raw = await self._post("/embeddings", payload)
            usage = _usage(raw, "prompt_tokens")
            call.used(sent if usage is None else usage, 0)
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
                path, cast_to=httpx.Response, body=dict(payload), options=self._without_key()
            )
        except openai.APITimeoutError as error:
            if type(error.__cause__).__name__ == "ConnectTimeout":  # of whichever HTTP library
                raise JudgeUnavailable(
                    "cannot reach {address}: no connection", address=self._address.shown
                ) from None
            raise JudgeTimeout from None
        except openai.APIStatusError as error:
            raise self._status_error(error) from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, ReplyRefusedError):  # as some versions hand it on
                raise JudgeOutputInvalid(str(error.__cause__)) from None
            reason = presentable(str(error.__cause__ or error), self._address.secrets)
            raise JudgeUnavailable(
                "cannot reach {address}: {reason}", address=self._address.shown, reason=reason
            ) from None
        except ReplyRefusedError as error:
            raise JudgeOutputInvalid(str(error)) from None
        return self._read(response)

    def _read(self, response: httpx.Response) -> Mapping[str, Any]:
        """The body of a response with status 200 as one object, where it holds no error."""
        kind = response.headers.get("content-type", "")
        try:
            text = response.content.decode(response.charset_encoding or "utf-8", "replace")
            text = text.lstrip("\ufeff")
            raw: Any = gathered(text) if is_stream(kind, text) else json.loads(text)
        except (ValueError, LookupError, RecursionError):
            message = presentable(
                parse_error_body(response.content).sentence, self._address.secrets, _SHOWN
            )
            raise JudgeOutputInvalid(
                "the response is not JSON but {reason}", reason=message or Message("empty")
            ) from None
        if not isinstance(raw, Mapping):
            error_body = parse_error_body(response.content)
            if not error_body.messages:
                raise JudgeOutputInvalid("the response is not a JSON object")
        elif (stated := error_in(raw)) is None:
            return raw
        else:
            error_body = stated
        raise error_of(200, error_body, response.headers, self._address.secrets)

    def _status_error(self, error: openai.APIStatusError) -> Exception:
        response = error.response
        words = parse_error_body(response.content)
        return error_of(error.status_code, words, response.headers, self._address.secrets)

    def _without_key(self) -> Any:
        """Options of a request to a server that wants no key, or gets it by another header."""
        named = any(name.lower() == "authorization" for name in self._address.headers)
        if self._address.key or named:
            return {}
        return {"headers": {"Authorization": self._openai.Omit()}}

    def _connected(self) -> openai.AsyncOpenAI:
        if self._client is None:
            longest, openai = self._options.limits.attempt_timeout_s, self._openai
            self._client = openai.AsyncOpenAI(
                base_url=self._address.base,
                api_key=self._address.key or "none",
                # Half the time without a connection: nothing was sent, so nothing counts as used.
                timeout=openai.Timeout(longest, connect=longest / 2),
                max_retries=0,
                default_headers={"Accept-Encoding": ENCODING, **self._address.headers},
                default_query=dict(self._address.query),
                http_client=openai.DefaultAsyncHttpxClient(event_hooks={"response": [bound]}),
            )
        return self._client


_SHOWN: Final = 120
"""Characters of a response that is none, in a message."""


def _expected(texts: Iterable[str]) -> int:
    """A guess at the tokens of a prompt with its chat template."""
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
        raise JudgeOutputInvalid(
            "{there} embeddings for {count} texts", there=len(vectors), count=count
        )
    return vectors
