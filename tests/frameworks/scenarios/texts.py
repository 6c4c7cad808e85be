"""What the small application of every framework is asked, finds and answers."""

from __future__ import annotations

import json
from typing import Any, Final

MODEL: Final = "fake-chat-2"
SERVICE: Final = "hotel-faq"
QUESTION: Final = "退房以后，行李可以免费寄存多久？"
SEARCH_TOOL: Final = "search_faq"
SEARCH_QUERY: Final = "行李寄存 时长"
PASSAGES: Final = (
    ("luggage-1", "退房后行李可在礼宾部免费寄存 24 小时，超出部分每件每天收取 20 元。", 0.91),
    ("luggage-2", "Bags can be left at the concierge desk, which is staffed day and night.", 0.62),
    ("pool-4", "泳池开放时间为 6:30 至 22:00。", 0.17),
)
ANSWER: Final = "行李可以在礼宾部免费寄存 24 小时，超出后每件每天 20 元。"
INSTRUCTIONS: Final = (
    "Answer guests of the hotel from what the search finds, and from nothing else."
)


def passages() -> list[dict[str, Any]]:
    """The passages as a search of one's own gives them."""
    return [{"id": id_, "text": text, "score": score} for id_, text, score in PASSAGES]


def passages_json() -> str:
    """The same for tools that return text."""
    return json.dumps(passages(), ensure_ascii=False)


def context() -> str:
    """The passages as a prompt holds them."""
    return "\n".join(text for _, text, _ in PASSAGES)


def messages() -> list[dict[str, str]]:
    """The chat of an application that searches before it asks the model."""
    system = f"{INSTRUCTIONS}\n\n{context()}"
    return [{"role": "system", "content": system}, {"role": "user", "content": QUESTION}]
