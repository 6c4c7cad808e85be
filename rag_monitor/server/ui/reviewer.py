"""Who marks: the person who signed in; on an open server the name that a browser was told."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

from starlette.responses import Response

from rag_monitor.server.ui.view import Visitor
from rag_monitor.store.types import storable_name

COOKIE: Final = "rag_monitor_reviewer"
MAX_NAME: Final = 100
_YEAR_S: Final = 31_536_000


def reviewer_of(me: Visitor) -> str:
    """The name that this visitor's marks carry, as it is stored; empty: it is not known yet."""
    if me.principal.key_id is None:
        return clean_name(unquote(me.request.cookies.get(COOKIE, "")))
    return storable_name(me.principal.name or me.principal.key_id)


def keep_reviewer(me: Visitor, response: Response, name: str) -> None:
    """Have this browser remember the name."""
    response.set_cookie(
        COOKIE,
        quote(clean_name(name), safe=""),
        max_age=_YEAR_S,
        httponly=True,
        samesite="lax",
        secure=me.services.settings.https,
    )


def clean_name(text: str) -> str:
    """The name without what cannot be seen; white space once."""
    seen = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(seen.split())[:MAX_NAME]
