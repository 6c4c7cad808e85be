"""Carries the secret of a new key from the form that made it to the page that shows it, once.

It travels in a cookie of the browser that asked, so that it stands in no address and in no log, and
nothing has to keep it here. Reloading the page neither shows it again nor makes another key.
"""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from rag_monitor.server.auth import gate_of
from rag_monitor.server.ui.view import Visitor

COOKIE: Final = "rag_monitor_new_key"
PAGE: Final = "/settings"
LIFETIME_S: Final = 60
_PURPOSE: Final = "new key"


def carry(me: Visitor, response: Response, secret: str) -> None:
    """Give the browser the secret for the page."""
    # Bound to the session: whoever signs in next in this browser must not see it.
    fields = {"secret": secret, "session": me.session.nonce}
    response.set_cookie(
        COOKIE,
        gate_of(me.request).seal(_PURPOSE, fields, LIFETIME_S),
        max_age=LIFETIME_S,
        path=PAGE,
        httponly=True,
        samesite="strict",
        secure=me.services.options.secure,
    )


def carried(me: Visitor) -> str | None:
    """The secret that the browser brought; None when there is none, or it is not for this page."""
    found = gate_of(me.request).unseal(_PURPOSE, me.request.cookies.get(COOKIE, ""))
    if found is None or found["session"] != me.session.nonce:
        return None
    return str(found["secret"])


def forget(me: Visitor, response: Response) -> None:
    """Take the secret from the browser, if it brought one."""
    if COOKIE in me.request.cookies:
        response.delete_cookie(
            COOKIE,
            path=PAGE,
            httponly=True,
            samesite="strict",
            secure=me.services.options.secure,
        )
