"""The trace as one JSON value for a model: cleaned, numbered, cut to what the model can take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_monitor.domain.judgement import JudgeRequest
from rag_monitor.judges.hardening import clean


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEvidence:
    """What a model is shown of a trace."""

    data: dict[str, Any] = field(default_factory=dict)
    coverage: float = 1.0
    """Share of the passages' characters that is shown."""


def gather_evidence(request: JudgeRequest, max_chars: int) -> PromptEvidence:
    """Question, query, numbered passages and answer of `request`.

    Passages share `max_chars` less what question and answer take; long ones are cut first. The
    question and the answer are cut at half of it.
    """
    question = clean(request.question)[: max_chars // 4]
    answer = clean(request.answer)[: max_chars // 2]
    passages = [clean(text) for text in request.contexts or ()]
    room = max_chars - len(question) - len(answer)
    shown = cut_to_fit(passages, room)
    data: dict[str, Any] = {"question": question}
    if request.query:
        data["query"] = clean(request.query)[: max_chars // 4]
    if passages:
        data["passages"] = numbered_texts(shown)
    data["answer"] = answer
    total = sum(map(len, passages)) + len(clean(request.answer))
    seen = sum(map(len, shown)) + len(answer)
    return PromptEvidence(data=data, coverage=seen / total if total else 1.0)


def numbered_texts(texts: Sequence[str]) -> dict[str, str]:
    """Texts under "1", "2" … as questions name them."""
    return {str(number): text for number, text in enumerate(texts, start=1)}


def cut_to_fit(texts: Sequence[str], room: int) -> list[str]:
    """The texts, the longest cut to a common length so that all fit into `room` characters."""
    if sum(map(len, texts)) <= room:
        return list(texts)
    left, share = max(0, room), 0
    for done, length in enumerate(sorted(map(len, texts))):
        share = left // (len(texts) - done)
        if length > share:
            break
        left -= length
    return [text[:share] for text in texts]
