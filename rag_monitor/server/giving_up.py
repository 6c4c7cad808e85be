"""Taking back that judging gave up on traces."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request

from rag_monitor.server import audit
from rag_monitor.server.auth import Principal
from rag_monitor.server.services import Services


def retry(
    services: Services, request: Request, caller: Principal, trace_ids: Sequence[str] | None
) -> int:
    """Have parked traces of the caller's project judged again, and write it down; says how many.

    Args:
        services: Where they are.
        request: Whose address is written down.
        caller: Who asks.
        trace_ids: Which; None: all.

    Raises:
        StoreUnavailable: Nothing was changed.
    """

    def change() -> int:
        queued = services.tasks.unpark(caller.project, services.clock.now(), trace_ids)
        if queued:
            one = trace_ids[0] if trace_ids is not None and len(trace_ids) == 1 else ""
            audit.record(services, request, caller, "tasks.retry", one, queued=queued)
        return queued

    return services.together(change)
