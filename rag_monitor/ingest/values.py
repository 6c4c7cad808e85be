"""What instrumentations put into attributes, unwrapped to plain text and plain values.

A value may be text, a JSON string, JSON inside JSON, a list of chat messages in four dialects, or
LangChain's serialisation; or a literal that stands for "withheld".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rag_monitor import semconv
from rag_monitor.ingest.cut_json import mended

_DEPTH: Final = 6
_QUESTION_KEYS: Final = (
    "question", "query", "user_query", "user_question", "user_input", "input", "inputs",
    "query_str", "str_or_query_bundle", "query_bundle", "messages", "message", "user_message",
    "user_prompt", "prompt", "text",
)  # fmt: skip
_ANSWER_KEYS: Final = (
    "answer", "final_answer", "output", "outputs", "output_text", "response", "response_txt",
    "result", "completion", "reply", "text", "content", "messages", "message", "generations",
    "choices",
)  # fmt: skip
_CALL: Final = frozenset({"args", "kwargs"})
"""Members of what Langfuse's and OpenLLMetry's decorators write of a function's arguments."""
_CLASS_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9_]*")
_USER_ROLES: Final = frozenset({"user", "human", "humanmessage", "humanmessagechunk"})
_ASSISTANT_ROLES: Final = frozenset(
    {"assistant", "ai", "aimessage", "aimessagechunk", "model", "unknown"}
)
_SYSTEM_ROLES: Final = frozenset({"system", "systemmessage", "developer"})


def present(value: object) -> str | None:
    """The text, or None when it is empty or stands for withheld content."""
    if not isinstance(value, str):
        return None
    stripped = value.strip()
    return None if not stripped or stripped in semconv.WITHHELD else value


def known(value: object) -> str | None:
    """As `present`, for names: instrumentations write `unknown` where they know none."""
    text = present(value)
    return None if text is None or text.strip().lower() == "unknown" else text.strip()


def structured(value: object) -> Any:
    """`value` with JSON strings parsed as long as they hold objects, lists or quoted strings."""
    for _ in range(3):
        if not isinstance(value, str):
            break
        text = value.strip()
        if not text or text[0] not in '{["' or text[-1] not in '}]"':
            break
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            break
        if not isinstance(parsed, (dict, list, str)):
            break
        value = parsed
    return value


def _as_far_as_sent(value: object) -> Any:
    """As `structured`; of JSON that was cut off what is left."""
    found = structured(value)
    left = mended(found.strip()) if isinstance(found, str) else None
    return found if left is None else left


def members(value: object) -> Mapping[str, Any]:
    """`value` as an object; empty when it is not one."""
    found = structured(value)
    return found if isinstance(found, Mapping) else {}


def question_in(value: object, *, lone: bool = False) -> str | None:
    """The user's question inside an input value.

    Args:
        value: The attribute.
        lone: Take the only text of an object whose keys say nothing.
    """
    return _search(value, _QUESTION_KEYS, _USER_ROLES, lone=lone, depth=0)


def answer_in(value: object) -> str | None:
    """The answer inside an output value; an object that means nothing else is the answer itself."""
    parsed = _as_far_as_sent(value)
    found = _search(parsed, _ANSWER_KEYS, _ASSISTANT_ROLES, lone=False, depth=0)
    if found is not None or not isinstance(value, str) or not isinstance(parsed, Mapping):
        return found
    wrapped = any(key in parsed for key in _ANSWER_KEYS) or "<generator object>" in value
    return None if wrapped else present(value)


def _search(
    value: object, keys: tuple[str, ...], roles: frozenset[str], *, lone: bool, depth: int
) -> str | None:
    if depth > _DEPTH:
        return None
    value = _as_far_as_sent(value)
    if isinstance(value, str):
        return present(value)
    if isinstance(value, Mapping):
        return _search_object(value, keys, roles, lone=lone, depth=depth)
    if isinstance(value, Sequence) and value and not isinstance(value, bytes):
        return _search_list(value, keys, roles, depth)
    return None


def _search_object(
    value: Mapping[str, Any],
    keys: tuple[str, ...],
    roles: frozenset[str],
    *,
    lone: bool,
    depth: int,
) -> str | None:
    role = role_of(value)
    if role is not None:
        return message_text(value) if role in roles else None
    if value and value.keys() <= _CALL:
        return _search_call(value, keys, roles, depth)
    for key in keys:
        if key in value:
            found = _search(value[key], keys, roles, lone=lone, depth=depth + 1)
            if found is not None:
                return found
    return _only_text(value.values()) if lone else None


def _search_call(
    call: Mapping[str, Any], keys: tuple[str, ...], roles: frozenset[str], depth: int
) -> str | None:
    """The arguments of a traced function: by name, else the first that says anything."""
    named = _search(call.get("kwargs"), keys, roles, lone=True, depth=depth + 1)
    if named is not None:
        return named
    given = structured(call.get("args"))
    given = list(given) if isinstance(given, list) else []
    if len(given) > 1 and isinstance(given[0], str) and _CLASS_NAME.fullmatch(given[0]):
        del given[0]  # OpenLLMetry writes `self` as the name of its class
    found = (_search(item, keys, roles, lone=True, depth=depth + 1) for item in given)
    return next((text for text in found if text is not None), None)


def _only_text(values: Iterable[object]) -> str | None:
    texts = [value for value in values if isinstance(value, str)]
    return present(texts[0]) if len(texts) == 1 else None


def _search_list(
    value: Sequence[Any], keys: tuple[str, ...], roles: frozenset[str], depth: int
) -> str | None:
    for item in reversed(value):
        item = structured(item)
        if isinstance(item, (Mapping, list)):
            found = _search(item, keys, roles, lone=False, depth=depth + 1)
            if found is not None:
                return found
    if len(value) == 1 and isinstance(value[0], str):
        return present(value[0])
    return None


def role_of(message: Mapping[str, Any]) -> str | None:
    """Who speaks in a chat message of any dialect, lower case; None when it is not a message."""
    role = message.get("role")
    if isinstance(role, str) and ("content" in message or "parts" in message):
        return role.lower()
    if message.get("lc") and isinstance(message.get("id"), list) and message["id"]:
        name = str(message["id"][-1]).lower()
        return name if "message" in name else None
    kind = message.get("type")
    if isinstance(kind, str) and ("data" in message or "content" in message):
        return kind.lower()
    return None


def message_text(message: Mapping[str, Any]) -> str | None:
    """The text of a chat message; None when it has none (a bare tool call)."""
    for wrapper in ("kwargs", "data"):
        inner = message.get(wrapper)
        if isinstance(inner, Mapping) and "content" in inner:
            message = inner
            break
    content = message.get("parts", message.get("content"))
    if isinstance(content, str):
        return present(content)
    if isinstance(content, Sequence):
        return present("".join(_part_texts(content)))
    return None


def _part_texts(parts: Iterable[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping) and part.get("type", "text") in ("text", "output_text"):
            text = part.get("content", part.get("text"))
            if isinstance(text, str):
                yield text


def messages_in(value: object) -> list[Mapping[str, Any]]:
    """The chat messages of an attribute, in order."""
    parsed = _as_far_as_sent(value)
    if isinstance(parsed, Mapping):
        parsed = parsed.get("messages", [parsed])
    if not isinstance(parsed, list):
        return []
    return [item for item in map(structured, parsed) if isinstance(item, Mapping)]


def last_of(messages: Sequence[Mapping[str, Any]], roles: frozenset[str]) -> str | None:
    """The text of the last message that one of `roles` speaks."""
    for message in reversed(messages):
        if role_of(message) in roles:
            text = message_text(message)
            if text is not None:
                return text
    return None


def user_text(value: object) -> str | None:
    """The last user message of a list of messages; a JSON text inside it is read once more."""
    text = last_of(messages_in(value), _USER_ROLES)
    return None if text is None else question_in(text)


def assistant_text(value: object) -> str | None:
    """The last assistant message of a list of messages."""
    return last_of(messages_in(value), _ASSISTANT_ROLES)


def system_text(value: object) -> str | None:
    """The system message of a list of messages."""
    return last_of(messages_in(value), _SYSTEM_ROLES)


def unwrapped(value: object) -> Any:
    """A tool's argument or result without the framework's serialisation around it."""
    for _ in range(_DEPTH):
        value = structured(value)
        if not isinstance(value, Mapping):
            return value
        inner = _inner(value)
        if inner is value:
            return value
        value = inner
    return value


def _inner(value: Mapping[str, Any]) -> Any:
    if value.get("lc") and isinstance(value.get("kwargs"), Mapping):
        return value["kwargs"].get("content", value["kwargs"])
    if isinstance(value.get("data"), Mapping) and "content" in value["data"] and "type" in value:
        return value["data"]["content"]
    framed = "kwargs" in value or "tags" in value or "metadata" in value
    for key in ("inputs", "input_str", "output", "outputs"):
        if key in value and (framed or len(value) == 1):
            return value[key]
    return value


def whole(value: object) -> int | None:
    """A count of tokens; None when it is not a non-negative number."""
    if isinstance(value, str) and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 2**53 else None


def real(value: object) -> float | None:
    """A finite number, also from a numeric string."""
    if isinstance(value, str) and len(value) < 40:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -1e300 < value < 1e300 else None


def first(*values: str | None) -> str | None:
    """The first that is there."""
    return next((value for value in values if value is not None), None)
