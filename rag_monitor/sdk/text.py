"""Text and answers in the shapes that applications return; runs no foreign code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from rag_monitor.sdk.peek import every, field, fields_of, first, items_of, peek, text_of, type_name

ANSWER_KEYS: Final = (
    "answer", "final_answer", "output_text", "final_output", "final_response", "output",
    "response", "reply", "completion", "generation", "generated_text", "outputText", "text",
    "content", "parts", "blocks", "_content", "refusal", "result", "raw", "data", "message",
    "messages", "replies", "answers", "outputs", "results", "value", "_store",
    "答案", "回答", "回复",
)  # fmt: skip
"""`data` before `message`: of `{"code": 0, "message": "success", "data": …}` it is the answer."""
_CODE_KEYS: Final = ("code", "errcode", "errno", "error_code", "retcode", "ret", "success")
_COMPONENT_KEYS: Final = ("answers", "replies", "answer", "messages", "output", "response")
"""What a part of a pipeline or a node of a graph leaves that has written the answer."""
CONTENT_KEYS: Final = ("content", "parts", "blocks", "_content", "items", "text", "refusal")
"""What holds the text of a message."""
TYPE_KEYS: Final = ("type", "event", "event_type", "event_kind", "part_kind", "part_delta_kind")
"""What names the kind of a piece or a part."""
EVENT_LINES: Final = ("data:", "event:", "id:", "retry:", ":")
"""How the lines of server-sent events begin; the last is a comment."""
EVENT_NAME_CHARS: Final = max(map(len, EVENT_LINES))
_BESIDE: Final = frozenset(
    {
        "reasoning", "thinking", "thought", "tool", "function", "call", "mcp", "interpreter",
        "arguments", "verbose", "follow", "status", "progress", "step", "log", "ping", "heartbeat",
        "source", "sources", "reference", "references", "citation", "citations", "document",
        "documents", "context", "contexts", "metadata", "usage", "error", "suggestions",
    }
)  # fmt: skip
"""Words in the name of a piece (`type` or `event`) that is sent beside the answer."""
_CLOSING: Final = frozenset({"done", "completed", "complete", "end", "finish", "finished", "final"})
"""Last words in the name of a piece that says once more what came before."""
ASKING: Final = frozenset({"user", "human", "system", "developer", "tool", "function"})
"""Roles whose messages are no answer."""
ROLE_KEYS: Final = ("role", "_role", "type", "source")
CODED_LINE: Final = re.compile(r'[0-9a-k]:(?=["{[])')
_WORDS: Final = re.compile("[a-z]+")
_MOST_NAME: Final = 100
_REPEATED_CHARS: Final = 16
"""So long a piece that comes again is the same text, not one more of it."""
_MOST_MESSAGES: Final = 200
_MOST_PARTS: Final = 20
MAX_DEPTH: Final = 4
_MOST_CHARS: Final = 2**20
"""Joined of the parts of one message; more would be cut afterwards."""


def may_begin_frames(text: str) -> bool:
    """Whether frames around an answer begin so, or may once more of them has come.

    Frames are server-sent events, JSON lines, and the coded lines of the Vercel AI SDK (`0:"…"`).
    """
    start = text.lstrip()[:EVENT_NAME_CHARS]
    if start.startswith((*EVENT_LINES, "{", "[{")) or CODED_LINE.match(start):
        return True
    return any(line.startswith(start) for line in EVENT_LINES)


def without_repetition(pieces: Sequence[str]) -> str:
    """The pieces in one: each may be all the text so far, and the last may repeat it.

    Equal pieces are no repetition: "ha" may come three times.
    """
    if len(pieces) > 2:
        if len(pieces[-1]) > len(pieces[0]) and all(map(_goes_on, pieces[1:], pieces)):
            return pieces[-1]
        before = "".join(pieces[:-1])
        if before == pieces[-1]:
            return before
    return "".join(pieces)


def _goes_on(piece: str, before: str) -> bool:
    """Whether a piece is what came before and more; a long one may also come twice."""
    longer = len(piece) > len(before) or len(piece) > _REPEATED_CHARS
    return longer and piece.startswith(before)


def content_text(content: Any, depth: int = 0) -> str | None:
    """Message content: text, or the text parts of a list of parts joined; None: no part has text.

    A part may hold parts of its own, as the messages in the output of OpenAI's Responses API do,
    and an object may hold the list, as Gemini's content does.
    """
    text = text_of(content)
    if text is not None or content is None:
        return text
    if not issubclass(type(content), list):
        content = first(content, ("parts", "blocks"))
        if not issubclass(type(content), list):
            return None
    parts: list[str] = []
    left = _MOST_CHARS
    any_known = not list.__len__(content)
    for part in list.__getitem__(content, slice(0, 200)):
        piece = _part_text(part, depth)
        any_known = any_known or piece is not None
        if piece:
            parts.append(piece[:left])
            left -= len(piece)
            if left <= 0:
                break
    return "".join(parts) if any_known else None


def _part_text(part: Any, depth: int) -> str | None:
    if type(part) is dict and "thought" not in part:
        kind, piece = part.get("type"), part.get("text")
        if type(kind) is str and kind == "text" and type(piece) is str:  # as nearly all have it
            return piece
    piece = text_of(part)
    if piece is None and (
        is_beside(first(part, TYPE_KEYS), begun=False) or first(part, ("thought",)) is True
    ):
        return None
    if piece is None:
        held = first(part, ("text", "refusal"))
        piece = text_of(held) or text_of(first(held, ("value",)))
    if piece is None and depth < MAX_DEPTH:
        piece = content_text(first(part, ("content", "parts")), depth + 1)
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


def is_asking(message: object) -> bool:
    """Whether a message says by its role that it is the user's, a tool's or the system's."""
    return any(
        (role := text_of(value)) is not None and role.lower() in ASKING
        for value in every(message, ROLE_KEYS)
    )


def message_text(message: object) -> str | None:
    """The text of a message, unless its role says that it is no answer."""
    if is_asking(message):
        return None
    for content in every(message, CONTENT_KEYS):
        text = content_text(content)
        if text is not None:
            return text
    return text_of(message)


def last_message(messages: Any) -> str | None:
    """The text of the last of a list of messages; None while that is a question or a tool's."""
    some = list.__getitem__(messages, slice(-_MOST_MESSAGES, None))
    return message_text(some[-1]) if some else None


def field_text(value: object, keys: Sequence[str]) -> str | None:
    """The text of the first of `keys` that is there; `data.reply` is a field of a field.

    Of a tuple such as `(body, 201)` its first item that has one counts.
    """
    for item in (value, *items_of(value)):
        for key in keys:
            inner = first(item, (key,))
            for name in key.split(".") if inner is None else ():
                inner = first(item if inner is None else inner, (name,))
                if inner is None:
                    break
            text = answer_of(inner)
            if text is not None:
                return text
    return None


def _is_conversation(value: Any) -> bool:
    """Whether a list holds a question, too, and so is no list of parts."""
    return any(map(is_asking, list.__getitem__(value, slice(0, _MOST_PARTS))))


def choice_text(choice: object) -> str:
    """Empty where it says only the role, why it ends, or what it thinks."""
    message = first(choice, ("delta", "message"))
    text = None
    if message is not None:
        text = content_text(first(message, ("content",))) or text_of(first(message, ("refusal",)))
    return text or text_of(first(choice, ("text",))) or ""


def candidate_text(candidates: Any) -> str:
    """The text of the first candidate of Gemini's, without its thoughts."""
    return content_text(first(first_choice(candidates), ("content",))) or ""


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
    if text is not None or result is None or depth > MAX_DEPTH:
        return text
    if issubclass(type(result), list):
        return _answer_in_list(result, depth)
    choice = first_choice(first(result, ("choices",)))
    if choice is not None:
        return choice_text(choice)
    candidates = first(result, ("candidates",))
    if issubclass(type(candidates), list):
        return candidate_text(candidates)
    if is_asking(result):
        return None
    text = _answer_in_fields(result, depth)
    if text is not None:
        return text
    if issubclass(type(result), tuple):
        return _answer_in_tuple(result, depth)
    return _answer_of_component(result, depth)


def _answer_in_fields(result: object, depth: int) -> str | None:
    for key in ANSWER_KEYS:
        value = first(result, (key,))
        if value is None or (key == "message" and _tells_how_it_went(result)):
            continue
        text = _answer_under(key, value, depth)
        if text is not None:
            return text
    return None


def _tells_how_it_went(result: object) -> bool:
    """Whether a message stands beside a code, as interfaces reply: it answers nobody."""
    return type(result) is dict and any(
        type(result.get(name)) in (int, bool) for name in _CODE_KEYS
    )


def _answer_under(key: str, value: Any, depth: int) -> str | None:
    if issubclass(type(value), list):
        if key == "messages" or _is_conversation(value):
            return last_message(value)
        if key in ("replies", "answers", "results"):
            return answer_of(first_item(value), depth + 1)
        return None if key in ("data", "value") else content_text(value)
    text = content_text(value)
    return answer_of(value, depth + 1) if text is None else text


def _answer_in_list(result: Any, depth: int) -> str | None:
    """The last message of a list of them, or the answer of the only item."""
    if any(is_asking(item) for item in list.__getitem__(result, slice(0, 2))):
        return last_message(result)
    item = list.__getitem__(result, 0) if list.__len__(result) == 1 else None
    return None if text_of(item) is not None else answer_of(item, depth + 1)


def _answer_of_component(result: object, depth: int) -> str | None:
    """As the components of a pipeline and the nodes of a graph leave it, by their names."""
    if type(result) is not dict or depth:
        return None
    parts = [part for part in list(result.values())[:_MOST_PARTS] if type(part) is dict]
    for key in _COMPONENT_KEYS:
        for part in reversed(parts):
            value = part.get(key)
            text = None if value is None else _answer_under(key, value, 1)
            if text is not None:
                return text
    return None


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


def response_body(result: object) -> tuple[bytes, str] | None:
    """Body and content type of a whole response of Starlette's, Django's or Flask's kind.

    Flask's handlers may return it with its status in a tuple.
    """
    if type(result) is dict:
        return _body_in(result)
    for item in items_of(result):
        body = _body_of(item)
        if body is not None:
            return body
    return _body_of(result)


def _body_in(result: dict[Any, Any]) -> tuple[bytes, str] | None:
    """The body of what a gateway's function returns, or the content of a bot's message: JSON."""
    body = result.get("body") if "statusCode" in result else None
    if body is None and "msg_type" in result:
        body = result.get("content")
    if type(body) is not str or result.get("isBase64Encoded") is True:
        return None
    return body.encode("utf-8", "replace"), ""  # whatever its headers declare, this is a text


def _body_of(result: object) -> tuple[bytes, str] | None:
    body = peek(result, "body")
    headers = peek(result, "raw_headers")
    if type(body) is bytes and headers is not None:
        return body, _content_type(headers)
    if "Response" not in type_name(result):
        return None
    for place in ("_container", "response"):
        parts = peek(result, place)
        headers = peek(result, "headers")
        if type(parts) is list and headers is not None:
            listed = peek(headers, "_list")  # Werkzeug's; Django's has its pairs in a dict
            if listed is None and type(store := peek(headers, "_store")) is dict:
                listed = list(store.values())
            body = b"".join(part for part in parts if type(part) is bytes)
            return body, _content_type(listed)
    return None


def _content_type(headers: object) -> str:
    """The content type in a list of pairs; empty: none is said."""
    for pair in headers if type(headers) is list else ():
        name, value = (text_of(item) for item in pair) if len(items_of(pair)) == 2 else (None, None)
        if name is not None and value is not None and name.lower() == "content-type":
            return value
    return ""


def first_choice(choices: Any) -> Any:
    """The choice with the lowest index, of those without one the first; None: there is none."""
    choice = first_item(choices)
    if choice is None or list.__len__(choices) == 1:
        return choice
    some = list.__getitem__(choices, slice(_MOST_PARTS))
    return min(some, key=place_of)


def place_of(choice: Any) -> int:
    """Which of several choices that is, from 0."""
    place = None if choice is None else field(choice, "index")
    return place if type(place) is int else 0


def first_item(value: Any) -> Any:
    """The first item of a list; None of anything else."""
    if issubclass(type(value), list) and list.__len__(value):
        return list.__getitem__(value, 0)
    return None
