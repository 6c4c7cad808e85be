"""The question inside an input value, the answer inside an output value.

Such a value is what a function was given or returned: a text, chat messages, the arguments by their
names, or an object of a framework's. A structure that holds no question is none, and the same with
answers: it is unknown then, never the structure itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rag_monitor.ingest.event_payloads import (
    contents_of,
    framed_in,
    is_envelope,
    is_framed,
    is_stream,
    is_xml,
    text_in_stream,
    text_in_xml,
)
from rag_monitor.ingest.message_parts import answer_of, is_part, question_of
from rag_monitor.ingest.messages import (
    Message,
    Speaker,
    instructed_in,
    is_pair,
    message_of,
    messages_in,
    reply_in,
    role_name,
    user_messages_in,
)
from rag_monitor.ingest.values import (
    authored,
    is_nothing,
    is_structure,
    opened,
    structured,
)

_DEPTH: Final = 6
_CONVERSATIONS: Final = frozenset(
    {"messages", "contents", "chat_history", "choices", "candidates", "generations", "message"}
)
"""Members that hold chat messages."""
_SILENT: Final = frozenset(
    {"documents", "source_documents", "sources", "source_nodes", "nodes", "context", "contexts",
     "retrieved_documents", "metadata", "meta", "citations", "config"}
)  # fmt: skip
"""Components and members whose texts are passages or settings."""
_CALL: Final = frozenset({"args", "kwargs"})
"""Members of what Langfuse's and OpenLLMetry's decorators write of a function's arguments."""
_LABELS: Final = frozenset(
    {"type", "kind", "schema", "version", "object", "id", "status", "model", "source", "name"}
)
"""Members whose text says what the object is, and nothing that anybody asked."""
_CLASS_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class _Sought:
    """What is looked for, and under which names."""

    speaker: Speaker
    keys: tuple[str, ...]
    """In order of preference."""
    plain: frozenset[str]
    """Those that hold nothing but the text: it may be JSON that somebody wrote."""
    telling: frozenset[str]
    """Those that say enough by themselves, deep within an object or in a list."""

    @property
    def unmarked(self) -> Callable[[str], str | None]:
        """What finds it in a text that is fields under markers."""
        return question_of if self.speaker is Speaker.USER else answer_of

    def narrow(self) -> _Sought:
        """The same under fewer names."""
        return replace(self, keys=tuple(key for key in self.keys if key in self.telling))


_QUESTION: Final = _Sought(
    Speaker.USER,
    (
        "question", "query", "user_query", "user_question", "user_input", "input", "inputs",
        "query_str", "str_or_query_bundle", "query_bundle", "messages", "contents", "message",
        "user_message", "user_prompt", "user_msg", "inputText", "inputTranscript", "prompt", "text",
        "chat_history", "问题", "用户问题", "提问", "查询", "用户输入",
    ),
    plain=frozenset({"question", "user_query", "user_question", "user_input", "user_message",
                     "user_prompt", "user_msg", "query_str", "问题", "用户问题", "提问"}),
    telling=frozenset({"question", "query", "user_query", "user_question", "user_input",
                       "user_msg", "query_str", "messages", "问题", "用户问题", "提问"}),
)  # fmt: skip
_ANSWER: Final = _Sought(
    Speaker.ASSISTANT,
    (
        "answer", "final_answer", "final_output", "output", "outputs", "output_text", "response",
        "response_txt", "result", "completion", "reply", "replies", "answers", "text", "content",
        "messages", "message", "generations", "choices", "candidates", "generated_text", "raw",
        "回答", "答案", "回复",
    ),
    plain=frozenset(),
    telling=frozenset({"answer", "final_answer", "final_output", "answers", "reply", "replies",
                       "messages", "message", "choices", "generations", "generated_text", "回答",
                       "答案", "回复"}),
)  # fmt: skip


def question_in(value: object, *, lone: bool = False) -> str | None:
    """The user's question inside an input value.

        >>> question_in('{"args": [], "kwargs": {"user_id": 7, "question": "Why?"}}')
        'Why?'

    Args:
        value: The attribute.
        lone: Take the only text of an object whose keys say nothing.
    """
    question = _search(value, _QUESTION, lone=lone, depth=0)
    return None if question is None or is_nothing(question) else question


def answer_in(value: object) -> str | None:
    """The answer inside an output value."""
    return _search(value, _ANSWER, lone=False, depth=0)


def request_of(value: object) -> tuple[tuple[str, ...], str | None]:
    """What the user said in the input of a model call, and the system's instructions."""
    messages = messages_in(value, Speaker.USER)
    user_messages = user_messages_in(messages)
    if not user_messages and (question := question_in(value)) is not None:
        user_messages = (question,)
    return user_messages, instructed_in(messages)


def reply_of(value: object) -> str | None:
    """The answer in the output of a model call."""
    return reply_in(messages_in(value, Speaker.ASSISTANT)) or answer_in(value)


def plain_text(value: object) -> str | None:
    """The value itself, where it is a text: no structure, and no object as a language prints it."""
    text = authored(value)
    return None if text is None or is_structure(opened(text)) else text


def _search(value: object, sought: _Sought, *, lone: bool, depth: int) -> str | None:
    if depth > _DEPTH:
        return None
    written, value = value, opened(value)
    if isinstance(value, str):
        text = None if is_structure(value) else authored(value)
        if text is not None and sought.speaker is Speaker.USER and is_xml(text):
            return text_in_xml(text)
        if sought.speaker is Speaker.ASSISTANT and isinstance(written, str) and is_stream(written):
            return text_in_stream(written)
        return None if text is None else sought.unmarked(text)
    if isinstance(value, Mapping):
        return _search_object(value, sought, lone=lone, depth=depth)
    if isinstance(value, Sequence) and value and not isinstance(value, bytes):
        return _search_list(value, sought, depth)
    return None


def _search_object(
    value: Mapping[str, Any], sought: _Sought, *, lone: bool, depth: int
) -> str | None:
    role = role_name(value)
    if role is not None:
        return _newest([message_of(value, role)], sought)
    if value and value.keys() <= _CALL:
        return _search_call(value, sought, depth)
    if sought.speaker is Speaker.USER and is_envelope(value):
        return _search(contents_of(value), sought, lone=lone, depth=depth + 1)
    if sought.speaker is Speaker.ASSISTANT and is_framed(value):
        return _search(framed_in(value), sought, lone=lone, depth=depth + 1)
    for key in sought.keys:
        if key in value and (text := _member(key, value[key], sought, lone, depth)) is not None:
            return text
    text = _in_components(value, sought, depth)
    return text if text is not None or not lone else _only_text(value)


def _member(key: str, value: object, sought: _Sought, lone: bool, depth: int) -> str | None:
    inner = structured(value)
    if key in _CONVERSATIONS and isinstance(inner, (Mapping, list)):
        newest = _newest(messages_in(inner, sought.speaker), sought)
        if newest is not None or not _is_of_a_chat(inner, sought):
            return newest
    plain = key in sought.plain
    text = _search(inner, sought, lone=lone and not plain, depth=depth + 1)
    if text is None and plain and isinstance(value, str):
        return authored(value)
    return text


def _is_of_a_chat(message: object, sought: _Sought) -> bool:
    """Whether a message says nothing of a role: a chat's bots get it from its users."""
    asks = sought.speaker is Speaker.USER
    return asks and isinstance(message, Mapping) and role_name(message) is None


def _newest(messages: Sequence[Message], sought: _Sought) -> str | None:
    if sought.speaker is Speaker.ASSISTANT:
        return reply_in(messages)
    user_messages = user_messages_in(messages)
    return user_messages[-1] if user_messages else None


def _search_call(call: Mapping[str, Any], sought: _Sought, depth: int) -> str | None:
    """The arguments of a traced function: by name, else the first that says anything."""
    named = _search(call.get("kwargs"), sought, lone=True, depth=depth + 1)
    if named is not None:
        return named
    given = structured(call.get("args"))
    given = list(given) if isinstance(given, list) else []
    if len(given) > 1 and isinstance(given[0], str) and _CLASS_NAME.fullmatch(given[0]):
        del given[0]  # OpenLLMetry writes `self` as the name of its class
    texts = (_search(item, sought, lone=True, depth=depth + 1) for item in given)
    return next((text for text in texts if text is not None), None)


def _in_components(value: Mapping[str, Any], sought: _Sought, depth: int) -> str | None:
    """What all components of a pipeline were given, or the only answer that one of them gave."""
    narrow = sought.narrow()
    texts = {
        text
        for component in _components(value)
        if (text := _search_object(component, narrow, lone=False, depth=depth + 1)) is not None
    }
    return texts.pop() if len(texts) == 1 else None


def _components(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name, member in value.items():
        component = structured(member)
        if isinstance(component, Mapping) and name not in _SILENT:
            yield component


def _only_text(value: Mapping[str, Any]) -> str | None:
    """The only text, of an object that holds nothing else but numbers, and does not label it."""
    texts = [(key, held) for key, held in value.items() if isinstance(held, str)]
    if len(texts) != 1 or any(_holds_fields(held) for held in value.values()):
        return None
    key, text = texts[0]
    return None if key.lower() in _LABELS else plain_text(text)


def _first_of(value: Sequence[Any], sought: _Sought, depth: int) -> str | None:
    """The answer before its passages, as a function returns them together; else nothing."""
    first, *others = value
    beside = isinstance(first, str) and all(isinstance(o, list | Mapping) for o in others)
    if not beside or sought.speaker is Speaker.USER:
        return None
    return _search(first, sought, lone=False, depth=depth + 1)


def _holds_fields(value: object) -> bool:
    inner = value[0] if isinstance(value, list) and value else value
    return isinstance(inner, Mapping)


def _search_list(value: Sequence[Any], sought: _Sought, depth: int) -> str | None:
    """Chat messages, the parts of one, or a list of one. Other lists are passages or the like."""
    objects = [item for item in value if isinstance(item, Mapping)]
    chat = any(role_name(item) is not None for item in objects) or all(map(is_pair, value))
    if chat or all(map(is_part, value)):
        return _newest(messages_in(value, sought.speaker), sought)
    if len(value) > 1 and not all(isinstance(item, list) for item in value):
        return _first_of(value, sought, depth)
    inner = structured(value[0])
    if not isinstance(inner, Mapping):
        return _search(inner, sought, lone=False, depth=depth + 1)
    return _search_object(inner, sought.narrow(), lone=False, depth=depth + 1)
