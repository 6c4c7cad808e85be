"""What a server can do, found out by asking, and remembered per server and model.

A request that a server refuses is tried in the next simpler shape; only a shape that worked is
remembered, so one odd trace cannot degrade the judge for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from rag_monitor.judges.limits import Deadline, Limits
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions
from rag_monitor.judges.openai_compatible.refused import ReplyCut, RequestRefused
from rag_monitor.judges.openai_compatible.transport import ChatReply, ChatTransport, Message
from rag_monitor.judges.openai_compatible.ways import Way, forget_ways, label_fields


class Shape(StrEnum):
    """How a structured reply is asked for."""

    JSON_SCHEMA = "json_schema"
    TOOL = "tool"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What works with a server and model, as far as it was tried."""

    shape: Shape = Shape.JSON_SCHEMA
    top_logprobs: int = 20
    """Alternatives per token; 0: the server gives no logprobs."""
    token_limit: str = "max_tokens"  # noqa: S105 - the name of a request field
    temperature: bool = True
    """Whether the server accepts `temperature = 0`."""
    room: int = 0
    """Tokens beyond those of the reply, for a model that thinks before it."""


class TooLong(RequestRefused):
    """The request does not fit into the model's context."""

    reason = "input_too_long"


_TOO_LONG: Final = re.compile(
    r"context.{0,20}(?:length|window|size)|maximum.{0,30}tokens|too (?:long|large|many tokens)"
    r"|exceed.{0,40}(?:length|tokens|limit)|answered 413",
    re.IGNORECASE,
)
_NEXT_SHAPE: Final = {Shape.JSON_SCHEMA: Shape.TOOL, Shape.TOOL: Shape.TEXT}
_NEXT_LOGPROBS: Final = {20: 10, 10: 5, 5: 1, 1: 0}
_KNOWN: dict[tuple[str, str], Capabilities] = {}
_TOOL_NAME: Final = "record"
_MORE_ROOM: Final = {0: 4_096, 4_096: 16_384}
_LIMITS: Final = frozenset({"max_tokens", "max_completion_tokens"})


class AdaptiveChat:
    """Sends chat requests in the richest shape the server takes."""

    def __init__(
        self, options: OpenAICompatibleOptions, transport: ChatTransport, limits: Limits
    ) -> None:
        self._options = options
        self._transport = transport
        self._limits = limits
        self._key = (options.base_url, options.model)

    @property
    def capabilities(self) -> Capabilities:
        """What is known so far; starts hopeful."""
        return _KNOWN.get(self._key, Capabilities())

    async def structured(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        max_tokens: int,
        deadline: Deadline,
        meter: Meter,
    ) -> str | None:
        """The text of a reply that ought to fit `schema`; the caller checks it.

        A model that spends the room for its reply on thoughts is given more, which is remembered.

        Raises:
            ReplyCut: Its thoughts fill all the room that it can be given.
            JudgeError: No reply, or the server refuses every shape (`TooLong` for size).
        """
        room: int | None = self.capabilities.room
        tried = 0
        while room is not None:

            def body(known: Capabilities, more: int = room) -> dict[str, Any]:
                return _common(known, max_tokens + more) | _shape(known.shape, schema)

            try:
                reply = await self._send(messages, body, deadline, meter)
            except TooLong:
                if room <= self.capabilities.room:
                    raise
                break  # what does not fit is the room, not the trace
            if not _lost_in_thought(reply):
                if room > self.capabilities.room:
                    _KNOWN[self._key] = replace(self.capabilities, room=room)
                return reply.content
            tried = max_tokens + room
            # A limit of the operator's stands; the same request would bring the same.
            room = None if _LIMITS & self._options.extra_body.keys() else _MORE_ROOM.get(room)
        raise ReplyCut(
            f"the model thought for all of the {tried} tokens it was given and did not reply; turn "
            "its thinking off, or give it more by max_completion_tokens in extra_body"
        )

    async def one_token(
        self, messages: Sequence[Message], deadline: Deadline, meter: Meter
    ) -> ChatReply:
        """The first token of the reply with its alternatives, where the server gives them.

        Raises:
            JudgeError: As for `structured`.
        """

        def body(known: Capabilities) -> dict[str, Any]:
            fields = _common(known, 1)
            if known.top_logprobs:
                fields |= {"logprobs": True, "top_logprobs": known.top_logprobs}
            return fields

        return await self._send(messages, body, deadline, meter)

    async def label_token(
        self, messages: Sequence[Message], way: Way, deadline: Deadline, meter: Meter
    ) -> ChatReply:
        """The first token with the logprobs of the labels of `way` and no others.

        Raises:
            JudgeError: As for `structured`; nothing simpler is tried.
        """
        fields = _common(self.capabilities, 1) | label_fields(way) | dict(self._options.extra_body)
        try:
            return await self._limits.call(
                lambda: self._transport.chat(messages, fields, meter), deadline
            )
        except RequestRefused as error:
            raise named_refusal(error) from None

    async def _send(
        self, messages: Sequence[Message], body: Any, deadline: Deadline, meter: Meter
    ) -> ChatReply:
        known = self.capabilities
        while True:
            fields = body(known) | dict(self._options.extra_body)

            async def attempt(fields: dict[str, Any] = fields) -> ChatReply:
                return await self._transport.chat(messages, fields, meter)

            try:
                reply = await self._limits.call(attempt, deadline)
            except RequestRefused as error:
                lower = _simpler(known, fields, str(error))
                if lower is None:
                    raise
                known = lower
            else:
                _KNOWN[self._key] = known
                return reply


def _lost_in_thought(reply: ChatReply) -> bool:
    """Whether the limit was reached before the reply was complete, and thoughts are the reason."""
    return reply.cut and (reply.thought or not (reply.content or "").strip())


def named_refusal(error: RequestRefused) -> RequestRefused:
    """`TooLong` where the server says so, else the error itself."""
    return TooLong(str(error)) if _TOO_LONG.search(str(error)) else error


def forget() -> None:
    """Forget what is known of all servers, e.g. after one was upgraded."""
    _KNOWN.clear()
    forget_ways()


def _common(known: Capabilities, max_tokens: int) -> dict[str, Any]:
    fields: dict[str, Any] = {known.token_limit: max_tokens}
    if known.temperature:
        fields["temperature"] = 0
    return fields


def _shape(shape: Shape, schema: Mapping[str, Any]) -> dict[str, Any]:
    if shape is Shape.JSON_SCHEMA:
        named = {"name": _TOOL_NAME, "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    if shape is Shape.TOOL:
        function = {"name": _TOOL_NAME, "parameters": schema}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": _TOOL_NAME}},
        }
    return {}


def _simpler(known: Capabilities, fields: Mapping[str, Any], said: str) -> Capabilities | None:
    """The next simpler shape after the server refused `fields`, or None."""
    lowered = said.lower()
    if "max_completion_tokens" in lowered and "max_tokens" in fields:
        return replace(known, token_limit="max_completion_tokens")  # noqa: S106
    if "temperature" in lowered and "temperature" in fields:
        return replace(known, temperature=False)
    if _TOO_LONG.search(said) and "logprob" not in lowered:
        raise TooLong(said)
    if "logprobs" in fields:
        return replace(known, top_logprobs=_NEXT_LOGPROBS.get(known.top_logprobs, 0))
    if known.shape in _NEXT_SHAPE and ("response_format" in fields or "tools" in fields):
        return replace(known, shape=_NEXT_SHAPE[known.shape])
    return None
