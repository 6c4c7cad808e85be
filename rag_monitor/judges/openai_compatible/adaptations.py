"""From a refusal to the next request: what a server says tells what to leave out.

Each adaptation looks at what was sent and at what the server said. The first that has something to
change is tried; what the server then takes is remembered by `capabilities`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final


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
    system: bool = True
    """Whether there is a system role; without it its text begins the user's turn."""
    thinking_off: bool = False
    """Whether `enable_thinking = false` has to be said."""
    stream: bool = False
    """Whether replies come as streams only."""
    stream_usage: bool = True
    """Whether a stream can be asked to count tokens."""


Adaptation = Callable[[Capabilities, Mapping[str, Any], str], Capabilities | None]
"""From what is known, what was sent and what the server said to what to try next."""

_NEXT_SHAPE: Final = {Shape.JSON_SCHEMA: Shape.TOOL, Shape.TOOL: Shape.TEXT}
_NEXT_LOGPROBS: Final = {20: 10, 10: 5, 5: 1, 1: 0}
_NO: Final = r"not|n't|\bno\b|un\w+|invalid|only|must|does ?nt|disabled|不|仅|只|无效|必须"
_NO_SYSTEM: Final = re.compile(
    rf"(?:{_NO}).{{0,60}}\bsystem\b|\bsystem\b.{{0,60}}(?:{_NO})|developer instruction"
    r"|roles? must alternate|(?:one of|either).{0,10}\buser\b.{1,8}assistant"
    r"|only user (?:and|or) assistant|valid roles?\b|[\"']user[\"'].{0,20}"
    r"[\"']assistant[\"']|(?:首|第一)条.{0,12}(?:user|用户)|first message.{0,30}user",
    re.IGNORECASE | re.DOTALL,
)
_TURN: Final = re.compile(
    r"role|message|prompt|instruction|template|[\"']system[\"']|角色|消息|提示", re.IGNORECASE
)
_STREAM_ONLY: Final = re.compile(
    r"stream.{0,40}(?:only|must|required|enable|true|mode)"
    r"|(?:only|must|require\w*|enable|set)\b.{0,40}stream|non-?stream|流式",
    re.IGNORECASE | re.DOTALL,
)


def adapted(
    current: Capabilities, sent: Mapping[str, Any], server_message: str
) -> Capabilities | None:
    """What to try next after the server refused `sent`; None: there is nothing simpler.

    Args:
        current: How it was asked.
        sent: The fields of the request, `messages` among them.
        server_message: The error in its reply.
    """
    tries = (adaptation(current, sent, server_message) for adaptation in _ADAPTATIONS)
    return next((simpler for simpler in tries if simpler is not None), None)


def _token_limit(
    current: Capabilities, sent: Mapping[str, Any], server_message: str
) -> Capabilities | None:
    if "max_completion_tokens" in server_message.lower() and "max_tokens" in sent:
        return replace(current, token_limit="max_completion_tokens")  # noqa: S106
    return None


def _temperature(
    current: Capabilities, sent: Mapping[str, Any], server_message: str
) -> Capabilities | None:
    if "temperature" in server_message.lower() and "temperature" in sent:
        return replace(current, temperature=False)
    return None


def _system(
    current: Capabilities, sent: Mapping[str, Any], server_message: str
) -> Capabilities | None:
    has_one = any(message["role"] == "system" for message in sent["messages"])
    refused = has_one and _NO_SYSTEM.search(server_message) and _TURN.search(server_message)
    return replace(current, system=False) if refused else None


def _thinking(
    current: Capabilities, sent: Mapping[str, Any], server_message: str
) -> Capabilities | None:
    if "enable_thinking" in server_message and "enable_thinking" not in sent:
        return replace(current, thinking_off=True)
    return None


def _stream(
    current: Capabilities, sent: Mapping[str, Any], server_message: str
) -> Capabilities | None:
    if "stream_options" in server_message and "stream_options" in sent:
        return replace(current, stream_usage=False)
    if not sent.get("stream") and _STREAM_ONLY.search(server_message):
        return replace(current, stream=True)
    return None


def _logprobs(
    current: Capabilities, sent: Mapping[str, Any], server_message: str
) -> Capabilities | None:
    del server_message
    if "logprobs" in sent:
        return replace(current, top_logprobs=_NEXT_LOGPROBS.get(current.top_logprobs, 0))
    return None


def _shape(
    current: Capabilities, sent: Mapping[str, Any], server_message: str
) -> Capabilities | None:
    del server_message
    if current.shape in _NEXT_SHAPE and ("response_format" in sent or "tools" in sent):
        return replace(current, shape=_NEXT_SHAPE[current.shape])
    return None


_ADAPTATIONS: Final[tuple[Adaptation, ...]] = (
    _token_limit,
    _temperature,
    _system,
    _thinking,
    _stream,
    _logprobs,
    _shape,
)
