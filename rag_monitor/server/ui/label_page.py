"""The traces that wait for a person's mark."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.domain.labelling import LabelTask
from rag_monitor.i18n import msgid
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import unknown_names

router = APIRouter(include_in_schema=False)

SHOWN: Final = 50
MOST_LINKS: Final = 12
"""So many apps have a link each; more are chosen from a list."""
WITHIN: Final = timedelta(days=7)
REASONS: Final = {
    "drawn": (
        msgid("drawn for people"),
        msgid("Drawn by chance: only such marks may correct the estimates."),
    ),
    "judges_disagree": (
        msgid("judges disagree"),
        msgid("One judge flags this answer, another does not."),
    ),
    "unsure": (
        msgid("judge unsure"),
        msgid("The judge's probability is near one half."),
    ),
}
"""Badge and explanation of a `LabelReason`, in English; both are translated."""


@router.get("/labels")
def labels(me: Viewer) -> HTMLResponse:
    """Traces that wait for a mark, the most telling first."""
    app = me.request.query_params.get("app", "").strip()[:200]
    tasks = waiting(me, SHOWN, app or None)
    unknown = [] if tasks else unknown_names(me.services, me.principal.project, app=app or None)
    return page(
        me,
        "labels.html",
        {
            "tasks": tasks,
            "hints": unknown,
            "refused": me.not_applied("app"),
            "apps": me.services.traces.apps(me.principal.project),
            "app": app,
            "most_links": MOST_LINKS,
            "reasons": REASONS,
            "days": WITHIN.days,
            "thanks": me.request.query_params.get("thanks", ""),
        },
    )


def waiting(me: Visitor, limit: int, app: str | None = None) -> list[LabelTask]:
    """What waits for a mark, of the last days."""
    since = me.services.clock.now() - WITHIN
    return list(me.services.label_queue.waiting(me.principal.project, since, limit, app))
