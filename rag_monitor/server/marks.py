"""Keeping what people say of traces, from the API and from the pages alike."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Request

from rag_monitor.aggregation.label_eligibility import corrects_judge
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.label import CANNOT_TELL, QUESTION
from rag_monitor.domain.stored import StoredTrace
from rag_monitor.server import audit
from rag_monitor.server.auth import Principal
from rag_monitor.server.services import Services


def keep_feedback(
    services: Services, request: Request, caller: Principal, feedback: Feedback
) -> None:
    """Store a rating or a mark; whose mark it is, on what, is written down with it.

    Raises:
        StoreUnavailable: Nothing was stored.
    """
    if feedback.kind is not None:
        services.feedback.add(feedback)
        return

    def both() -> None:
        services.feedback.add(feedback)
        write_down(services, request, caller, feedback)

    services.together(both)


def write_down(services: Services, request: Request, caller: Principal, mark: Feedback) -> None:
    """Note a reviewer's mark in the audit log, and give back their claim on the trace it answers.

    A mark on one statement is on the way to the answer: the claim stays.

    Raises:
        StoreUnavailable: It could not be written.
    """
    if mark.fault is not None:
        details: dict[str, audit.Detail] = {"fault": mark.fault.value}
        action = "fault.label"
    else:
        details = {"metric": mark.metric, "value": mark.value}
        action = "label.mark"
    if mark.statement is not None:
        details["statement"] = mark.statement
    if mark.author != caller.name:
        details["reviewer"] = mark.author
    audit.record(services, request, caller, action, mark.trace_id, **details)
    answers = mark.metric == QUESTION and mark.statement is None
    if answers and mark.author is not None:
        services.label_queue.release(mark.project, mark.trace_id, mark.author)


def what_it_does(feedback: Feedback, find: Callable[[], StoredTrace | None]) -> str:
    """What becomes of a mark, as `catalog.THANKS` words it.

    Args:
        feedback: The mark.
        find: Looks its trace up; None where there is none.
    """
    if feedback.metric is None and feedback.fault is None:
        return "kept"
    # Whoever cannot tell neither confirms nor refutes the judge.
    if feedback.fault is None and feedback.value == CANNOT_TELL:
        return "kept"
    stored = find()
    if stored is None:
        return "kept"
    drawn = {one.judge for one in stored.decisions}
    if feedback.fault is not None:
        diagnosed = {diagnosis.judge for diagnosis in stored.faults}
        corrects = (
            corrects_judge(one, drawn) for one in stored.scores if str(one.judge) in diagnosed
        )
        return "estimates" if any(corrects) else "kept"
    of_metric = (one for one in stored.scores if one.metric == feedback.metric)
    return "estimates" if any(corrects_judge(one, drawn) for one in of_metric) else "check"
