"""A request that a server does not take, whoever sends it."""

from __future__ import annotations

from rag_monitor.errors import JudgeOutputInvalid


class RequestRefused(JudgeOutputInvalid):
    """The server does not take a request of this shape or size."""

    reason = "request_refused"
