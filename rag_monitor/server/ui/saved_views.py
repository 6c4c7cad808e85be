"""Saved views of the trace list: a name and its filters, kept in the visitor's browser.

They travel in a cookie, so that they need neither a script nor a table; a view is an address, so
that sharing one means sending its link.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from fastapi import Request

from rag_monitor.i18n import msgid

COOKIE: Final = "rag_monitor_views"
MAX_VIEWS: Final = 12
MAX_NAME: Final = 40
MAX_COOKIE_BYTES: Final = 3800
"""Browsers keep 4,096 bytes of a cookie, its name and attributes included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """Filters under a name."""

    name: str
    filters: Mapping[str, str]

    @property
    def address(self) -> str:
        """Where the view is."""
        return f"/traces?{urlencode(self.filters)}"


SHIPPED: Final = (
    SavedView(
        name=msgid("Unsupported, last day"),
        filters={"metric": "faithfulness", "below": "0.5", "since": "24h"},
    ),
    SavedView(
        name=msgid("Wrong passages, last day"),
        filters={"metric": "context_relevance", "below": "0.2", "since": "24h"},
    ),
    SavedView(name=msgid("Errors, last week"), filters={"status": "error", "since": "7d"}),
)
"""Views everybody has; their names are translated."""


def saved_views(request: Request, allowed: Sequence[str]) -> list[SavedView]:
    """The visitor's own views; a cookie that makes no sense has none.

    Args:
        request: Carries the cookie.
        allowed: Names of filters; others are passed over.
    """
    text = request.cookies.get(COOKIE, "")
    try:
        rows = json.loads(base64.urlsafe_b64decode(text.encode("ascii")))
    except (ValueError, binascii.Error):
        return []
    views = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            continue
        filters = {k: v for k, v in row.items() if k in allowed and isinstance(v, str)}
        views.append(SavedView(name=row["name"][:MAX_NAME], filters=filters))
    return views[:MAX_VIEWS]


def cookie_text(views: Sequence[SavedView]) -> str:
    """The cookie's value: the newest views, as many as fit."""
    kept = list(views)[-MAX_VIEWS:]
    while kept:
        rows = [{**view.filters, "name": view.name} for view in kept]
        text = base64.urlsafe_b64encode(
            json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        ).decode("ascii")
        if len(text) <= MAX_COOKIE_BYTES:
            return text
        kept = kept[1:]
    return ""
