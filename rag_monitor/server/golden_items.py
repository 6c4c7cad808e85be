"""Rows of a golden set from stored traces: for `rag-monitor golden` to ask, `evaluate` to score.

A question of a session goes with the turns before it. The reference is what somebody said the
answer should have been, else the answer where somebody called it good: a judge alone makes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.stored import StoredTrace
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import NotFound
from rag_monitor.ingest.trace_encoding import encode_trace
from rag_monitor.server.services import Services
from rag_monitor.store.page_cursor import encode_cursor

MOST_TURNS: Final = 20
"""Earlier turns that go with a question, the newest ones."""
_GOOD: Final = 0.75
"""A mark from here on calls the answer good."""
_RECORDED: Final = ("answer", "retrievals", "contexts")
"""What was answered then, as in Trace JSON: `golden` asks anew, `evaluate` scores this."""

Item = dict[str, Any]


def golden_of_trace(services: Services, stored: StoredTrace) -> Item | None:
    """The question of a trace, after the turns before it; None: the question is not known."""
    return golden_item(stored, _turns_before(services, stored.trace))


def golden_of_session(services: Services, project: str, session_id: str) -> Item | None:
    """The last question of a session that is known, after the turns before it; None: none is.

    Raises:
        NotFound: There is no such session.
    """
    session = services.sessions.get(project, session_id, limit=MOST_TURNS)
    with_question = [turn for turn in session.turns if turn.question and turn.question.strip()]
    if not with_question:
        return None
    last = services.traces.get(project, with_question[-1].trace_id)
    return golden_of_trace(services, last)


def golden_item(stored: StoredTrace, history: Sequence[Item] = ()) -> Item | None:
    """A row without the recorded answer; None: the question is not known.

    Args:
        stored: The trace, with what people said of it.
        history: `question` and `answer` of the turns before it, in order.
    """
    trace = stored.trace
    if not trace.question or not trace.question.strip():
        return None
    corrected = [mark for mark in stored.feedback if mark.corrected_answer]
    documents = [mark for mark in stored.feedback if mark.correct_document_ids]
    item: Item = {"id": trace.trace_id, "question": trace.question}
    if history:
        item["history"] = list(history)
    if corrected:
        item["reference"] = corrected[-1].corrected_answer
    elif trace.answer and _called_good(stored.feedback):
        item["reference"] = trace.answer
    if documents:
        item["relevant_ids"] = list(documents[-1].correct_document_ids)
    return item


def with_answer(item: Item, trace: Trace) -> Item:
    """The row with what was answered then, and from which passages."""
    written = encode_trace(trace)
    given = {name: written.get(name) for name in _RECORDED}
    # No passages found is something else than passages unknown: an empty list of them stays.
    return item | {
        name: value
        for name, value in given.items()
        if value or (name == "contexts" and value is not None)
    }


def _turns_before(services: Services, trace: Trace) -> list[Item]:
    """Of the session as far as it is kept, else those that the trace tells of itself."""
    own_turns = [_turn(turn.question, turn.answer) for turn in trace.history[-MOST_TURNS:]]
    if not trace.session_id:
        return own_turns
    before = encode_cursor(trace.started_at, trace.trace_id)
    try:
        session = services.sessions.get(
            trace.project, trace.session_id, cursor=before, limit=MOST_TURNS
        )
    except NotFound:  # erased in between
        return own_turns
    return [
        _turn(turn.question, turn.answer) for turn in session.turns if turn.question
    ] or own_turns


def _turn(question: str | None, answer: str | None) -> Item:
    return {"question": question, **({"answer": answer} if answer else {})}


def _called_good(annotations: Iterable[Feedback]) -> bool:
    """Whether reviewers marked the answer, and none but as good."""
    values = [
        one.value
        for one in annotations
        if one.kind is None and one.fault is None and one.statement is None
        if one.metric in {None, "faithfulness"}
    ]
    return bool(values) and min(values) >= _GOOD
