"""What became of documents, and what knowledge bases hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from rag_monitor.aggregation.document_health import DocumentList
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import Message, msgid, translate
from rag_monitor.server import audit
from rag_monitor.server.auth import Principal, Reader, ServicesOf, Writer
from rag_monitor.server.csv_text import csv_text, flat
from rag_monitor.server.documents import (
    MAX_EXPORTED,
    DocumentsPage,
    default_query,
    read_documents,
)
from rag_monitor.server.problems import AskedLanguage, ProblemError
from rag_monitor.server.schemas.documents import (
    ConflictOut,
    DocumentOut,
    DocumentsOut,
    InventoryIn,
    InventoryOut,
    InventoryRemoved,
)
from rag_monitor.server.schemas.values import MAX_SPAN, Given, Moment, Name
from rag_monitor.server.services import Services
from rag_monitor.server.validation import OnceRoute, Unknown, sentences, unknown_names
from rag_monitor.store.documents import DocumentQuery, TooManyDocumentsError
from rag_monitor.store.inventory import MAX_DOCUMENTS

router = APIRouter(prefix="/api/v1", tags=[msgid("Documents")], route_class=OnceRoute)

_NO_INVENTORY = msgid(
    "no inventory is imported; send one with POST /api/v1/documents/inventory or "
    "`rag-monitor documents import`"
)


class DocumentFilter(Given):
    """Which documents; numbers are kept by whole UTC days."""

    app: Name | None = None
    knowledge_base: Annotated[str, Field(max_length=200)] | None = Field(
        default=None, description="Empty: documents of which none is named."
    )
    list_: DocumentList | None = Field(
        default=None, alias="list", description="Default: all, the most retrieved first."
    )
    from_: date | None = Field(
        default=None, alias="from", description="First day, UTC; default: 29 days ago."
    )
    to: date | None = Field(
        default=None, description="The day after the last one; default: tomorrow."
    )

    def to_domain(self, services: Services, project: str) -> DocumentQuery:
        """The query of this project.

        Raises:
            ProblemError: 422 for filters that contradict one another, or that the list lacks.
        """
        if self.list_ is DocumentList.NEVER_RETRIEVED:
            for name, value in (("app", self.app), ("to", self.to)):
                if value is not None:
                    raise ProblemError(
                        422,
                        "`{name}`: the inventory is the knowledge base's, and says only when a "
                        "document was last retrieved; leave `{name}` out with this list.",
                        name=name,
                    )
        query = default_query(project, services.clock.now())
        last = query.last if self.to is None else self.to - timedelta(days=1)
        first = self.from_ or last - (query.last - query.first)
        if first > last:
            raise ProblemError(422, "`from`: must be earlier than `to`.")
        if last - first >= MAX_SPAN:
            raise ProblemError(
                422, "the window may be at most {days} days long", days=MAX_SPAN.days
            )
        return replace(
            query, first=first, last=last, app=self.app, knowledge_base=self.knowledge_base
        )


class DocumentPageFilter(DocumentFilter):
    """Which documents, page by page."""

    cursor: Annotated[str, Field(max_length=4000)] | None = Field(
        default=None, description="`next_cursor` of the page before."
    )
    limit: int = Field(default=50, ge=1, le=500)


@router.get("/documents")
def list_documents(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    where: Annotated[DocumentPageFilter, Query()],
) -> DocumentsOut:
    """What became of each document, or the documents of a list."""
    query = where.to_domain(services, caller.project)
    page = _page(services, query, where.list_, where.limit, where.cursor)
    hints: list[str] = []
    if not page.documents and not page.pairs and where.cursor is None:
        hints = _hints(services, caller, language, where)
    return DocumentsOut.from_domain(query, page, hints)


@router.get(
    "/documents.csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def export_documents(
    services: ServicesOf, caller: Reader, where: Annotated[DocumentFilter, Query()]
) -> Response:
    """The same as a table for spreadsheets, at most 10,000 rows."""
    query = where.to_domain(services, caller.project)
    page = _page(services, query, where.list_, MAX_EXPORTED)
    if where.list_ is DocumentList.CONFLICTING:
        rows = [flat(ConflictOut.from_domain(p).model_dump(mode="json")) for p in page.pairs]
    else:
        rows = [flat(DocumentOut.from_domain(d).model_dump(mode="json")) for d in page.documents]
    columns = list(rows[0]) if rows else ["knowledge_base", "kind", "document"]
    # The mark tells spreadsheets that the text is UTF-8.
    return Response(
        "\ufeff" + csv_text(columns, rows),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="documents.csv"'},
    )


@router.post("/documents/inventory")
def add_inventory(
    services: ServicesOf, request: Request, caller: Writer, given: InventoryIn
) -> InventoryOut:
    """Say which documents a knowledge base holds, so that those never retrieved are known."""
    listed = [document.to_domain() for document in given.documents]
    imported_at = services.clock.now()

    def add() -> int:
        count = services.inventory.add(caller.project, given.knowledge_base, listed)
        if count is None:
            raise ProblemError(
                422,
                "`documents`: an inventory holds at most {most} documents; remove those that the "
                "knowledge base no longer has.",
                most=MAX_DOCUMENTS,
            )
        return count

    base = given.knowledge_base
    there = audit.changing(
        services, request, caller, add, "inventory.import", base, count=len(listed)
    )
    return InventoryOut(knowledge_base=base, documents=there, imported_at=imported_at)


@router.delete("/documents/inventory")
def remove_inventory(
    services: ServicesOf,
    request: Request,
    caller: Writer,
    knowledge_base: Annotated[Name, Query()],
    before: Annotated[
        Moment | None, Query(description="Only documents that were last imported before this.")
    ] = None,
) -> InventoryRemoved:
    """Take documents off the inventory of a knowledge base; what is counted of them stays."""
    removed = audit.changing(
        services,
        request,
        caller,
        lambda: services.inventory.remove(caller.project, knowledge_base, before),
        "inventory.remove",
        knowledge_base,
    )
    return InventoryRemoved(knowledge_base=knowledge_base, removed=removed)


def _page(
    services: Services,
    query: DocumentQuery,
    wanted: DocumentList | None,
    limit: int,
    cursor: str | None = None,
) -> DocumentsPage:
    try:
        return read_documents(services, query, wanted, services.clock.now(), limit, cursor)
    except MalformedPayload as error:
        raise ProblemError(
            422, "`cursor`: is not one this server gave; start again without it."
        ) from error
    except TooManyDocumentsError as error:
        raise ProblemError(
            422, "too many documents at once: name a `knowledge_base`, or fewer days"
        ) from error


def _hints(
    services: Services, caller: Principal, language: str, where: DocumentFilter
) -> list[str]:
    if where.list_ is DocumentList.NEVER_RETRIEVED:
        base = where.knowledge_base
        if not base or services.inventory.count(caller.project, base):
            return []
        return [translate(Message(_NO_INVENTORY), language)]
    unknown = unknown_names(services, caller.project, app=where.app)
    bases = services.documents.knowledge_bases(caller.project)
    if where.knowledge_base and where.knowledge_base not in bases:
        unknown.append(Unknown.of("knowledge_base", where.knowledge_base, bases))
    return sentences(unknown, language)
