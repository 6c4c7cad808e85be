"""The question in a value: in text, in a chat list, or in a field that is named like one.

And the names of arguments and fields that hold the user's question, and of those that never do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from rag_monitor.sdk.peek import attributes, fields_of, first, getter, items_of, text_of
from rag_monitor.sdk.text import content_text

QUERY_NAMES: Final = (
    "query", "user_query", "userQuery", "query_text", "queryText", "search_query", "searchQuery",
    "查询", "检索词",
)  # fmt: skip
QUESTION_NAMES: Final = (
    "question", "user_question", "userQuestion", "question_text", "questionText",
    "original_question", "问题", "用户问题", "提问", "问句",
    *QUERY_NAMES,
    "user_input", "userInput", "user_message", "userMessage", "user_prompt", "userPrompt",
    "user_text", "chat_input", "chatInput", "用户输入", "用户消息",
    "input", "inputs", "输入", "message", "messages", "消息", "msg", "utterance",
    "prompt", "input_text", "inputText", "text", "content", "contents",
    "提示词", "文本", "内容", "wenti", "tiwen", "chaxun", "xiaoxi",
)  # fmt: skip
"""The surest first."""
RANKS: Final[Mapping[str, float]] = {name: float(rank) for rank, name in enumerate(QUESTION_NAMES)}
GUESSED: Final = float(len(QUESTION_NAMES))
"""The rank of a text that nothing names a question."""
_LABELS: Final = frozenset(
    {
        "id", "uid", "uuid", "token", "auth", "authorization", "bearer", "key", "apikey", "secret",
        "password", "passwd", "pwd", "credential", "credentials", "csrf", "signature", "nonce",
        "hash", "cookie", "cookies", "header", "headers", "user", "username", "account", "email",
        "phone", "tenant", "org", "organization", "organisation", "project", "workspace", "team",
        "department", "role", "group", "session", "conversation", "thread", "trace", "agent", "ip",
        "host", "url", "uri", "path", "file", "filename", "lang", "language", "locale", "country",
        "region", "city", "timezone", "currency", "model", "provider", "engine", "name", "type",
        "kind", "mode", "format", "style", "tone", "level", "version", "release", "environment",
        "env", "app", "application", "channel", "source", "platform", "device", "client",
        "collection", "index", "namespace", "database", "db", "kb", "base", "dataset", "table",
        "schema", "category", "tag", "tags", "label", "filter", "sort", "order", "cursor", "page",
        "date", "time", "timestamp", "code", "status", "context", "contexts", "history",
        "document", "documents", "passages", "answer", "reference", "system", "instruction",
        "instructions", "persona", "template", "config",
        "用户", "令牌", "密码", "密钥", "租户", "会话", "编号", "姓名", "邮箱", "电话", "手机",
        "语言", "模型", "地区", "部门", "角色", "上下文", "历史", "参考", "答案", "模板", "系统",
        "知识库",
    }
)  # fmt: skip
"""Last words in the names of arguments that are no question, whatever they hold."""
_CHINESE_LABELS: Final = tuple(name for name in _LABELS if not name.isascii())
_ELSEWHERE: Final = frozenset(
    {
        "system", "developer", "template", "default", "negative", "previous", "last", "error",
        "log", "welcome", "reply", "response", "answer", "output", "context", "source", "document",
        "page", "file",
    }
)  # fmt: skip
"""Words before `prompt`, `message` or `text` that say it is not the user's."""
_OF_TYPE: Final = frozenset({"str", "string", "txt", "text", "value", "raw"})
"""Last words that say only what kind of value it is, as in `query_str`."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\da-zA-Z_]+")


_DERIVED: Final = 0.25
"""What a name is behind the one that it is made of."""


def rank_of_argument(name: str) -> float | None:
    """As `rank_of`; a function calls its question `q`, an address anything."""
    return RANKS["content"] + _DERIVED if name == "q" else rank_of(name)


def rank_of(name: str) -> float | None:
    """The rank of a name, or of its last word; None where it is no name of a question."""
    rank = RANKS.get(name)
    if rank is not None:
        return rank
    words = _words(name)
    while len(words) > 1 and words[-1] in _OF_TYPE:
        words.pop()
    if not words or not _ELSEWHERE.isdisjoint(words):
        return None
    rank = RANKS.get("_".join(words), RANKS.get(words[-1]))
    return None if rank is None else rank + _DERIVED


def may_ask(name: str) -> bool:
    """Whether a text of that name may be a question: a token, an id or a language is none."""
    words = _words(name)
    last = words[-1] if words else ""
    return last not in _LABELS and (last.isascii() or not last.endswith(_CHINESE_LABELS))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


_ENVELOPES: Final = (
    "body", "data", "payload", "request", "params", "variables", "arguments", "state", "event",
    "form", "json",
)  # fmt: skip
"""Fields that a question may stand below."""
_SAYS_TEXT: Final = ("content", "text", "parts")
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
_MAX_DEPTH: Final = 4
_MOST_NAMES: Final = 50
_FEW_FIELDS: Final = 20
"""Of more it is quicker to ask for each name."""
_MOST_MESSAGES: Final = 200

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
            else:
                text = inner if type(inner) is str else question_in(inner, keys, depth + 1)
            if text is not None:
                return float(rank), text
    return _less_surely_in(fields, depth) if keys is None and declared else None


def _less_surely_in(fields: Mapping[Any, Any], depth: int) -> Ranked | None:
    """The question in a field whose last word names one, or in an envelope."""
    ranked = ((rank_of(name), name) for name in _some_names(fields))
    for rank, name in sorted((rank, name) for rank, name in ranked if rank is not None):
        text = _text_under(fields, name, depth)
        if text is not None:
            return rank, text
    for name in _ENVELOPES:
        inner = fields.get(name)
        inner_question = None if inner is None else ranked_in(inner, None, depth + 1)
        if inner_question is not None:
            return inner_question
    return None


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
    return None if inner is None else question_in(inner, None, depth + 1)


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
    return text_of(listed[0]) if lone and len(listed) == 1 else None
