"""Chat messages of every dialect: who speaks, and what is said.

The one reader of message content, wherever it stands: attributes, events, log records. A message's
text is taken as it is, even if it happens to be JSON: that is what somebody said. Reasoning, calls
of tools and what tools returned are no text of a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rag_monitor.ingest.message_parts import (
    answer_of,
    calls_tool,
    is_part,
    is_text_part,
    joined,
    question_of,
)
from rag_monitor.ingest.values import (
    authored,
    is_nothing,
    is_structure,
    opened,
    present,
    structured,
    whole,
)

_DEPTH: Final = 6


class Speaker(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Message:
    """One message."""

    speaker: Speaker | None
    """None: somebody else, whose texts are neither question nor answer."""
    text: str | None
    """None: the message has none, such as a bare call of a tool."""
    calls_tool: bool = False
    """More is to come before the answer."""
    piece: bool = False
    """It may be a piece of a stream: it says itself that nothing finished it."""


_SPEAKERS: Final[Mapping[str, Speaker]] = {
    "user": Speaker.USER,
    "human": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "ai": Speaker.ASSISTANT,
    "model": Speaker.ASSISTANT,
    "chatbot": Speaker.ASSISTANT,
    "bot": Speaker.ASSISTANT,
    "gpt": Speaker.ASSISTANT,
    "unknown": Speaker.ASSISTANT,  # so OpenLLMetry writes it of streamed answers
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
    "observation": Speaker.TOOL,
}
_WORD: Final = re.compile(r"[a-z]+")
_CLASS_ENDING: Final = re.compile(r"message(chunk)?$")
_CONTENTS: Final = ("parts", "content", "_content", "blocks", "contents", "message", "text")
_WITHIN: Final = ("parts", "content", "blocks", "message")
_BESIDE_ROLE: Final = frozenset({*_CONTENTS, "refusal", "tool_calls", "toolCalls"})
"""One of them stands beside a role, or it is the role of something else."""

_SAYING: Final = frozenset({"content", "message", "parts", "tool_calls", "refusal", "contents"})
_FIELDS: Final = _SAYING | frozenset(
    {"role", "index", "finish_reason", "finishReason", "id", "name", "type", "tool_call_id",
     "annotations", "metadata", "function_call", "audio", "reasoning_content"}
)  # fmt: skip
"""Fields of a message, or of a choice around one."""

_INSTRUCTIONS: Final = (
    "system", "system_instruction", "systemInstruction", "instructions", "preamble",
)  # fmt: skip
_IN_REQUEST: Final = ("messages", "contents", "chat_history", "input", "prompt", "content")
_IN_REPLY: Final = (
    "choices", "candidates", "generations", "output", "message", "content", "messages", "results",
)  # fmt: skip
"""Members that hold messages."""
_REQUEST_TEXTS: Final = ("message", "prompt", "input", "inputText", "contents", "content")
_REPLY_TEXTS: Final = (
    "text", "content", "completion", "response", "output_text", "outputText", "generation",
    "generated_text", "combined_chunk_content",
)  # fmt: skip
"""Members that are the text itself: of Cohere, Ollama, and models on Bedrock."""


def speaker_of(name: object) -> Speaker | None:
    """Whose role that is: `user`, `HumanMessage`, `ChatRole.USER` or `<Role.USER: 'user'>`."""
    for word in _WORD.findall(str(name).lower()):
        speaker = _SPEAKERS.get(_CLASS_ENDING.sub("", word))
        if speaker is not None:
            return speaker
    return None


def role_name(message: Mapping[str, Any]) -> str | None:
    """The role in a chat message of any dialect; None when it is not a message."""
    role = message.get("role", message.get("_role"))
    if isinstance(role, str) and not _BESIDE_ROLE.isdisjoint(message):
        return role
    if message.get("lc") and isinstance(message.get("id"), list) and message["id"]:
        name = str(message["id"][-1])
        return name if "message" in name.lower() else None
    kind = message.get("type")
    if isinstance(kind, str) and ("data" in message or "content" in message):
        return kind if speaker_of(kind) is not None else None
    sender = message.get("from")
    return sender if isinstance(sender, str) and "value" in message else None


def is_message(written: Mapping[str, Any]) -> bool:
    """Whether that is a message, or a choice around one, and no object that somebody writes of."""
    if role_name(written) is not None:
        return True
    if written.keys() <= _FIELDS and not _SAYING.isdisjoint(written):
        return True
    inner = structured(written.get("message"))
    return isinstance(inner, Mapping) and is_message(inner)


def is_pair(item: object) -> bool:
    """Whether that is a message as a role and its text, such as `["user", "How long?"]`."""
    if not isinstance(item, list) or len(item) != 2 or not all(isinstance(x, str) for x in item):
        return False
    return item[0].lower() in _SPEAKERS


def message_of(written: Mapping[str, Any], role: str) -> Message:
    """A chat message, by its fields."""
    fields = written
    for wrapper in ("kwargs", "data"):
        inner = written.get(wrapper)
        if isinstance(inner, Mapping) and "content" in inner:
            fields = inner
            break
    content = next((fields[key] for key in _CONTENTS if fields.get(key)), None)
    if content is None and "from" in fields:
        content = fields.get("value")
    text = text_in(content) or present(fields.get("refusal"))
    opened_content = opened(content)
    parts = opened_content if isinstance(opened_content, list) else []
    calls = calls_tool(fields) or any(map(calls_tool, parts))
    speaker = speaker_of(role)
    if speaker is Speaker.USER and parts and text is None:
        speaker = Speaker.TOOL  # what tools returned comes back in the user's name
    return Message(speaker, text, calls, piece=written.get("finish_reason") == "")


def text_in(content: object) -> str | None:
    """The text of a message's content: a string, a part, or a list of parts."""
    if isinstance(content, str):
        parts = opened(content)
        if isinstance(parts, list) and parts and all(map(is_part, parts)):
            return authored(joined(parts))
        if isinstance(parts, Mapping) and (is_text_part(parts) or role_name(parts) is not None):
            return text_in(parts)
        return authored(content)
    if isinstance(content, Mapping):
        inner = next((content[key] for key in _WITHIN if key in content), None)
        return authored(joined([content])) if inner is None else text_in(inner)
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        return authored(joined(content))
    return None


def messages_in(value: object, speaker: Speaker) -> list[Message]:
    """The messages of a request or a reply of a model, in order.

        >>> sent = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
        >>> [(message.speaker.value, message.text) for message in messages_in(sent, Speaker.USER)]
        [('system', 'Be brief.'), ('user', 'Why?')]

    Args:
        value: The list, the whole request or reply of an API, or one message.
        speaker: Whose text it is where nobody says so: `USER` in a request, `ASSISTANT` in a reply.
    """
    content = opened(value)
    if isinstance(content, str) and is_structure(content):
        return []  # broken
    return list(_messages(content, speaker, 0))


def _messages(value: object, speaker: Speaker, depth: int) -> Iterator[Message]:
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        inner = structured(value)
        if isinstance(inner, Mapping) and role_name(inner) is not None:
            yield from _of_object(inner, speaker, depth)
        else:
            yield Message(speaker, text_in(value))
    elif isinstance(value, Mapping):
        yield from _of_object(value, speaker, depth)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        if value and all(map(_is_plain_part, value)):
            yield Message(speaker, authored(joined(value)), any(map(calls_tool, value)))
            return
        for item in _by_index(value):
            if is_pair(item):
                yield Message(_SPEAKERS[item[0].lower()], text_in(item[1]))
            else:
                yield from _messages(item, speaker, depth + 1)


def _is_plain_part(item: Any) -> bool:
    """Whether it is a part that says nothing of who speaks."""
    return is_part(item) and "part_kind" not in item and role_name(item) is None


def _by_index(items: Sequence[Any]) -> Sequence[Any]:
    """Choices by their index, everything else as it stands."""
    places = [whole(item.get("index")) if isinstance(item, Mapping) else None for item in items]
    if None in places:
        return items
    return [items[at] for at in sorted(range(len(items)), key=lambda at: places[at] or 0)]


def _of_object(value: Mapping[str, Any], speaker: Speaker, depth: int) -> Iterator[Message]:
    role = role_name(value)
    if role is not None:
        yield message_of(value, role)
    elif isinstance(value.get("part_kind"), str):  # Pydantic AI: each part says who speaks
        kind = value["part_kind"]
        yield Message(speaker_of(kind) or speaker, authored(joined([value])), kind == "tool-call")
    elif isinstance(value.get("parts"), list):
        replies = value.get("kind") == "response"
        inner = Speaker.ASSISTANT if replies else speaker
        yield from _messages(value["parts"], inner, depth + 1)
    elif calls_tool(value):
        yield Message(Speaker.ASSISTANT, None, True)
    else:
        yield from _of_call(value, speaker, depth)


def _of_call(value: Mapping[str, Any], speaker: Speaker, depth: int) -> Iterator[Message]:
    """A whole request or reply of an API."""
    config = value.get("config")
    for holder in (config, value) if isinstance(config, Mapping) else (value,):
        for key in _INSTRUCTIONS:
            if holder.get(key):
                yield Message(Speaker.SYSTEM, text_in(holder[key]))
    replies = speaker is Speaker.ASSISTANT
    for key in _IN_REPLY if replies else _IN_REQUEST:
        inner = structured(value.get(key))
        if isinstance(inner, (Mapping, list)) and inner:
            yield from _messages(inner, speaker, depth + 1)
            break
    for key in _REPLY_TEXTS if replies else _REQUEST_TEXTS:
        if isinstance(value.get(key), str) and (text := text_in(value[key])) is not None:
            yield Message(speaker, text)
            break


def user_messages_in(messages: Sequence[Message]) -> tuple[str, ...]:
    """What the user said, in order."""
    texts = (m.text for m in messages if m.speaker is Speaker.USER and m.text is not None)
    questions = (question_of(text) for text in texts)
    return tuple(text for text in questions if text is not None and not is_nothing(text))


def instructed_in(messages: Sequence[Message]) -> str | None:
    """The last text of the system's."""
    texts = [m.text for m in messages if m.speaker is Speaker.SYSTEM and m.text is not None]
    return texts[-1] if texts else None


def reply_in(messages: Sequence[Message]) -> str | None:
    """The answer among the messages of a reply, or at the end of a whole conversation.

    Of several choices it is the first: that is the one users get. Pieces of a stream are no choices
    where the whole follows them. What was said before or beside a call of a tool counts only where
    nothing was said afterwards.
    """
    begin = 0
    for place, message in enumerate(messages):
        if message.calls_tool or message.speaker not in (Speaker.ASSISTANT, None):
            begin = place + 1
    for part in (messages[begin:], messages[::-1]):
        replies = [m for m in part if m.speaker is Speaker.ASSISTANT and m.text is not None]
        if replies:
            return answer_of(next((m for m in replies if not m.piece), replies[0]).text or "")
    return None
