"""Writes down who changed what: every route and form that changes something does it by `changing`.

The change and its event are one transaction. What is no change (signing in and out), or one of many
transactions (erasing a user, a backfill), is followed by `record`; if that fails the caller is told
503 and the log has the event. Nothing passes in silence.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeVar

from fastapi import Request

from rag_monitor.domain.stored import AuditEvent
from rag_monitor.errors import StoreError
from rag_monitor.server.auth import Principal
from rag_monitor.server.services import Services

LOCAL: Final = "local"
"""The actor on an open server."""
NOBODY: Final = "nobody"
"""The actor of a failed sign-in."""

logger = logging.getLogger(__name__)

T = TypeVar("T")
Detail = str | int | float | bool | None


def changing(
    services: Services,
    request: Request,
    caller: Principal,
    change: Callable[[], T],
    action: str,
    target: str = "",
    **details: Detail,
) -> T:
    """Make a change and write down that `caller` did `action` to `target`: both or neither.

    Args:
        services: Where to.
        request: Whose address is written down.
        caller: Who it is.
        change: Changes the store; may be run several times, and raises when it cannot.
        action: Kind of change, such as `key.revoke`.
        target: What was changed.
        details: More, by name.

    Raises:
        StoreUnavailable: Nothing was changed.
    """

    def both() -> T:
        made = change()
        record(services, request, caller, action, target, **details)
        return made

    return services.together(both)


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
        StoreUnavailable: It could not be written.
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
    except StoreError as error:
        # Anybody may try to sign in during an outage: a line each, and no traceback.
        logger.error(  # noqa: TRY400
            "not written to the audit log: %s by %s on %r: %s",
            action, event.actor, event.target, error,
        )  # fmt: skip
        raise


def until(expires_at: datetime | None) -> dict[str, Detail]:
    """The details of something that ends by itself, or does not."""
    return {} if expires_at is None else {"expires_at": expires_at.isoformat()}


def pseudonym(secret: bytes, user_id: str) -> str:
    """Names an erased user without keeping the id: whoever knows the id can find the entry."""
    return "user:" + hmac.digest(secret, user_id.encode("utf-8", "replace"), "sha256").hex()[:32]


def _short(value: Detail) -> Detail:
    return value[:300] if isinstance(value, str) else value
