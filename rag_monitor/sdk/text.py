"""Questions and answers in the shapes applications pass around; runs no foreign code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_monitor.sdk.peek import fields_of, first, items_of, peek, text_of, type_name

QUESTION_KEYS: Final = ("question", "query", "input", "prompt", "message", "messages")
ANSWER_KEYS: Final = (
    "answer", "output", "response", "text", "content", "result", "data", "message",
)  # fmt: skip
"""`data` before `message`: of `{"code": 0, "message": "success", "data": …}` it is the answer."""
EVENT_LINES: Final = ("data:", "event:", "id:", "retry:", ":")
"""How the lines of server-sent events begin; the last is a comment."""
_BESIDE: Final = frozenset(
    {
        "reasoning", "thinking", "thought", "tool", "function", "verbose", "follow", "status",
        "progress", "step", "log", "ping", "heartbeat", "source", "sources", "reference",
        "references", "citation", "citations", "document", "documents", "context", "contexts",
        "metadata", "usage", "error", "suggestions",
    }
)  # fmt: skip
"""Words in the name of a piece (`type` or `event`) that is sent beside the answer."""
_CLOSING: Final = frozenset({"done", "completed", "complete", "end", "finish", "finished", "final"})
"""Last words in the name of a piece that says once more what came before."""
_WORDS: Final = re.compile("[a-z]+")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_MOST_NAME: Final = 100
_MAX_DEPTH: Final = 4
_MOST_CHARS: Final = 2**20
"""Joined of the parts of one message; more would be cut afterwards."""


def question_of(args: Sequence[object], kwargs: Mapping[str, object]) -> str | None:
    """The question among a call's arguments.

    The first text argument; else the last user message of a chat list; else a field named like a
    question in a dict or a request body object.
    """
    for value in args:
        if type(value) is str:
            return value
    for value in kwargs.values():
        if type(value) is str:
            return value
    for value in (*args, *kwargs.values()):
        found = question_in(value)
        if found is not None:
            return found
    return None


def question_in(value: Any, keys: Sequence[str] = QUESTION_KEYS, depth: int = 0) -> str | None:
    """The question inside one value: text, a chat list, or something with a question field."""
    text = text_of(value)
    if text is not None or value is None or depth > _MAX_DEPTH:
        return text
    if issubclass(type(value), list):
        return last_user_message(value)
    for key in keys:
        found = first(value, (key,))
        if found is not None:
            text = question_in(found, keys, depth + 1)
            if text is not None:
                return text
    return None


def last_user_message(messages: Any) -> str | None:
    """The newest message of role `user` or `human` in a chat list."""
    for message in reversed(list.__getitem__(messages, slice(-200, None))):
        role = text_of(first(message, ("role", "type")))
        if role in ("user", "human"):
            return content_text(first(message, ("content", "text")))
    return None


def content_text(content: Any, depth: int = 0) -> str | None:
    """Message content: text, or the text parts of a list of parts joined; None: no part has text.

    A part may hold parts of its own, as the messages in the output of OpenAI's Responses API do.
    """
    text = text_of(content)
    if text is not None or not issubclass(type(content), list):
        return text
    parts: list[str] = []
    left = _MOST_CHARS
    known = not list.__len__(content)
    for part in list.__getitem__(content, slice(0, 200)):
        piece = _part_text(part, depth)
        known = known or piece is not None
        if piece:
            parts.append(piece[:left])
            left -= len(piece)
            if left <= 0:
                break
    return "".join(parts) if known else None


def _part_text(part: Any, depth: int) -> str | None:
    piece = text_of(part)
    if piece is None and is_beside(first(part, ("type",)), begun=False):
        return None
    if piece is None:
        piece = text_of(first(part, ("text",)))
    if piece is None and depth < _MAX_DEPTH:
        piece = content_text(first(part, ("content",)), depth + 1)
    return piece


def is_beside(name: object, *, begun: bool) -> bool:
    """Whether a piece of that name adds nothing to the answer.

    Args:
        name: Its `type` or `event`, such as `response.output_text.delta`.
        begun: Text of the answer came before: a closing piece only repeats it.
    """
    text = text_of(name)
    if not text:
        return False
    words = _WORDS.findall(text[:_MOST_NAME].lower())
    return not _BESIDE.isdisjoint(words) or (begun and bool(words) and words[-1] in _CLOSING)


def event_frame(chunk: object) -> str | None:
    """A piece made to become a server-sent event (`{"event": …, "data": …}`) as that event.

    Web frameworks take such dicts and objects and write the event themselves.
    """
    data = text_of(first(chunk, ("data", "raw_data")))
    if data is None:
        return None
    name = text_of(first(chunk, ("event",)))
    head = f"event: {name}\n" if name else ""
    return head + "".join(f"data: {line}\n" for line in _LINE_END.split(data)) + "\n"


def field_text(value: object, keys: Sequence[str]) -> str | None:
    """The text of the first of `keys` that is there; `data.reply` is a field of a field.

    Of a tuple such as `(body, 201)` its first item that has one counts.
    """
    for item in (value, *items_of(value)):
        for key in keys:
            found = first(item, (key,))
            for name in key.split(".") if found is None else ():
                found = first(item if found is None else found, (name,))
                if found is None:
                    break
            text = answer_of(found)
            if text is not None:
                return text
    return None


def chunk_text(
    chunk: object, *, begun: bool = False, keys: Sequence[str] = (), depth: int = 0
) -> str | None:
    """The text of one piece of a streamed answer; empty or None when it carries none.

    Knows str, bytes, OpenAI chunks (`choices[0].delta.content`, `choices[0].text`), Anthropic
    (`delta.text`), LangChain messages (`.content`), Ollama (`message.content`, `response`) and
    dicts or objects with an answer-like field, also below `data`.

    Args:
        chunk: The piece.
        begun: Text of the answer came before: a piece that closes it with the whole is left out.
        keys: The fields that hold the text, where the host named them; no other one then does.
        depth: How far below the piece this is.
    """
    text = text_of(chunk)
    if text is not None or chunk is None or depth > _MAX_DEPTH:
        return text
    if keys:
        return field_text(chunk, keys) or ""
    choices = first(chunk, ("choices",))
    if choices is not None:
        return _choice_text(_first_item(choices))
    if is_beside(first(chunk, ("type", "event")), begun=begun):
        return ""
    return _piece_field(chunk, begun=begun, depth=depth)


def _piece_field(chunk: object, *, begun: bool, depth: int) -> str | None:
    text: str | None = None
    for key in ("content", "delta", "text", "answer", "response", "data", "message", "token"):
        value = first(chunk, (key,))
        if value is None:
            continue
        if key != "data":
            text = content_text(value)
            if text is None:
                text = text_of(first(value, ("content", "text")))
        elif text_of(value) is not None:
            return None  # an event, whose text may be JSON: see `event_frame`
        elif type(value) is not list:
            text = chunk_text(value, begun=begun, depth=depth + 1)
        if text is not None:
            return text
    return None


def _choice_text(choice: object) -> str:
    """Empty where it says only the role, why it ends, or what it thinks."""
    message = first(choice, ("delta", "message"))
    text = content_text(first(message, ("content",)) if message is not None else None)
    return text or text_of(first(choice, ("text",))) or ""


def answer_of(result: object, depth: int = 0, keys: Sequence[str] = ()) -> str | None:
    """The answer inside a handler's return value; None when there is none we know.

    Args:
        result: The value.
        depth: How far below the return value this is.
        keys: The fields that hold it, where the host named them; no other one then does.
    """
    if keys:
        return field_text(result, keys)
    text = text_of(result)
    if text is not None or result is None or depth > _MAX_DEPTH:
        return text
    choice = _first_item(first(result, ("choices",)))
    if choice is not None:
        return chunk_text(result)
    for key in ANSWER_KEYS:
        value = first(result, (key,))
        if value is None:
            continue
        text = None if key == "data" and type(value) is list else content_text(value)
        if text is None:
            text = answer_of(value, depth + 1)
        if text is not None:
            return text
    return _answer_in_tuple(result, depth) if issubclass(type(result), tuple) else None


def _answer_in_tuple(result: Any, depth: int) -> str | None:
    """As `(answer, passages)` and `({"answer": …}, 201)` hold it: the first item with an answer."""
    names = fields_of(type(result))
    if names is not None:
        text = answer_of(dict(zip(names, tuple.__iter__(result), strict=False)), depth + 1)
        if text is not None:
            return text
    for item in items_of(result):
        text = answer_of(item, depth + 1)
        if text is not None:
            return text
    return None


def response_body(result: object) -> bytes | None:
    """The whole body of a response of Starlette's, Django's or Flask's kind.

    Flask's handlers may return it with its status in a tuple.
    """
    if type(result) is dict:
        return None
    for item in items_of(result):
        body = _body_of(item)
        if body is not None:
            return body
    return _body_of(result)


def _body_of(result: object) -> bytes | None:
    body = peek(result, "body")
    if type(body) is bytes and peek(result, "raw_headers") is not None:
        return body
    if "Response" not in type_name(result):
        return None
    for place in ("_container", "response"):
        parts = peek(result, place)
        if type(parts) is list and peek(result, "headers") is not None:
            return b"".join(part for part in parts if type(part) is bytes)
    return None


def _first_item(value: Any) -> Any:
    if issubclass(type(value), list) and list.__len__(value):
        return list.__getitem__(value, 0)
    return None
