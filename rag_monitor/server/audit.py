"""Writes down who changed what. Every route and form that changes something calls `record`.

The event is written right after the change, to the same database. If that fails the caller is
told 503 and the log has the event: a change never passes in silence.
"""

from __future__ import annotations

import hmac
import logging
from typing import Final

from fastapi import Request

from rag_monitor.domain.stored import AuditEvent
from rag_monitor.errors import StoreError
from rag_monitor.server.auth import Principal
from rag_monitor.server.context import Services

LOCAL: Final = "local"
"""The actor on an open server."""
NOBODY: Final = "nobody"
"""The actor of a failed sign-in."""

logger = logging.getLogger(__name__)

Detail = str | int | float | bool | None


def record(
    services: Services,
    request: Request,
    caller: Principal,
    action: str,
    target: str = "",
    **details: Detail,
) -> None:
    """Write down that `caller` did `action` to `target`.

    Raises:
        StoreUnavailable: It could not be written; the change itself has been made.
    """
    event = AuditEvent(
        project=caller.project,
        at=services.clock.now(),
        actor=caller.key_id or LOCAL,
        actor_name=caller.name,
        address=request.client.host if request.client else "",
        action=action,
        target=target[:300],
        details={name: _short(value) for name, value in details.items()},
    )
    try:
        services.audit.add(event)
    except StoreError:
        logger.exception(
            "not written to the audit log: %s by %s on %r", action, event.actor, event.target
        )
        raise


def pseudonym(secret: bytes, user_id: str) -> str:
    """Names an erased user without keeping the id: whoever knows the id can find the entry."""
    return "user:" + hmac.digest(secret, user_id.encode("utf-8", "replace"), "sha256").hex()[:32]


def _short(value: Detail) -> Detail:
    return value[:300] if isinstance(value, str) else value
