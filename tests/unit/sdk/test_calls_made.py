"""How many calls of ours taking the question costs the host: not moved by a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter

TALK = [
    ("system", "Answer from the passages."),
    ("user", "Hello, I have a question."),
    ("assistant", "What is it about?"),
    ("user", "How long does the standard warranty last?"),
]


class Message:
    def __init__(self, role: str, content: str) -> None:
        self.role, self.content = role, content


CHAT = [{"role": role, "content": text} for role, text in TALK]
PARTS = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in TALK]
OBJECTS = [Message(role, text) for role, text in TALK]
BODY = {"model": "m", "messages": CHAT, "stream": False}


@rm.trace
def plain(question: str) -> str:
    return question


@rm.trace
def chat(messages: list[Any]) -> str:
    return str(len(messages))


@rm.trace
def body(payload: dict[str, Any]) -> str:
    return str(len(payload))


def calls(handler: Callable[[Any], str], argument: Any) -> int:
    """Python functions of ours that one call runs on the caller's thread."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and "rag_monitor" in frame.f_code.co_filename

    for _ in range(3):  # what is only done once has been done
        handler(argument)
    sys.setprofile(note)
    try:
        handler(argument)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("handler", "argument", "most"),
    [(chat, CHAT, 2), (chat, PARTS, 6), (chat, OBJECTS, 20), (body, BODY, 7)],
    ids=["chat", "parts", "objects", "body"],
)
def test_a_chat_costs_few_calls_more_than_a_text(
    captured: InMemoryExporter, handler: Callable[[Any], str], argument: Any, most: int
) -> None:
    text = calls(plain, "How long does the standard warranty last?")
    more = calls(handler, argument) - text
    rm.flush(5.0)
    questions = {
        attribute.value.string_value
        for span in captured.spans
        for attribute in span.attributes
        if attribute.key == "input.value"
    }

    assert questions == {"How long does the standard warranty last?"}
    assert more <= most, more
