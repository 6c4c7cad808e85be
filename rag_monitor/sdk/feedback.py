"""A user's rating or a reviewer's mark, sent in the background after the traces before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rag_monitor.domain.rating import Rating, rating_of
from rag_monitor.sdk.outcome import Outcome
from rag_monitor.sdk.sanitise import finite

if TYPE_CHECKING:
    from rag_monitor.redaction.redactor import TextRedactor

_LONGEST: Final = 500
"""Characters of a refusal that are logged."""


_LONGEST_COMMENT: Final = 4000
_LONGEST_ANSWER: Final = 20_000
_LONGEST_NAME: Final = 200
MOST_DOCUMENTS: Final = 100
"""As many as the server takes of each."""


def read_rating(value: object, scale: object) -> Rating:
    """A rating in any of its forms, whatever subclasses of the host's are.

    Raises:
        RatingError: It is none; the message says what is taken.
    """
    return rating_of(_plain(value), None if scale is None else _plain(scale))


def _plain(value: object) -> bool | float | str | None:
    """The value without what a subclass of the host's may do; None: it is of no kind taken.

    Numbers of numpy and the like are numbers.
    """
    if type(value) is bool or type(value) is int:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    return finite(value)


def _cut(text: str | None, limit: int) -> str | None:
    return None if text is None else text[:limit]


class Annotation:
    """One annotation waiting to be sent."""

    __slots__ = ("_content", "_fields", "chars")

    def __init__(self, fields: dict[str, Any], *, content: bool) -> None:
        self._content = content
        self._fields = fields
        answer = fields["corrected_answer"]
        self.chars = 200 + (len(answer) if type(answer) is str else 0)

    def body(self, redactor: TextRedactor | None) -> bytes:
        """The request body of `POST /api/v1/feedback`; runs on the sender's thread."""
        from rag_monitor.sdk.sanitise import Sanitiser, whole

        clean = Sanitiser(redactor, content=self._content, per_text=20_000, budget=48_000)
        fields = self._fields
        answer = clean.content("corrected_answer", fields["corrected_answer"])
        documents = [clean.label(one) for one in fields["correct_document_ids"]]
        record = {
            "trace_id": clean.label(fields["trace_id"]),
            "value": fields["value"],
            "scale": fields["scale"],
            "metric": clean.label(fields["metric"]),
            "statement": whole(fields["statement"]),
            "comment": _cut(clean.content("comment", fields["comment"]), _LONGEST_COMMENT),
            "corrected_answer": _cut(answer, _LONGEST_ANSWER),
            "correct_document_ids": [one[:_LONGEST_NAME] for one in documents if one] or None,
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
