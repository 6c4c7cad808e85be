"""Models that think before they reply: which part of a reply that is, and whether it was all.

Some servers put the thoughts beside the reply (`reasoning_content`, `reasoning`), some only count
them, some leave them in front of it: between tags, of which the first may stand in the prompt, or
in channels of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

BESIDE: Final = ("reasoning_content", "reasoning", "thinking")
"""Fields of a message that hold its thoughts."""
THOUGHT_PARTS: Final = frozenset({"thinking", "reasoning", "redacted_thinking"})
"""Types of parts of a message that are thoughts."""

_NAME: Final = (
    r"(?:[a-z]+[:_])?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflect(?:ion)?|analysis|scratchpad"
    r"|monologue|cot|思考|推理|分析)(?:[_-][a-z]+)*"
)
_OPENS: Final = re.compile(
    rf"<{_NAME}(?:\s[^<>]*)?>|\[THINK(?:ING)?\]|◁think▷"
    rf"|<\|(?:begin_of_|start_)?{_NAME}\|>"
    r"|<\|channel\|?>\s*(?:analysis|commentary|thought)\b|<unused94>",
    re.IGNORECASE,
)
_CLOSES: Final = re.compile(
    rf"</{_NAME}\s*>|\[/THINK(?:ING)?\]|◁/think▷|<\|/{_NAME}\|>|<\|end_(?:of_)?{_NAME}\|>"
    rf"|<channel\|>|<unused95>",
    re.IGNORECASE,
)
_CHANNEL_ENDS: Final = re.compile(r"<\|(?:end|return)\|>|(?=<\|start\|>)|(?=<\|channel\|>)")
_CALL: Final = re.compile(r"<\|channel\|>\s*commentary\b[^<]*\bto=", re.IGNORECASE)
"""A tool call in the channels of gpt-oss, which is the reply where we asked for one."""
_TAG: Final = re.compile(r"<([^\s<>|]+)[\s>]")
_ROUNDS: Final = 20
"""Stretches of thoughts that are left out of one reply."""


def without_thoughts(content: str) -> str:
    """What follows the thoughts; the reply itself where none stand before it.

    Nothing is looked for in a reply that begins as an object. Thoughts without an end leave
    nothing: the reply was cut before it began.
    """
    text = content
    for _ in range(_ROUNDS):
        rest = _next(text)
        if rest is None:
            return text
        text = rest
    return ""


def _next(text: str) -> str | None:
    """The text without its first thoughts; None: it has none."""
    if text.lstrip(" \t\r\n\ufeff").startswith(("{", "｛")):
        return None
    opened = _OPENS.search(text)
    start = len(text) if opened is None else opened.start()
    closings = list(_CLOSES.finditer(text, 0, start))
    if closings:  # the tag that opens these stands in the prompt
        return text[closings[-1].end() :]
    if opened is None or "{" in text[:start]:
        return None
    if not opened.group().startswith("<|channel|>"):
        closed = _own_end(opened) or _CLOSES.search(text, opened.end())
    elif _CALL.match(text, start):
        return None
    else:
        closed = _CHANNEL_ENDS.search(text, opened.end())
    return "" if closed is None else text[:start] + text[closed.end() :]


def _own_end(opened: re.Match[str]) -> re.Match[str] | None:
    """The end tag of the same name: thoughts may hold thoughts of another one."""
    name = _TAG.match(opened.group())
    if name is None:
        return None
    end = re.compile(rf"</{re.escape(name[1])}\s*>", re.IGNORECASE)
    return end.search(opened.string, opened.end())


def has_thought(message: Mapping[str, Any], usage: object) -> bool:
    """Whether the server shows or counts thoughts of this reply."""
    if any(message.get(name) for name in BESIDE):
        return True
    content = message.get("content")
    if isinstance(content, str) and _OPENS.match(content.lstrip()):
        return True
    if isinstance(content, list) and any(_is_thought(part) for part in content):
        return True
    details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
    counted = details.get("reasoning_tokens") if isinstance(details, Mapping) else None
    return type(counted) is int and counted > 0


def _is_thought(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") in THOUGHT_PARTS
