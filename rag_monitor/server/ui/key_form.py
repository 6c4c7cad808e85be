"""The form that makes a key: what is wrong in it, and how the secret of a new key is shown, once.

The secret travels in a cookie of the browser that asked, so that it stands in no address and in no
log, and nothing has to keep it here. Reloading the page neither shows it again nor makes another.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from pydantic import ValidationError
from starlette.responses import Response

from rag_monitor.errors import RagMonitorError
from rag_monitor.server.auth import gate_of
from rag_monitor.server.schemas.admin import KeyIn
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
        secure=me.services.settings.https,
    )


def carried(me: Visitor) -> str | None:
    """The secret that the browser brought; None when there is none, or it is not for this page."""
    fields = gate_of(me.request).unseal(_PURPOSE, me.request.cookies.get(COOKIE, ""))
    if fields is None or fields["session"] != me.session.nonce:
        return None
    return str(fields["secret"])


def forget(me: Visitor, response: Response) -> None:
    """Take the secret from the browser, if it brought one."""
    if COOKIE in me.request.cookies:
        response.delete_cookie(
            COOKIE,
            path=PAGE,
            httponly=True,
            samesite="strict",
            secure=me.services.settings.https,
        )


FIELDS: Final = ("name", "scopes", "last_day")


class KeyRefused(RagMonitorError):  # noqa: N818 - named after what happened
    """The form makes no key; the text says why, in the reader's language."""


def read(me: Visitor, get: Callable[[str], str]) -> KeyIn:
    """The key that the form asks for.

    Args:
        me: Who sent it; a last day ends in their time zone.
        get: A field of the form by its name, of `FIELDS`.

    Raises:
        KeyRefused: It asks for none that there can be.
    """
    fields: dict[str, Any] = {"name": get("name"), "scopes": scopes_in(get("scopes"))}
    problems = []
    try:
        fields["expires_at"] = _end_of(get("last_day"), me.zone)
    except (ValueError, OverflowError):
        problems.append(me.translate("The last day of a key is written like 2027-01-31."))
    else:
        ends = fields["expires_at"]
        if ends is not None and ends <= me.services.clock.now():
            problems.append(me.translate("The last day of a key must not be over."))
    try:
        given = KeyIn.model_validate(fields)
    except ValidationError as error:
        problems = [*_wrong(me, error), *problems]
    if problems:
        raise KeyRefused(("" if me.language == "zh" else " ").join(problems))
    return given


def scopes_in(text: str) -> list[str]:
    """The scopes that were ticked."""
    return [scope for scope in text.split(",") if scope]


def _end_of(day: str, zone: ZoneInfo) -> datetime | None:
    """The moment at which a day is over; None without one."""
    if not day:
        return None
    return datetime.combine(date.fromisoformat(day) + timedelta(days=1), time(), zone)


def _wrong(me: Visitor, error: ValidationError) -> list[str]:
    """What is wrong with the name and with the scopes."""
    wrong = {str(detail["loc"][0]): detail["type"] for detail in error.errors()}
    problems = []
    if wrong.get("name") == "string_too_short":
        problems.append(me.translate("A key needs a name."))
    elif wrong.get("name") == "string_too_long":
        problems.append(me.translate("The name of a key may have at most 200 characters."))
    elif "name" in wrong:
        problems.append(me.translate("The name of a key must not contain control characters."))
    if "scopes" in wrong:
        problems.append(me.translate("A key needs at least one scope."))
    if "expires_at" in wrong:
        problems.append(me.translate("The last day of a key is written like 2027-01-31."))
    return problems
