"""The page of documents: what became of each, and which to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.aggregation import document_health
from rag_monitor.aggregation.document_health import DocumentList
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import msgid
from rag_monitor.server.documents import (
    DEFAULT_DAYS,
    DocumentsPage,
    default_query,
    read_documents,
)
from rag_monitor.server.ui.filter_form import Chip
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.store.documents import DocumentQuery, TooManyDocumentsError

router = APIRouter(include_in_schema=False)

PER_PAGE: Final = 50
_YEARS: Final = range(1990, 2200)
_LONGEST_DAYS: Final = 400
LISTS: Final[Mapping[DocumentList, str]] = {
    DocumentList.NOISY: msgid("Noisy"),
    DocumentList.HARMFUL: msgid("Harmful"),
    DocumentList.STALE: msgid("Stale"),
    DocumentList.CONFLICTING: msgid("Conflicting"),
    DocumentList.NEVER_RETRIEVED: msgid("Never retrieved"),
}
_RULES: Final[Mapping[DocumentList, str]] = {
    DocumentList.NOISY: msgid(
        "Retrieved in vain: the interval of the useful share ends below {share:.0%}, from at "
        "least {judged} verdicts."
    ),
    DocumentList.HARMFUL: msgid(
        "Answers with the document are at fault more often than the app's other answers, from at "
        "least {judged} judged answers each; false discoveries are held to {alpha:.0%}."
    ),
    DocumentList.STALE: msgid(
        "Its date is at least {days} days old and it was retrieved at least {retrieved} times, or "
        "at least {conflicts} answers took its value beside a newer document with another one."
    ),
    DocumentList.CONFLICTING: msgid(
        "At least {conflicts} answers took the value of one document while another one in the "
        "same context stated a different value for the same thing."
    ),
    DocumentList.NEVER_RETRIEVED: msgid(
        "Documents of the imported inventory that no trace has retrieved since the first day."
    ),
}
"""What puts a document on a list."""
_CHIPS: Final = {
    "knowledge_base": msgid("Knowledge base"),
    "app": msgid("App"),
    "from": msgid("From"),
    "to": msgid("To, not included"),
}
"""What the filters are called."""
_LIMITS: Final = {
    "share": document_health.NOISY_BELOW,
    "judged": document_health.MIN_JUDGED,
    "alpha": document_health.HARMFUL_ALPHA,
    "days": document_health.STALE_DAYS,
    "retrieved": document_health.MIN_RETRIEVED,
    "conflicts": document_health.MIN_CONFLICTS,
}


@router.get("/documents")
def documents(me: Viewer) -> HTMLResponse:
    """The documents of a knowledge base, or of all, as the address filters them."""
    with me.services.reading():
        return _documents(me)


def _documents(me: Visitor) -> HTMLResponse:
    given = me.request.query_params
    wanted, refused = _list_of(given.get("list", ""))
    query, not_applied = _query_of(me, wanted)
    refused |= not_applied
    shown, problem = DocumentsPage(), ""
    cursor = given.get("cursor") or None
    try:
        shown = _read(me, query, wanted, cursor)
    except MalformedPayload:
        refused["cursor"] = (cursor or "")[:100]
        shown = _read(me, query, wanted, None)
    except TooManyDocumentsError:
        problem = me.translate("Too many documents at once: choose a knowledge base.")
    filters = _filters(query, wanted, given)
    return page(
        me,
        "documents.html",
        {
            "found": shown,
            "list": wanted,
            "lists": LISTS,
            "rule": "" if wanted is None else me.translate(_RULES[wanted], **_LIMITS),
            "query": query,
            "filters": filters,
            "chips": _chips(me, filters),
            "bases": me.services.documents.knowledge_bases(me.principal.project),
            "apps": [app.app for app in me.services.traces.apps(me.principal.project)],
            "csv": f"/api/v1/documents.csv?{urlencode(_for_api(filters))}",
            "json": f"/api/v1/documents?{urlencode(_for_api(filters))}",
            "next": me.link("/documents", **filters, cursor=shown.next_cursor),
            "refused": refused | me.not_applied("app", "knowledge_base", "from", "to"),
            "problem": problem,
        },
    )


def _read(
    me: Visitor, query: DocumentQuery, wanted: DocumentList | None, cursor: str | None
) -> DocumentsPage:
    return read_documents(me.services, query, wanted, me.services.clock.now(), PER_PAGE, cursor)


def _list_of(text: str) -> tuple[DocumentList | None, dict[str, str]]:
    try:
        return (DocumentList(text) if text else None), {}
    except ValueError:
        return None, {"list": text[:100]}


def _query_of(me: Visitor, wanted: DocumentList | None) -> tuple[DocumentQuery, dict[str, str]]:
    """The query of an address, and what of it is not applied."""
    given = me.request.query_params
    query = default_query(me.principal.project, me.services.clock.now())
    app, base = given.get("app") or None, given.get("knowledge_base") or None
    first, until = (_day_of(given.get(name, "")) for name in ("from", "to"))
    refused = {
        name: given[name][:100]
        for name, day in (("from", first), ("to", until))
        if given.get(name) and day is None
    }
    if wanted is DocumentList.NEVER_RETRIEVED:  # the inventory is the knowledge base's
        refused |= {name: given[name][:100] for name in ("app", "to") if given.get(name)}
        app = until = None
    last = query.last if until is None else until - timedelta(days=1)
    start = first or last - timedelta(days=DEFAULT_DAYS - 1)
    if not timedelta() <= last - start < timedelta(days=_LONGEST_DAYS):
        refused |= {name: given[name][:100] for name in ("from", "to") if given.get(name)}
        start, last = query.first, query.last
    return replace(query, first=start, last=last, app=app, knowledge_base=base), refused


def _day_of(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.year in _YEARS else None


def _filters(
    query: DocumentQuery, wanted: DocumentList | None, given: Mapping[str, str]
) -> dict[str, Any]:
    """What an address that asks for the same says."""
    from_, to = bool(given.get("from")), bool(given.get("to"))
    until = to and wanted is not DocumentList.NEVER_RETRIEVED
    return {
        "app": query.app,
        "knowledge_base": query.knowledge_base,
        "list": wanted.value if wanted is not None else None,
        "from": query.first.isoformat() if from_ else None,
        "to": (query.last + timedelta(days=1)).isoformat() if until else None,
    }


def _chips(me: Visitor, filters: Mapping[str, Any]) -> list[Chip]:
    """Each filter that is applied, and the list without it."""
    return [
        Chip(
            name=name,
            label=me.translate(label),
            value=filters[name],
            address=me.link("/documents", **{**filters, name: None}),
        )
        for name, label in _CHIPS.items()
        if filters[name] is not None
    ]


def _for_api(filters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value is not None}
