"""Wraps `create` and `parse` of chat completions and responses, and gives the originals back.

`stream` of either goes through `create`.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Final

from openai import AsyncStream, Stream
from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.resources.responses import AsyncResponses, Responses

import rag_monitor as rm
from rag_monitor.sdk.events import EventTrace, never_raise, when_closed

_never_raise = never_raise("openai")
_TEXT_EVENTS = ("response.output_text.delta", "response.refusal.delta")


class Call:
    """A generation step that lasts until its reply is complete.

    Args:
        request: The keyword arguments of `create`.
    """

    def __init__(self, request: Mapping[str, Any]) -> None:
        model = request.get("model")
        self._open = EventTrace("openai").open(
            rm.generation(model if isinstance(model, str) else None)
        )
        self._parts: list[str] = []
        self._done = False

    @_never_raise
    def replied(self, reply: Any) -> None:
        """A complete reply: a chat completion or a response."""
        text = getattr(reply, "output_text", None)
        choices = getattr(reply, "choices", None)
        if text is None and choices:
            text = _content_or_refusal(getattr(_first(choices), "message", None))
        for item in getattr(reply, "output", None) or () if text == "" else ():
            for part in getattr(item, "content", None) or ():
                text = text or getattr(part, "refusal", None)
        if isinstance(text, str):
            self._open.step.text = text
        self._describe(reply)

    @_never_raise
    def heard(self, piece: Any) -> None:
        """One streamed event: a chat completion chunk or a response event."""
        delta = getattr(piece, "delta", None)  # responses: response.output_text.delta
        choices = getattr(piece, "choices", None)
        if choices:
            delta = _content_or_refusal(getattr(_first(choices), "delta", None))
        elif getattr(piece, "type", _TEXT_EVENTS[0]) not in _TEXT_EVENTS:
            delta = None
        if isinstance(delta, str) and delta:
            self._open.step.first_token()
            self._parts.append(delta)
        self._describe(getattr(piece, "response", None) or piece)

    @_never_raise
    def ends(self, error: BaseException | None = None) -> None:
        """The reply is complete, or will never be. Only the first call counts."""
        if self._done:
            return
        self._done = True
        if self._parts and self._open.step.text is None:
            self._open.step.text = "".join(self._parts)
        self._open.close(error if not isinstance(error, GeneratorExit) else None)

    def _describe(self, reply: Any) -> None:
        model = getattr(reply, "model", None)
        if isinstance(model, str) and model:
            self._open.step.model = model
        usage = getattr(reply, "usage", None)
        if usage is not None:
            self._open.step.usage(
                _whole(usage, "prompt_tokens", "input_tokens"),
                _whole(usage, "completion_tokens", "output_tokens"),
            )


def _first(choices: Iterable[Any]) -> Any:
    """The first of several choices, in whatever order they come; None: it is not among them."""
    return next((choice for choice in choices if not getattr(choice, "index", 0)), None)


def _content_or_refusal(message: Any) -> Any:
    """What a message or a part of one says, be it that the model declines."""
    return getattr(message, "content", None) or getattr(message, "refusal", None)


@_never_raise
def watch_reply(call: Call, reply: Any) -> None:
    """End the call with its reply, or when the reply's stream has been read.

    The stream stays the client's own object; only what it iterates is watched. Raw responses
    (`with_raw_response`) are timed, not read: reading them is the caller's business.
    """
    if isinstance(reply, Stream):
        reply._iterator = _watch(call, reply._iterator)
        when_closed(reply, call.ends)
    elif isinstance(reply, AsyncStream):
        reply._iterator = _watch_async(call, reply._iterator)
        when_closed(reply, call.ends)
    else:
        call.replied(reply)
        call.ends()


def _watch(call: Call, pieces: Iterator[Any]) -> Iterator[Any]:
    try:
        for piece in pieces:
            call.heard(piece)
            yield piece
    except BaseException as error:
        call.ends(error)
        raise
    finally:
        call.ends()


async def _watch_async(call: Call, pieces: AsyncIterator[Any]) -> AsyncIterator[Any]:
    try:
        async for piece in pieces:
            call.heard(piece)
            yield piece
    except BaseException as error:
        call.ends(error)
        raise
    finally:
        call.ends()


def _whole(source: Any, *names: str) -> int | None:
    for name in names:
        value = getattr(source, name, None)
        if isinstance(value, int):
            return value
    return None


_LOCK: Final = threading.Lock()
_NAMES: Final = ("create", "parse")
_ORIGINALS: Final[dict[tuple[type, str], Any]] = {}


def instrument() -> None:
    """Record the model calls of every OpenAI client, sync and async; again changes nothing.

    A call counts where a trace is current (`@rm.trace`, a middleware, another integration);
    elsewhere it passes untouched. Do not use it together with an integration that records the
    same calls, as LangChain's and LlamaIndex's do: they would count twice.
    """
    with _LOCK:
        if _ORIGINALS:
            return
        for kinds, wrap in (
            ((Completions, Responses), _sync),
            ((AsyncCompletions, AsyncResponses), _async),
        ):
            for kind, name in itertools.product(kinds, _NAMES):
                _ORIGINALS[kind, name] = getattr(kind, name)
                setattr(kind, name, wrap(getattr(kind, name)))


def uninstrument() -> None:
    """Put the originals back; streams that are being read finish as they began."""
    with _LOCK:
        for (kind, name), original in _ORIGINALS.items():
            setattr(kind, name, original)
        _ORIGINALS.clear()


def _sync(original: Any) -> Any:
    @functools.wraps(original)
    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not rm.current():
            return original(self, *args, **kwargs)
        call = Call(kwargs)
        try:
            reply = original(self, *args, **kwargs)
        except BaseException as error:
            call.ends(error)
            raise
        watch_reply(call, reply)
        return reply

    return ask


def _async(original: Any) -> Any:
    @functools.wraps(original)
    async def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not rm.current():
            return await original(self, *args, **kwargs)
        call = Call(kwargs)
        try:
            reply = await original(self, *args, **kwargs)
        except BaseException as error:
            call.ends(error)
            raise
        watch_reply(call, reply)
        return reply

    return ask
