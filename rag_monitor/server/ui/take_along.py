"""Commands that send and read a trace, and a question for a golden set."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from typing import Any, Final

from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.stored import StoredTrace

_GOOD: Final = 0.75
"""A mark from here on calls the answer good."""


_WITH_KEY: Final = 'curl -H "Authorization: Bearer $RAG_MONITOR_API_KEY"'
"""The key stays in the caller's environment; a server that asks for none passes it over."""
_FIRST_TRACE: Final = {
    "app": "my-app",
    "question": "How long is the warranty?",
    "contexts": ["The warranty lasts 24 months."],
    "answer": "It lasts 24 months.",
}


def curl_command(address: str, trace_id: str) -> str:
    """A command that reads the trace from the API."""
    return f"{_WITH_KEY} {shlex.quote(f'{address}/api/v1/traces/{trace_id}')}"


def sending_command(address: str) -> str:
    """A command that sends a first trace, to be changed into one's own."""
    fields = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in _FIRST_TRACE.items())
    body = f"{{\n{fields}\n  }}"
    return (
        f"{_WITH_KEY} \\\n  -H 'Content-Type: application/json' \\\n"
        f"  {shlex.quote(f'{address}/api/v1/traces')} -d {shlex.quote(body)}"
    )


def golden_item(stored: StoredTrace) -> str | None:
    """A line for `rag-monitor golden`; None: the question is not known.

    The reference is what somebody said the answer should have been, else the answer where somebody
    called it good. A judge alone makes no reference.
    """
    trace = stored.trace
    if not trace.question or not trace.question.strip():
        return None
    corrected = [mark for mark in stored.feedback if mark.corrected_answer]
    documents = [mark for mark in stored.feedback if mark.correct_document_ids]
    item: dict[str, Any] = {"id": trace.trace_id, "question": trace.question}
    if corrected:
        item["reference"] = corrected[-1].corrected_answer
    elif trace.answer and _called_good(stored.feedback):
        item["reference"] = trace.answer
    if documents:
        item["relevant_ids"] = list(documents[-1].correct_document_ids)
    return json.dumps(item, ensure_ascii=False)


def _called_good(annotations: Iterable[Feedback]) -> bool:
    """Whether reviewers marked the answer, and none but as good."""
    values = [
        one.value
        for one in annotations
        if one.kind is None and one.fault is None and one.statement is None
        if one.metric in {None, "faithfulness"}
    ]
    return bool(values) and min(values) >= _GOOD
