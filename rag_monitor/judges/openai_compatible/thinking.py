"""Models that think before they reply: which part of a reply that is, and whether it was all.

Some servers put the thoughts beside the reply (`reasoning_content`, `reasoning`), some only count
them, some leave them in front of it, between tags of which the first may stand in the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_OPENS: Final = "<think>"
_CLOSES: Final = "</think>"
_BESIDE: Final = ("reasoning_content", "reasoning")


def without_thoughts(content: str | None) -> str | None:
    """What follows the thoughts; the reply itself where none stand before it.

    Nothing is searched for within a reply that begins as an object. Thoughts without an end leave
    nothing: the reply was cut before it began.
    """
    if content is None:
        return None
    text = content.lstrip()
    if text.startswith(_OPENS):
        return text.partition(_CLOSES)[2]
    if not text.startswith("{") and _CLOSES in text:
        return text.rpartition(_CLOSES)[2]
    return content


def has_thought(message: Mapping[str, Any], usage: object) -> bool:
    """Whether the server shows or counts thoughts of this reply."""
    if any(message.get(name) for name in _BESIDE):
        return True
    content = message.get("content")
    if isinstance(content, str) and content.lstrip().startswith(_OPENS):
        return True
    details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
    counted = details.get("reasoning_tokens") if isinstance(details, Mapping) else None
    return type(counted) is int and counted > 0
