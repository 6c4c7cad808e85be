"""Many apps page by page: the busiest of the window first, so that a page costs the same always."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

from rag_monitor.domain.stored import AppSummary
from rag_monitor.domain.window import Window
from rag_monitor.errors import MalformedPayload
from rag_monitor.store.traces import Traces


@dataclass(frozen=True, slots=True, kw_only=True)
class AppPage:
    """Some of the apps."""

    shown: Sequence[AppSummary]
    """By name."""
    less_busy: int = 0
    """Apps on later pages."""
    next: str | None = None
    """Where the next page begins; None on the last one."""


def page_of(
    traces: Traces,
    project: str,
    apps: Sequence[AppSummary],
    window: Window,
    limit: int,
    cursor: str | None = None,
) -> AppPage:
    """The page of `apps` that begins at a cursor; where all fit on one nobody is ranked.

    Raises:
        MalformedPayload: The cursor is none of ours.
    """
    after = None if cursor is None else _decoded(cursor)
    if after is None and len(apps) <= limit:
        return AppPage(shown=sorted(apps, key=lambda app: app.app))
    counts = {one.app: one.traces for one in traces.traffic(project, window)}
    places = {(-counts.get(app.app, 0), app.app): app for app in apps}
    left = sorted(place for place in places if after is None or place > after)
    page, rest = left[:limit], left[limit:]
    return AppPage(
        shown=sorted((places[place] for place in page), key=lambda app: app.app),
        less_busy=len(rest),
        next=_encoded(*page[-1]) if rest else None,
    )


def _encoded(count: int, app: str) -> str:
    text = f"{-count}:{app}".encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(text).decode("ascii").rstrip("=")


def _decoded(cursor: str) -> tuple[int, str]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        count, app = base64.urlsafe_b64decode(padded).decode("utf-8", "surrogatepass").split(":", 1)
        return -int(count), app
    except (ValueError, binascii.Error):
        raise MalformedPayload("the cursor is not one this server handed out") from None
