"""Questions inside texts: bodies of gateways' events, messages of chat bots. JSON, a form, XML.

Inside the call only the text is taken; it is opened on the sender's thread.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from typing import Any, Final
from urllib.parse import parse_qs
from xml.sax.saxutils import unescape

from rag_monitor.sdk.field_names import QUERY_NAMES, RANKS
from rag_monitor.sdk.peek import text_of
from rag_monitor.sdk.question import Ranked, Sealed, SealedBase64, last_user_message, ranked_in
from rag_monitor.sdk.text import content_text

_DEEPEST: Final = 3
_MOST_BRACKETS: Final = 10_000
_MAX_FIELDS: Final = 1_000
_MENTION: Final = re.compile(r"@_(?:user_\d+|all)\s*|<at\b[^>]*>[^<]*</at>\s*")
"""How Feishu writes who is meant."""
_XML: Final = re.compile(
    r"\s*<xml>.*<Content>(?:<!\[CDATA\[(.*?)\]\]>|([^<]*))</Content>", re.DOTALL
)
"""A message as WeChat and WeCom post it."""
_IS_XML: Final = re.compile(r"\s*<xml>")
_SURE: Final = RANKS[QUERY_NAMES[-1]]
"""What an argument of such a name holds is what somebody wrote, even if it is JSON."""


def opened(question: str, rank: float = 0.0) -> str | None:
    """The question in a text; None where it is a structure that says nothing of one.

    Args:
        question: As it was taken. What is not sealed is looked into only where its name is no
            sure one, and stays as it is where there is no question in it.
        rank: That of the name under which it stood.
    """
    if isinstance(question, Sealed):
        ranked = _in_text(question, 0)
        return None if ranked is None else ranked[1]
    if rank <= _SURE:
        return question
    if _IS_XML.match(question):
        return in_message(question)
    inner = _parsed(question) if question.lstrip().startswith("{") else None
    if not isinstance(inner, dict):
        return question
    ranked = opened_of(ranked_in(inner))
    return question if ranked is None else ranked[1]


def opened_of(ranked: Ranked | None, depth: int = 0) -> Ranked | None:
    """The same of a question with its rank."""
    if ranked is None:
        return None
    rank, text = ranked
    if not isinstance(text, Sealed):
        plain = opened(text, rank) if depth < _DEEPEST else text
        return None if plain is None else (rank, plain)
    inner = _in_text(ranked[1], depth + 1)
    return None if inner is None else (max(ranked[0], inner[0]), inner[1])


def _in_text(text: str, depth: int) -> Ranked | None:
    if depth > _DEEPEST:
        return None
    plain = _decoded(text) if isinstance(text, SealedBase64) else str.__str__(text)
    if plain is None:
        return None
    if _IS_XML.match(plain):
        question = in_message(plain)
        return None if question is None else (0.0, question)
    if not plain.lstrip().startswith(("{", "[")):
        return _in_form(plain)
    value = _parsed(plain)
    if isinstance(value, list):
        question = last_user_message(value)
        return None if question is None else (0.0, question)
    ranked = opened_of(ranked_in(value), depth) if isinstance(value, dict) else None
    question = _in_post(value) if ranked is None else ranked[1]
    if question is None:
        return None
    return 0.0 if ranked is None else ranked[0], _without_mentions(question)


def _in_form(text: str) -> Ranked | None:
    """The question in a form, else the text itself."""
    if "=" in text and text.isascii() and " " not in text.strip():
        try:
            fields = parse_qs(text, errors="strict", max_num_fields=_MAX_FIELDS)
        except ValueError:
            return None
        if fields:
            return ranked_in({name: values[0] for name, values in fields.items()})
    return (0.0, _without_mentions(text)) if text.strip() else None


def _in_post(value: Any) -> str | None:
    """The text of a rich message: paragraphs of parts, in Feishu below the language."""
    if not isinstance(value, dict):
        return None
    paragraphs = value.get("content")
    if not isinstance(paragraphs, list):
        inner = [item for item in value.values() if isinstance(item, dict) and "content" in item]
        return _in_post(inner[0]) if len(inner) == 1 else None
    lines = [content_text(line) if isinstance(line, list) else None for line in paragraphs]
    return "\n".join(line for line in lines if line) or None


def _without_mentions(text: str) -> str:
    return _MENTION.sub("", text)


def in_message(text: str) -> str | None:
    """The text of a message in XML; None: it is none."""
    match = _XML.match(text)
    if match is None:
        return None
    return match[1] if match[1] is not None else unescape(match[2])


def _decoded(text: str) -> str | None:
    try:
        return text_of(b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return None


def _parsed(text: str) -> object:
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
