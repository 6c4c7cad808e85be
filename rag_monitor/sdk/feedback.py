"""A person's annotation of a trace, sent in the background after the traces before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rag_monitor.sdk.outcome import Outcome

if TYPE_CHECKING:
    from rag_monitor.redaction.redactor import TextRedactor

_LONGEST: Final = 500
"""Characters of a refusal that are logged."""


class Annotation:
    """One annotation waiting to be sent."""

    __slots__ = ("_content", "_fields", "chars")

    def __init__(self, fields: dict[str, Any], *, content: bool) -> None:
        self._content = content
        self._fields = fields
        self.chars = 200

    def body(self, redactor: TextRedactor | None) -> bytes:
        """The request body of `POST /api/v1/feedback`; runs on the sender's thread."""
        from rag_monitor.sdk.sanitise import Sanitiser, finite, whole

        clean = Sanitiser(redactor, content=self._content, per_text=8192, budget=16384)
        fields = self._fields
        value = fields["value"]
        record = {
            "trace_id": clean.label(fields["trace_id"]),
            "value": float(value) if type(value) is bool else finite(value),
            "metric": clean.label(fields["metric"]),
            "statement": whole(fields["statement"]),
            "comment": clean.content("comment", fields["comment"]),
        }
        return json.dumps({k: v for k, v in record.items() if v is not None}).encode()


def refusal_of(outcome: Outcome) -> str:
    """Why it was refused, in one line: the status, and the sentence of the problem JSON."""
    try:
        problem = json.loads(outcome.body)
    except (ValueError, RecursionError):
        problem = None
    detail = problem.get("detail") if isinstance(problem, dict) else None
    if not isinstance(detail, str):
        return f"HTTP {outcome.status}; see rag_monitor.stats()"
    shown = "".join(one if one.isprintable() else " " for one in detail[:_LONGEST])
    return f"HTTP {outcome.status}, {shown}"
