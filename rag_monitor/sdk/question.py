"""The question in a value: in text, in a chat list, or in a field that is named like one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from rag_monitor.sdk.field_names import QUESTION_NAMES, RANKS, rank_of
from rag_monitor.sdk.peek import attributes, fields_of, first, getter, items_of, text_of
from rag_monitor.sdk.text import content_text

_ENVELOPES: Final = (
    "body", "data", "payload", "request", "params", "variables", "arguments", "state", "event",
    "form", "json", "Body", "detail", "Sns", "Message", "queryStringParameters", "queryParameters",
    "queryString", "Records", "events", "kinesis", "entry", "changes", "value", "messaging",
)  # fmt: skip
"""Fields that a question may stand below, of a list the only item."""
_BY_TOPIC: Final = ("records", "rmqMessagesByQueue")
"""The same with lists by the names of topics or queues."""
_SEALING: Final = frozenset({"body", "data", "payload", "value", "Body", "Message"})
"""Those that may hold JSON in a text."""
_IN_BASE64: Final = frozenset({"data", "value"})
"""Those of them that queues write in base64."""
_OF_A_QUEUE: Final = ("messageId", "partitionKey", "partition", "basicProperties")
"""Fields of a queue's message."""
_ADDRESSES: Final = frozenset({"rawQueryString", "raw_query_string"})
"""What reads like a name of a question, and is a part of an address."""
_OF_HTTP: Final = ("isBase64Encoded", "requestContext", "httpMethod", "rawPath", "headers")
"""Fields of a gateway's event, whose body may be any text."""
_OF_A_BOT: Final = ("message_type", "msg_type")
"""Fields of a chat bot's message, whose content is JSON in a text."""
_SAYS_TEXT: Final = ("content", "text", "parts", "richText", "body")
"""Fields of what is itself named a question: a message, an object around a text."""
_USER: Final = frozenset({"user", "human", "用户"})
_OTHERS: Final = frozenset({"system", "assistant", "tool", "developer"})
_MODELS: Final = frozenset(
    {
        "__pydantic_fields__", "__fields__", "__dataclass_fields__", "__attrs_attrs__",
        "__struct_fields__",
    }
)  # fmt: skip
"""What classes have that are made to hold fields: of Pydantic, dataclasses, attrs, msgspec."""
_UNDECLARED_NAMES: Final = QUESTION_NAMES[: QUESTION_NAMES.index("prompt") + 1]
"""Names that mean a question in an object of any class; `text` and `content` may mean any text."""
_PLACES: Final = {name: rank for rank, name in enumerate(QUESTION_NAMES)}
_QUERY: Final = _PLACES["query"]
_GRAPHQL: Final = re.compile(r"\s*(?:(?:query|mutation|subscription)\b[^{]*)?\{")
_OPENING: Final = frozenset("{[")
_MAX_DEPTH: Final = 4
_MOST_NAMES: Final = 50
_FEW_FIELDS: Final = 20
"""Of more it is quicker to ask for each name."""
_MOST_MESSAGES: Final = 200


class Sealed(str):
    """A text that has the question in it, see `sealed`."""

    __slots__ = ()


class SealedBase64(Sealed):
    """The same in base64."""

    __slots__ = ()


Ranked = tuple[float, str]
"""A question, and the rank of the name under which it stood."""


def question_in(value: Any, keys: Sequence[str] | None = None, depth: int = 0) -> str | None:
    """The question inside one value: text, a chat list, or something with a question field.

    Args:
        value: The value.
        keys: Names of the fields that may hold it, the surest first; None: the known ones.
        depth: How far below the first value this is.
    """
    text = text_of(value)
    if text is not None or value is None or depth > _MAX_DEPTH:
        return text
    if issubclass(type(value), list):
        return last_user_message(value, lone=depth > 0)
    ranked = ranked_in(value, keys, depth)
    if ranked is not None:
        return ranked[1]
    return content_text(first(value, _SAYS_TEXT)) if depth else None


def ranked_in(value: Any, keys: Sequence[str] | None = None, depth: int = 0) -> Ranked | None:
    """The question in a field of a dict or an object, and the rank of the field's name."""
    if issubclass(type(value), list):
        text = last_user_message(value)
        return None if text is None else (RANKS["messages"], text)
    if depth > _MAX_DEPTH:
        return None
    fields, declared = (value, True) if type(value) is dict else _fields_of(value)
    names = keys if keys is not None else QUESTION_NAMES if declared else _UNDECLARED_NAMES
    for rank in _ranks_in(fields) if names is QUESTION_NAMES else range(len(names)):
        inner = fields.get(names[rank])
        if inner is not None:
            if type(inner) is list:  # a chat
                text = last_user_message(inner, lone=True)
            elif type(inner) is str:
                text = inner
                if keys is None and (rank == _QUERY or inner[:1] in _OPENING):
                    text = _unless_beside(inner, fields, names[rank])
            else:
                text = question_in(inner, keys, depth + 1)
            if text is not None:
                return float(rank), text
    return _less_surely_in(fields, depth) if keys is None and declared else None


def _less_surely_in(fields: Mapping[Any, Any], depth: int) -> Ranked | None:
    """The question in a field whose last word names one, or in an envelope."""
    ranked = ((rank_of(name), name) for name in _some_names(fields))
    for rank, name in sorted((rank, name) for rank, name in ranked if rank is not None):
        text = _text_under(fields, name, depth) if name not in _ADDRESSES else None
        if text:
            return rank, text
    for name in (*_ENVELOPES, *_BY_TOPIC):
        inner = fields.get(name)
        if inner is None:
            continue
        if type(inner) is str:
            sealed = _sealed(inner, fields, name) if name in _SEALING else None
            if sealed is not None:
                return RANKS["content"], sealed
            continue
        if type(inner) is dict and name in _BY_TOPIC and len(inner) == 1:
            inner = next(iter(inner.values()))
        if type(inner) is list and len(inner) == 1 and type(inner[0]) is dict:
            inner = inner[0]
        inner_question = ranked_in(inner, None, depth + 1)
        if inner_question is not None:
            return inner_question
    return None


def _sealed(text: str, fields: Mapping[Any, Any], name: str) -> Sealed | None:
    """A text in an envelope that may have the question in it; None: it says nothing of one."""
    if fields.get("isBase64Encoded") is True:
        return SealedBase64(text)
    if text.lstrip()[:1] in _OPENING:
        return Sealed(text)
    queued = any(field in fields for field in _OF_A_QUEUE)
    if queued and name in _IN_BASE64:
        return SealedBase64(text)
    carried = queued or any(field in fields for field in _OF_HTTP)
    return Sealed(text) if text and carried else None


def _is_graphql(text: str, fields: Mapping[Any, Any]) -> bool:
    """Whether a query is one of GraphQL, whose variables are what is asked."""
    beside = "variables" in fields or "operationName" in fields
    return beside and _GRAPHQL.match(text) is not None


def _unless_beside(text: str, fields: Mapping[Any, Any], name: str) -> str | None:
    """A text that looks like JSON: a bot's message, a query of GraphQL beside what was asked."""
    if name == "query" and _is_graphql(text, fields):
        return None
    if name == "content" and any(fields.get(kind) is not None for kind in _OF_A_BOT):
        return Sealed(text)
    return text


def _ranks_in(fields: Mapping[Any, Any]) -> Iterable[int]:
    """The ranks of the question's names that may be among the fields, the surest first."""
    if len(fields) > _FEW_FIELDS:
        return range(len(QUESTION_NAMES))
    ranks = []
    for name in fields:
        if type(name) is not str:  # its own hash and equality are not ours to call
            return range(len(QUESTION_NAMES))
        if name in _PLACES:
            ranks.append(_PLACES[name])
    if len(ranks) > 1:
        ranks.sort()
    return ranks


def _text_under(fields: Mapping[Any, Any], name: str, depth: int) -> str | None:
    inner = fields.get(name)
    if inner is None or (type(inner) is str and _is_graphql(inner, fields)):
        return None
    return question_in(inner, None, depth + 1)


def _fields_of(value: Any) -> tuple[Mapping[Any, Any], bool]:
    """The fields of a dict or an object, and whether it is made to hold fields: a dict, a model."""
    kind = type(value)
    if issubclass(kind, dict):
        return attributes(value), True
    names = fields_of(kind)
    if names is not None:
        return dict(zip(names, items_of(value), strict=False)), True
    mro = type.__dict__["__mro__"].__get__(kind)
    return attributes(value), any(not _MODELS.isdisjoint(cls.__dict__) for cls in mro)


def _some_names(fields: Mapping[Any, Any]) -> list[str]:
    names = islice(fields, _MOST_NAMES)
    return [name for name in names if type(name) is str and not name.startswith("_")]


def _role_and_content(message: Any) -> tuple[Any, Any]:
    """Role and content of a message: an object, a dict, or a pair such as ("user", "How long?")."""
    if issubclass(type(message), tuple):
        pair = items_of(message)
        if len(pair) == 2:
            return pair[0], pair[1]
    get = message.get if type(message) is dict else getter(message)
    role = get("role")
    if role is None:
        role = get("type")
    content = get("content")
    return role, first(message, _SAYS_TEXT) if content is None else content


def last_user_message(messages: Any, *, lone: bool = False) -> str | None:
    """The newest message of role `user` or `human` in a chat list.

    Args:
        messages: The list.
        lone: Its only item is the question if it is a text, as in the fields of a form.
    """
    if type(messages) is list:
        listed = messages[-_MOST_MESSAGES:]
    else:
        listed = list.__getitem__(messages, slice(-_MOST_MESSAGES, None))
    for message in reversed(listed):
        if type(message) is dict:  # as nearly all have it
            role, content = message.get("role"), message.get("content")
            if type(role) is str:
                if role in _OTHERS:
                    continue
                if role == "user" and type(content) is str:
                    return content
        role, content = _role_and_content(message)
        if type(role) is not str:
            role = text_of(role)
        if role is not None and role.lower() in _USER:
            return content_text(content)
    return _said_in(listed[0]) if lone and len(listed) == 1 else None


def _said_in(message: Any) -> str | None:
    """The text of the only message of a list: as it is, or in one that says nothing of roles."""
    if type(message) is dict and "role" not in message:
        plain = text_of(message.get("type")) in (None, "text")
        return question_in(first(message, _SAYS_TEXT), None, 1) if plain else None
    return text_of(message)
