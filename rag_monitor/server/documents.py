"""Lists of documents, page by page, for the API and for people."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, TypeVar

from rag_monitor.aggregation.document_health import (
    MIN_CONFLICTS,
    DocumentHealth,
    DocumentList,
    DocumentsReport,
    is_harmful,
    is_noisy,
    is_stale,
    may_be_stale,
    report,
    with_info,
)
from rag_monitor.domain.document import (
    ConflictCounts,
    DocumentInfo,
    DocumentKey,
    DocumentKind,
)
from rag_monitor.errors import MalformedPayload
from rag_monitor.store.documents import DocumentQuery, Documents
from rag_monitor.store.inventory import Inventory

DEFAULT_DAYS: Final = 30
MAX_EXPORTED: Final = 10_000
"""Documents of one export."""
_KEY_PARTS: Final = 3

T = TypeVar("T")
Place = tuple[Any, ...]
"""Where a row stands in its order."""


class _Given(Protocol):
    documents: Documents
    inventory: Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictPair:
    """Two documents that state different values for the same thing."""

    counts: ConflictCounts
    used_info: DocumentInfo
    other_info: DocumentInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentsPage:
    """A page of a list."""

    documents: tuple[DocumentHealth, ...] = ()
    pairs: tuple[ConflictPair, ...] = ()
    """Of the list `conflicting`, in place of documents."""
    next_cursor: str | None = None
    judge: str = ""
    rest: int = 0
    """Retrievals of documents that are counted together, and are on no list."""


def read_documents(
    services: Any,
    query: DocumentQuery,
    wanted: DocumentList | None,
    now: datetime,
    limit: int,
    cursor: str | None = None,
) -> DocumentsPage:
    """One page of a list; None: of all documents, the most retrieved first.

    Raises:
        MalformedPayload: The cursor is not one that this list gave.
        TooManyDocumentsError: Name a knowledge base, or fewer days.
    """
    given: _Given = services
    after = None if cursor is None else _decode(cursor, wanted)
    if wanted is DocumentList.NEVER_RETRIEVED:
        return _never_retrieved(given.inventory, query, now, limit, after)
    conflicts = given.documents.conflicts(query)
    if wanted is DocumentList.CONFLICTING:
        return _conflicting(given.documents, query, conflicts, limit, after)
    whole = report(given.documents.counts(query), conflicts)
    documents: Sequence[DocumentHealth] = whole.documents
    if wanted is DocumentList.NOISY:
        documents = [one for one in documents if is_noisy(one)]
    elif wanted is DocumentList.HARMFUL:
        documents = [one for one in documents if is_harmful(one)]
    elif wanted is DocumentList.STALE:
        likely = [one for one in documents if may_be_stale(one)]
        informed = _informed(given.documents, query.project, likely, now)
        documents = [one for one in informed if is_stale(one)]
    shown, following = _page(documents, _place_of, limit, after, wanted)
    if wanted is not DocumentList.STALE:
        shown = _informed(given.documents, query.project, shown, now)
    return _with_totals(DocumentsPage(documents=tuple(shown), next_cursor=following), whole)


def default_query(project: str, now: datetime) -> DocumentQuery:
    """The last 30 days, today among them."""
    today = now.date()
    return DocumentQuery(
        project=project, first=today - timedelta(days=DEFAULT_DAYS - 1), last=today
    )


def _with_totals(page: DocumentsPage, whole: DocumentsReport) -> DocumentsPage:
    return replace(page, judge=whole.judge, rest=whole.rest)


def _informed(
    documents: Documents, project: str, shown: Sequence[DocumentHealth], now: datetime
) -> list[DocumentHealth]:
    infos = documents.infos(project, [one.key for one in shown])
    return [with_info(one, infos.get(one.key), now) for one in shown]


def _conflicting(
    documents: Documents,
    query: DocumentQuery,
    conflicts: Sequence[ConflictCounts],
    limit: int,
    after: Place | None,
) -> DocumentsPage:
    pairs = [pair for pair in conflicts if pair.traces >= MIN_CONFLICTS]
    shown, following = _page(pairs, _place_of_pair, limit, after, DocumentList.CONFLICTING)
    infos = documents.infos(query.project, {key for p in shown for key in (p.used, p.other)})
    nothing = DocumentInfo()
    return DocumentsPage(
        pairs=tuple(
            ConflictPair(
                counts=pair,
                used_info=infos.get(pair.used, nothing),
                other_info=infos.get(pair.other, nothing),
            )
            for pair in shown
        ),
        next_cursor=following,
    )


def _never_retrieved(
    inventory: Inventory, query: DocumentQuery, now: datetime, limit: int, after: Place | None
) -> DocumentsPage:
    rows = inventory.never_retrieved(
        query.project,
        query.first,
        limit + 1,
        query.knowledge_base,
        None if after is None else (str(after[0]), str(after[-1])),
    )
    documents = [
        with_info(
            DocumentHealth(key=DocumentKey(base, DocumentKind.ID, one.document)),
            DocumentInfo(
                title=one.title,
                updated_at=one.updated_at,
                version=one.version,
                effective_date=one.effective_date,
                last_seen=one.last_retrieved,
            ),
            now,
        )
        for base, one in rows
    ]
    last = documents[limit - 1].key if len(documents) > limit else None
    following = None
    if last is not None:
        following = _encode(DocumentList.NEVER_RETRIEVED, (last.knowledge_base, last.document))
    return DocumentsPage(documents=tuple(documents[:limit]), next_cursor=following)


def _place_of(one: DocumentHealth) -> Place:
    return (-one.retrieved, -one.in_context, *one.key)


def _place_of_pair(pair: ConflictCounts) -> Place:
    return (-pair.traces, *pair.used, *pair.other)


def _page(
    rows: Sequence[T],
    place: Callable[[T], Place],
    limit: int,
    after: Place | None,
    wanted: DocumentList | None,
) -> tuple[list[T], str | None]:
    """Those behind a place, and the cursor of the next page."""
    try:
        left = [row for row in rows if after is None or place(row) > after]
    except TypeError:
        raise MalformedPayload("the cursor is not one of this list") from None
    shown = left[:limit]
    return shown, _encode(wanted, place(shown[-1])) if len(left) > limit else None


def _encode(wanted: DocumentList | None, place: Place) -> str:
    text = json.dumps([wanted or "", *place], ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode("ascii").rstrip("=")


def _decode(cursor: str, wanted: DocumentList | None) -> Place:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        of, *place = json.loads(base64.urlsafe_b64decode(padded))
    except (ValueError, TypeError, RecursionError):  # base64's own error is a ValueError
        raise MalformedPayload("the cursor is not one this server handed out") from None
    if of != (wanted or "") or len(place) < _KEY_PARTS - 1:
        raise MalformedPayload("the cursor is not one of this list")
    return tuple(place)
