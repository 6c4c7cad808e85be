"""Rows that hold a conversation instead of a question, as Ragas' multi-turn samples do.

Like a live trace, such a row is judged by its last turn: what was asked last, and the answer to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_monitor.offline.literals import looks_written_by_python, read_literal

_ASKS: Final = frozenset({"human", "user"})
_ANSWERS: Final = frozenset({"ai", "assistant", "gpt"})
_TELLS: Final = frozenset({"tool", "function"})
_ROLES: Final = _ASKS | _ANSWERS | _TELLS | {"system", "developer"}


def last_turn(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with its last question, the answer to it, and what was said before and in between.

    Answer and contexts that the row gives itself stand. A question that nobody answered is passed
    over where an earlier one was; of a row that is no conversation nothing changes.

    Args:
        fields: A row with Trace JSON names; its `question` may be a list of messages with `type`
            (Ragas, LangChain) or `role` (OpenAI), in a table also as the text of such a list.
    """
    messages = _messages(fields.get("question"))
    if messages is None:
        return fields
    turns = [(role, _text(message.get("content"))) for role, message in messages]
    own_answer = fields.get("answer") is not None
    end = len(turns) if own_answer else _place(turns, _ANSWERS, len(turns))
    start = _place(turns, _ASKS, len(turns) if end is None else end)
    if start is None:
        return fields
    turn: dict[str, Any] = {**fields, "question": turns[start][1]}
    if end is not None and not own_answer:
        turn["answer"] = turns[end][1]
    if fields.get("contexts") is None:
        contexts = [text for role, text in turns[start:end] if role in _TELLS and text.strip()]
        if contexts:
            turn["contexts"] = contexts
    if fields.get("history") is None and (earlier := _earlier(turns[:start])):
        turn["history"] = earlier
    return turn


def _earlier(turns: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """The questions before the last one, each with the last that was answered to it."""
    earlier: list[dict[str, str]] = []
    for role, text in turns:
        if not text.strip():
            continue
        if role in _ASKS:
            earlier.append({"question": text})
        elif role in _ANSWERS and earlier:
            earlier[-1]["answer"] = text
    return earlier


def _place(turns: Sequence[tuple[str, str]], roles: frozenset[str], before: int) -> int | None:
    """Where the last message of one of `roles` that says something stands; None: there is none."""
    for number in range(before - 1, -1, -1):
        role, text = turns[number]
        if role in roles and text.strip():
            return number
    return None


def _messages(question: object) -> list[tuple[str, Mapping[str, Any]]] | None:
    """The messages of a conversation with their roles; None when it is none."""
    listed = _written(question) if isinstance(question, str) else question
    if not isinstance(listed, list) or not listed:
        return None
    messages: list[tuple[str, Mapping[str, Any]]] = []
    for message in listed:
        if isinstance(message, Mapping) and "value" in message:  # of ShareGPT's
            message = {"role": message.get("from"), "content": message["value"]}
        if not isinstance(message, Mapping) or "content" not in message:
            return None
        role = message.get("role") or message.get("type")
        if role not in _ROLES:
            return None
        messages.append((str(role), message))
    return messages


def _written(text: str) -> object:
    """The list that a cell of a table holds as text, if it may be one of messages."""
    if not text.lstrip().startswith("[") or not ("content" in text or "value" in text):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return read_literal(text) if looks_written_by_python(text) else None
    except ValueError:
        return None


def _text(content: object) -> str:
    """A message's text; of a list of parts those that have any."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part if isinstance(part, str) else _part(part) for part in parts)
    return "".join(texts)


def _part(part: object) -> str:
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else ""
