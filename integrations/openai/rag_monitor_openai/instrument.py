"""Wraps `create` and `parse` of chat completions and responses, and gives the originals back.

`stream` of either goes through `create`.
"""

from __future__ import annotations

import functools
import itertools
import threading
from typing import Any, Final

from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.resources.responses import AsyncResponses, Responses

import rag_monitor as rm
from rag_monitor_openai.calls import Call, watch_reply

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
