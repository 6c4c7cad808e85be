"""What a server can do, found out by asking, and remembered per server and model.

A request that a server refuses is tried in the next simpler form; only a form that worked is
remembered, so one odd trace cannot degrade the judge for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rag_monitor.judges.limits import Deadline, Limits
from rag_monitor.judges.openai_compatible.adaptations import Capabilities, Shape, adapted
from rag_monitor.judges.openai_compatible.chat_reply import ChatReply
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions
from rag_monitor.judges.openai_compatible.refused import ReplyCut, RequestRefused, TooLong
from rag_monitor.judges.openai_compatible.scoring_methods import (
    ScoringMethod,
    forget_scoring_methods,
    label_fields,
)
from rag_monitor.judges.openai_compatible.transport import ChatMessage, ChatTransport

__all__ = ["AdaptiveChat", "Capabilities", "Shape", "forget"]

_CAPABILITIES: dict[tuple[str, str], Capabilities] = {}
_TOOL_NAME: Final = "record"
_MORE_ROOM: Final = {0: 4_096, 4_096: 16_384}
_LIMITS: Final = frozenset({"max_tokens", "max_completion_tokens"})


class AdaptiveChat:
    """Sends chat requests in the richest form the server takes."""

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
        return _CAPABILITIES.get(self._key, Capabilities())

    async def structured(
        self,
        messages: Sequence[ChatMessage],
        schema: Mapping[str, Any],
        max_tokens: int,
        deadline: Deadline,
        meter: Meter,
    ) -> ChatReply:
        """A reply that ought to hold an object of `schema`; the caller checks it.

        A model that spends the room for its reply on thoughts is given more, which is remembered.

        Raises:
            ReplyCut: Its thoughts fill all the room that it can be given.
            JudgeError: No reply, or the server refuses every form (`TooLong` for size).
        """
        room: int | None = self.capabilities.room
        tried = 0
        while room is not None:

            def body(current: Capabilities, more: int = room) -> dict[str, Any]:
                return _limited(current, max_tokens + more) | _shape(current.shape, schema)

            try:
                reply = await self._send(messages, body, deadline, meter)
            except TooLong:
                if room <= self.capabilities.room:
                    raise
                break  # what does not fit is the room, not the trace
            if not _lost_in_thought(reply):
                if room > self.capabilities.room:
                    _CAPABILITIES[self._key] = replace(self.capabilities, room=room)
                return reply
            tried = max_tokens + room
            # A limit of the operator's stands; the same request would bring the same.
            room = None if _LIMITS & self._options.extra_body.keys() else _MORE_ROOM.get(room)
        raise ReplyCut(
            "the model thought for all of the {tokens} tokens it was given and did not reply; "
            "turn its thinking off, or give it more by max_completion_tokens in extra_body",
            tokens=tried,
        )

    async def one_token(
        self, messages: Sequence[ChatMessage], deadline: Deadline, meter: Meter
    ) -> ChatReply:
        """The first token of the reply with its alternatives, where the server gives them.

        Raises:
            JudgeError: As for `structured`.
        """

        def body(current: Capabilities) -> dict[str, Any]:
            fields = _limited(current, 1)
            if current.top_logprobs:
                fields |= {"logprobs": True, "top_logprobs": current.top_logprobs}
            return fields

        return await self._send(messages, body, deadline, meter)

    async def label_token(
        self,
        messages: Sequence[ChatMessage],
        method: ScoringMethod,
        deadline: Deadline,
        meter: Meter,
    ) -> ChatReply:
        """The first token with the logprobs of the labels of `method` and no others.

        Raises:
            JudgeError: As for `structured`; nothing simpler is tried.
        """
        current = self.capabilities
        fields = self._fields(current, _limited(current, 1) | label_fields(method))
        return await self._limits.call(
            lambda: self._transport.chat(_turns(messages, current), fields, meter), deadline
        )

    async def _send(
        self, messages: Sequence[ChatMessage], body: Any, deadline: Deadline, meter: Meter
    ) -> ChatReply:
        current = self.capabilities
        while True:
            turns = _turns(messages, current)
            fields = self._fields(current, body(current))

            async def attempt(
                turns: Sequence[ChatMessage] = turns, fields: dict[str, Any] = fields
            ) -> ChatReply:
                return await self._transport.chat(turns, fields, meter)

            try:
                reply = await self._limits.call(attempt, deadline)
            except TooLong:
                raise
            except RequestRefused as error:
                lower = adapted(current, {"messages": turns, **fields}, error.words)
                if lower is None:
                    raise
                current = lower
            else:
                _CAPABILITIES[self._key] = current
                return reply

    def _fields(self, current: Capabilities, own_fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request besides model and messages; the operator's own win."""
        fields = dict(own_fields)
        if current.thinking_off:
            fields["enable_thinking"] = False
        if current.stream:
            fields["stream"] = True
            if current.stream_usage:
                fields["stream_options"] = {"include_usage": True}
        return fields | dict(self._options.extra_body)


def _lost_in_thought(reply: ChatReply) -> bool:
    """Whether the limit was reached before the reply was complete, and thoughts are the reason."""
    return reply.cut and (reply.thought or not reply.content.strip())


def forget() -> None:
    """Forget what is known of all servers, e.g. after one was upgraded."""
    _CAPABILITIES.clear()
    forget_scoring_methods()


def _turns(messages: Sequence[ChatMessage], current: Capabilities) -> Sequence[ChatMessage]:
    """The messages; where there is no system role, its text begins the user's turn."""
    if current.system or messages[0]["role"] != "system":
        return messages
    system, user, *rest = messages
    return [{**user, "content": f"{system['content']}\n\n{user['content']}"}, *rest]


def _limited(current: Capabilities, max_tokens: int) -> dict[str, Any]:
    fields: dict[str, Any] = {current.token_limit: max_tokens}
    if current.temperature:
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
