"""Passages whose content is an object or a list of parts, as search services give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from rag_monitor.sdk.documents import take_documents
from rag_monitor.sdk.text import answer_of


@dataclass
class Part:
    """One part of a search result's content."""

    type: str
    text: str | None


@dataclass
class Found:
    """A search result of the OpenAI client."""

    file_id: str
    score: float
    content: list[Part]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"content": {"text": "Two years.", "type": "TEXT"}, "score": 0.7}, "Two years."),
        ({"content": [{"type": "text", "text": "Two"}, {"text": "years."}]}, "Two\nyears."),
        (Found("f1", 0.7, [Part("text", "Two"), Part("image", None)]), "Two"),
        ({"content": [], "id": "d1"}, None),
        ({"content": {"image": "…"}, "id": "d1"}, None),
        ({"content": ["Two years."]}, None),
    ],
)
def test_the_text_of_the_parts_is_the_passages(document: Any, text: str | None) -> None:
    taken = take_documents([document], 100)

    assert taken is not None
    ((content, *_),) = taken[0]
    assert content == text


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (
            {"output": [{"type": "message", "content": [{"type": "output_text", "text": "24"}]}]},
            "24",
        ),
        (
            {
                "output": [
                    {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
                    {"type": "message", "content": [{"type": "output_text", "text": "24"}]},
                ]
            },
            "24",
        ),
        ({"output": [{"type": "function_call", "name": "f"}], "text": "24"}, "24"),
        ({"content": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "24"}]}, "24"),
        ({"content": []}, ""),
        ({"content": [{"type": "image"}]}, None),
    ],
)
def test_the_text_of_the_parts_is_the_answers(result: Any, answer: str | None) -> None:
    assert answer_of(result) == answer
