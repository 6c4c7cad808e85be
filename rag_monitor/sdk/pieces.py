"""The text of one piece of a streamed answer, in the shapes that clients and frameworks send."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from rag_monitor.sdk.peek import (
    attributes,
    every,
    field,
    fields_of,
    first,
    holds_fields,
    items_of,
    text_of,
    type_name,
)
from rag_monitor.sdk.text import (
    ASKING,
    MAX_DEPTH,
    ROLE_KEYS,
    TYPE_KEYS,
    answer_of,
    candidate_text,
    choice_text,
    content_text,
    field_text,
    first_choice,
    is_beside,
    last_message,
    message_text,
    place_of,
)

_DELTA_KEYS: Final = ("text", "content", "content_delta", "refusal")
_WHOLE_KEYS: Final = ("output", "messages", "final_output", "generation", "completion", "reply")
_FIELDS: Final = (
    "content", "delta", "text", "answer", "response", "data", "message", "token", "result",
    "generated_text", "outputText", "chunk", "part", "parts", "refusal", *_WHOLE_KEYS,
    "artifact", "答案", "回答", "回复", "内容", "文本",
)  # fmt: skip
_WRITERS: Final = frozenset(ROLE_KEYS) - frozenset(TYPE_KEYS)
_OF_CLIENTS: Final = frozenset(
    {"snapshot", "candidates", "contentBlockDelta", "chunk", "payload"}
)  # fmt: skip
_TELLING: Final = frozenset({*TYPE_KEYS, *ROLE_KEYS, *_OF_CLIENTS})
"""Fields that tell what a piece is."""
_MOST_NAME: Final = 100
_NAME: Final = re.compile(r"[A-Za-z]+(?:[_.-][A-Za-z]+)*")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_MODES: Final = frozenset({"values", "updates", "messages", "custom", "tasks", "debug"})
"""How LangGraph says what a piece is when it sends several kinds."""
_MODELS_SPEAK: Final = ("on_chat_model_stream", "on_llm_stream")
_MODELS_END: Final = ("on_chat_model_end", "on_llm_end")
_REPEATED_CHARS: Final = 16
"""A whole message of more characters that ends what came before repeats it."""

Get = Callable[[str], Any]
Piece = tuple[str | None, bool]
"""Its text, empty or None when it carries none; and whether that is all there is so far."""
_NOTHING: Final[Piece] = (None, False)
_SILENT: Final[Piece] = ("", False)


def chunk_text(chunk: object, *, keys: Sequence[str] = ()) -> str | None:
    """As `read_piece`, where only the text counts."""
    return read_piece(chunk, keys=keys)[0]


def read_piece(
    chunk: object, *, begun: bool = False, keys: Sequence[str] = (), depth: int = 0
) -> Piece:
    """The text of one piece of a streamed answer.

    Knows str, bytes, and the pieces of OpenAI, Anthropic, Gemini, Bedrock, Cohere, Ollama,
    DashScope, LangChain, LangGraph and agents; else dicts or objects with an answer-like field,
    also below `data`.

    Args:
        chunk: The piece.
        begun: Text of the answer came before: a piece that closes it with the whole is left out.
        keys: The fields that hold the text, where the host named them; no other one then does.
        depth: How far below the piece this is.
    """
    text = text_of(chunk)
    if text is not None or chunk is None or depth > MAX_DEPTH:
        return text, False
    if keys:
        return field_text(chunk, keys) or "", False
    if issubclass(type(chunk), tuple):
        return _in_tuple(chunk, begun=begun, depth=depth)
    if type(chunk) is list and len(chunk) == 2:  # as JSON has the tuples of LangGraph
        return _in_tuple(tuple(chunk), begun=begun, depth=depth)
    fields = attributes(chunk)
    choices = fields.get("choices")
    if choices is not None:
        return _of_choice(first_choice(choices))
    if not _TELLING.isdisjoint(fields):
        named = _by_name(fields, begun=begun)
        if named is not None:
            return named
    return _by_field(chunk, fields.get, begun=begun, depth=depth)


def _of_choice(choice: object) -> Piece:
    if place_of(choice):
        return _SILENT  # the user gets the first of several
    delta = field(choice, "delta")
    if delta is not None:
        text = field(delta, "content")
        if type(text) is str and text:
            return text, False
    return choice_text(choice), delta is None and field(choice, "text") is None


def remainder(text: str, before: str) -> str:
    """What a whole adds to what came before: nothing where it repeats that, its end, or all."""
    if text.startswith(before):
        return text[len(before) :]
    closing = text.strip()
    return "" if len(closing) > _REPEATED_CHARS and before.rstrip().endswith(closing) else text


def _in_tuple(chunk: Any, *, begun: bool, depth: int) -> Piece:
    """A named tuple, a piece with something beside it, or one behind the name of its kind."""
    names = fields_of(type(chunk))
    if names is not None:
        fields = dict(zip(names, tuple.__iter__(chunk), strict=False))
        return read_piece(fields, begun=begun, depth=depth + 1)
    items = [item for item in items_of(chunk) if not _is_namespace(item)]
    # A number of a token's, such as how likely it is, stands behind the text, not behind a kind.
    mode = text_of(items[0]) if len(items) == 2 and type(items[1]) is not float else None
    if mode in _MODES:
        text, whole = read_piece(items[1], begun=begun, depth=depth + 1)
        return ("" if mode in ("tasks", "debug") else text), whole or mode in ("values", "updates")
    if mode is not None and _NAME.fullmatch(mode):
        if is_beside(mode, begun=True):
            return _SILENT
        if mode.lower() in _FIELDS:
            return read_piece(items[1], begun=begun, depth=depth + 1)
        if holds_fields(items[1]):  # a node of a graph, and what it changed
            change = read_piece(items[1], begun=begun, depth=depth)
            if change[0] is not None:
                return change
    for item in items:
        piece = read_piece(item, begun=begun, depth=depth + 1)
        if piece[0] is not None:
            return piece
    return _NOTHING


def _is_namespace(item: Any) -> bool:
    """Where in a graph a piece of LangGraph's comes from: a tuple of names."""
    return type(item) is tuple and all(type(name) is str for name in item)


def _by_name(fields: Mapping[str, Any], *, begun: bool) -> Piece | None:
    """A piece that says what it is; None where its fields decide."""
    get = fields.get
    for key in TYPE_KEYS:
        value = get(key)
        text = None if value is None else text_of(value)
        if text is not None and (speaks := _speaks(text[:_MOST_NAME], begun)) is not None:
            return None if speaks else _SILENT
    if not _WRITERS.isdisjoint(fields):
        for value in every(fields, ROLE_KEYS):
            role = text_of(value)
            if role is not None and role.lower() in ASKING:
                return _SILENT
    return None if _OF_CLIENTS.isdisjoint(fields) else _of_a_client(get)


@lru_cache(256)
def _speaks(name: str, begun: bool) -> bool | None:
    """Whether a piece of that name holds text of the answer; None where that does not tell."""
    if name.startswith("on_"):  # of LangChain: each part of a chain passes the model's on
        return name in _MODELS_SPEAK or (name in _MODELS_END and not begun)
    return False if is_beside(name, begun=begun) or name.lower() in ASKING else None


def _of_a_client(get: Get) -> Piece | None:
    """A piece with all the text so far beside it, or one of Gemini's or Bedrock's."""
    snapshot = get("snapshot")
    if type(snapshot) is str:
        return snapshot, True
    candidates = get("candidates")
    if issubclass(type(candidates), list):
        another = place_of(first_choice(candidates))
        return ("" if another else candidate_text(candidates)), False
    choices = first(get("payload"), ("choices",))
    if choices is not None:  # Spark's
        return content_text(first(choices, ("text",))) or "", False
    block = get("contentBlockDelta")
    if block is not None:
        return text_of(first(first(block, ("delta",)), ("text",))) or "", False
    chunk = get("chunk")
    blob = None if chunk is None else text_of(first(chunk, ("bytes",)))
    # a model's are JSON, and so an event; an agent's are the text
    return None if blob is None else _NOTHING if blob.startswith("{") else (blob, False)


def _by_field(chunk: object, get: Get, *, begun: bool, depth: int) -> Piece:
    for key in _FIELDS:
        value = get(key)
        if value is None:
            continue
        if key == "data" and text_of(value) is not None:
            return _NOTHING  # an event, whose text may be JSON: see `event_frame`
        if type(value) is str:
            return value, begun and _is_whole(chunk, get, key)
        text, whole = _under(key, value, begun=begun, depth=depth)
        if text is not None:
            return text, whole or (begun and _is_whole(chunk, get, key))
    if type(chunk) is dict and depth == 0:  # the updates of a graph's nodes
        return answer_of(chunk), True
    return _NOTHING


def _under(key: str, value: Any, *, begun: bool, depth: int) -> Piece:
    text = text_of(value)
    if text is not None:
        return text, False
    if issubclass(type(value), list):
        if key == "messages":
            return last_message(value), True
        return (None if key == "data" else content_text(value)), False
    if key == "delta":
        return _of_delta(value)
    if key == "token" and field(value, "special") is True:
        return _SILENT  # ends a text, and is none
    if key in ("content", "parts"):
        return content_text(value) or text_of(first(value, ("text",))), False
    if key == "message":
        return message_text(value), False
    return read_piece(value, begun=begun, depth=depth + 1)


def _of_delta(delta: Any) -> Piece:
    if any(is_beside(name, begun=False) for name in every(delta, TYPE_KEYS)):
        return _SILENT
    for value in every(delta, _DELTA_KEYS):
        text = content_text(value)
        if text is not None:
            return text, False
    message = first(delta, ("message",))  # Cohere
    if message is None:
        return _NOTHING
    content = first(message, ("content",))
    text = content_text(content)
    return (text_of(first(content, ("text",))) if text is None else text), False


def _is_whole(chunk: object, get: Get, key: str) -> bool:
    """Whether a piece holds a message, not a part of one: it may repeat what came before."""
    if key in _WHOLE_KEYS:
        return True
    if key == "message":
        return get("done") is None  # Ollama's says whether it is the last
    if key != "content":
        return False
    if get("author") is not None:
        return get("partial") is not True  # Google's ADK
    kind = text_of(get("type"))
    if kind is None or type_name(chunk).endswith("Chunk"):
        return False
    return kind == "ai" or kind.endswith("Message")


def event_frame(chunk: object) -> str | None:
    """A piece made to become a server-sent event (`{"event": …, "data": …}`) as that event.

    Web frameworks take such dicts and objects and write the event themselves.
    """
    data = text_of(first(chunk, ("data", "raw_data")))
    if data is None:
        data = text_of(first(first(chunk, ("chunk",)), ("bytes",)))
    if data is None:
        return None
    name = text_of(first(chunk, ("event",)))
    head = f"event: {name}\n" if name else ""
    return head + "".join(f"data: {line}\n" for line in _LINE_END.split(data)) + "\n"
