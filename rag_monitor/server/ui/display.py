"""How a browser wants its pages: light or dark, and in which time zone. Kept in cookies."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from fastapi import Request
from starlette.responses import Response

from rag_monitor.i18n import msgid
from rag_monitor.server.problems import ProblemError

THEME_COOKIE: Final = "rag_monitor_theme"
ZONE_COOKIE: Final = "rag_monitor_zone"
THEMES: Final = {
    "": msgid("as the system"),
    "light": msgid("light"),
    "dark": msgid("dark"),
}
"""By the value of the cookie, in English; translated."""
OFFERED_ZONES: Final = (
    "UTC",
    "America/Los_Angeles",
    "America/New_York",
    "America/Sao_Paulo",
    "Europe/London",
    "Europe/Berlin",
    "Africa/Johannesburg",
    "Asia/Dubai",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Australia/Sydney",
)
"""Offered while one types; every zone of the IANA database may be typed."""
_YEAR_S: Final = 31_536_000
_LOCAL: Final = re.compile(r"/(?![/\\])[^\\\s]*")


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def theme_of(request: Request) -> str:
    """`light`, `dark`, or empty: as the system is."""
    theme = request.cookies.get(THEME_COOKIE, "")
    return theme if theme in THEMES else ""


def zone_of(request: Request, configured: str) -> ZoneInfo:
    """The zone that was chosen, or the configured one."""
    chosen = request.cookies.get(ZONE_COOKIE, "")
    return ZoneInfo(chosen if chosen in _zones() else configured)


def keep_display(response: Response, theme: str, zone: str, *, secure: bool) -> None:
    """Have this browser remember both; an empty one is forgotten.

    Raises:
        ProblemError: There is no such theme or zone (422).
    """
    if theme not in THEMES:
        raise ProblemError(422, "A theme is `light`, `dark` or empty.")
    if zone and zone not in _zones():
        raise ProblemError(
            422,
            "There is no time zone {zone}: take a name such as Europe/Berlin, or UTC.",
            zone=zone[:60],
        )
    for cookie, value in ((THEME_COOKIE, theme), (ZONE_COOKIE, zone)):
        if value:
            response.set_cookie(
                cookie, value, max_age=_YEAR_S, httponly=True, samesite="lax", secure=secure
            )
        else:
            response.delete_cookie(cookie)


def way_back(address: str) -> str:
    """The page that a form stood on, if it is one of ours; else the overview."""
    return address if _LOCAL.fullmatch(address) else "/"
