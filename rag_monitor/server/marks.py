"""Keeping what people say of traces, from the API and from the pages alike."""

from __future__ import annotations

from fastapi import Request

from rag_monitor.domain.feedback import Feedback
from rag_monitor.server import audit
from rag_monitor.server.auth import Principal
from rag_monitor.server.services import Services


def keep_feedback(
    services: Services, request: Request, caller: Principal, feedback: Feedback
) -> None:
    """Store a mark; who named a fault is written down with it.

    Raises:
        StoreUnavailable: Nothing was stored.
    """
    if feedback.fault is None:
        services.feedback.add(feedback)
        return
    audit.changing(
        services,
        request,
        caller,
        lambda: services.feedback.add(feedback),
        "fault.label",
        feedback.trace_id,
        fault=feedback.fault.value,
    )
