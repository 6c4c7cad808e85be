"""The parts of one chat message: texts, images, thoughts, calls of tools, in every dialect.

Also the fields of a text: DSPy's adapters write `[[ ## question ## ]]` on a line of its own before
each field of a prompt or a reply, and `[[ ## completed ## ]]` after the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


_MARKER: Final = re.compile(r"^[ \t]*\[\[ ## (\w+) ## \]\][ \t]*", re.MULTILINE)
_START: Final = "[[ ## "
_COMPLETED: Final = "completed"
_BESIDE: Final = frozenset({"reasoning", "rationale", "thought", "next_thought", "trajectory",
                            "context", "contexts", "passages", "documents", "history"})  # fmt: skip
"""Fields that are neither question nor answer."""
_QUESTIONS: Final = ("question", "query", "user_query", "user_question", "user_input", "input",
                     "user_message", "message", "request", "问题")  # fmt: skip
_ANSWERS: Final = (
    "answer",
    "final_answer",
    "response",
    "reply",
    "output",
    "result",
    "回答",
    "答案",
)
_INSTRUCTIONS: Final = re.compile(
    r"\n\s*Respond with the corresponding output fields\b.*", re.DOTALL
)
"""What follows the last field of a prompt."""


def question_of(text: str) -> str | None:
    """The question in a prompt; None where fields say nothing of one."""
    return _of(text, _QUESTIONS)


def answer_of(text: str) -> str | None:
    """The answer in a reply; None where fields say nothing of one."""
    return _of(text, _ANSWERS)


def _of(text: str, names: Sequence[str]) -> str | None:
    fields = _fields_in(text)
    if fields is None:
        return text
    named = [fields[name] for name in names if fields.get(name)]
    if named:
        return named[0]
    values = [held for name, held in fields.items() if name not in _BESIDE]
    return values[0] if len(values) == 1 and values[0] else None


def _fields_in(text: str) -> dict[str, str] | None:
    """The fields by their names, in order; None: the text does not begin with a marker."""
    if not text.lstrip().startswith(_START):
        return None
    before, *parts = _MARKER.split(text)
    if before.strip() or not parts:
        return None
    named = zip(parts[::2], parts[1::2], strict=True)
    fields = {name: _INSTRUCTIONS.sub("", held).strip() for name, held in named}
    fields.pop(_COMPLETED, None)
    return fields
