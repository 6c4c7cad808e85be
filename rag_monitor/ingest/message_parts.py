"""The parts of one chat message: texts, images, thoughts, calls of tools, in every dialect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

_TYPE_KEYS: Final = ("type", "part_kind", "block_type", "kind")
_TEXT_TYPES: Final = frozenset(
    {"text", "input_text", "output_text", "refusal", "user-prompt", "system-prompt"}
)
_TEXT_KEYS: Final = ("text", "content", "refusal", "value")
_CALLS: Final = frozenset(
    {"tool_calls", "toolCalls", "tool_call", "tool-call", "tool_use", "toolUse", "function_call",
     "functionCall", "server_tool_call", "server_tool_use", "mcp_call"}
)  # fmt: skip
"""Names of members, and values of the type."""
_OTHER_TYPES: Final = frozenset(
    {"image", "image_url", "input_image", "input_audio", "audio", "video", "file", "input_file",
     "document", "blob", "uri", "reasoning", "reasoning_text", "thinking", "redacted_thinking",
     "tool_result", "tool_call_response", "tool-return", "compaction"}
)  # fmt: skip
_OTHER_KEYS: Final = frozenset(
    {"toolResult", "tool_result", "functionResponse", "function_response", "reasoningContent",
     "inlineData", "inline_data", "fileData", "file_data", "image", "cachePoint"}
)  # fmt: skip
_BESIDE_TEXT: Final = frozenset(
    {"text", "annotations", "cache_control", "citations", "logprobs", "meta", "thought"}
)


def joined(parts: Iterable[object]) -> str:
    """What the parts say, in one."""
    return "".join(_texts(parts))


def _texts(parts: Iterable[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping) and _speaks(part):
            for key in _TEXT_KEYS:
                text = part.get(key)
                if isinstance(text, Mapping):  # of OpenAI's assistants
                    text = text.get("value")
                if isinstance(text, str):
                    yield text
                    break


def _type_of(part: Mapping[str, Any]) -> str | None:
    name = next((part[key] for key in _TYPE_KEYS if part.get(key)), None)
    return name if isinstance(name, str) else None


def _speaks(part: Mapping[str, Any]) -> bool:
    """Whether the part is what is said: no thought, no image, no call of a tool."""
    kind = _type_of(part)
    return part.get("thought") is not True and (kind is None or kind.lower() in _TEXT_TYPES)


def is_text_part(part: Mapping[str, Any]) -> bool:
    """Whether the object says itself that it is a text."""
    kind = _type_of(part)
    return kind is not None and kind.lower() in _TEXT_TYPES and any(k in part for k in _TEXT_KEYS)


def is_part(item: object) -> bool:
    """Whether that is a part of a message, and hardly anything that a person would write."""
    if not isinstance(item, Mapping):
        return False
    kind = _type_of(item)
    if kind is not None:
        return is_text_part(item) or kind in _OTHER_TYPES or kind in _CALLS
    if isinstance(item.get("text"), str):
        return item.keys() <= _BESIDE_TEXT
    return any(item.get(key) for key in (_OTHER_KEYS | _CALLS) & item.keys())


def calls_tool(item: object) -> bool:
    """Whether a part or a message calls a tool."""
    if not isinstance(item, Mapping):
        return False
    return _type_of(item) in _CALLS or any(item.get(key) for key in _CALLS & item.keys())
