"""Traces in as JSON, traces out, why they were judged, and erasing a user."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from pydantic import Field

from rag_monitor.domain.stored import SearchIn, TraceQuery
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import msgid
from rag_monitor.server import audit
from rag_monitor.server.auth import Admin, Ingester, Reader, ServicesOf
from rag_monitor.server.problems import AskedLanguage, ProblemError, translated
from rag_monitor.server.schemas import trace_json
from rag_monitor.server.schemas.filters import FilterFields
from rag_monitor.server.schemas.traces import (
    DecisionOut,
    Decisions,
    Erased,
    TraceAccepted,
    TraceDetail,
    TraceList,
)
from rag_monitor.server.schemas.values import TraceId, UserId, plain
from rag_monitor.server.validation import OnceRoute, sentences, unknown_names, waiting_for_index

router = APIRouter(prefix="/api/v1", tags=[msgid("Traces")], route_class=OnceRoute)

_JSON_TYPES: Final = frozenset({"application/json", "application/x-ndjson", "application/jsonl"})
_BULK: Final = (
    "These traces are history: they are judged behind live traffic, and by the full judge however "
    "long that takes."
)
_EXAMPLE: Final = {
    "id": "q-1",
    "app": "bank-faq",
    "release": "v42",
    "question": "How long is the warranty?",
    "contexts": [{"id": "doc-7", "content": "The standard warranty lasts 24 months."}],
    "answer": "The warranty lasts 24 months.",
    "knowledge_base": "manuals",
    "timings": {"first_byte_ms": 120, "generation_ms": 480, "end_to_end_ms": 640},
    "user_id": "u-7",
}


@router.post(
    "/traces",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"anyOf": [trace_json.REFERENCE, {"type": "array"}]},
                    "example": _EXAMPLE,
                }
            },
        }
    },
)
async def post_traces(
    request: Request,
    services: ServicesOf,
    caller: Ingester,
    language: AskedLanguage,
    bulk: Annotated[bool, Query(description=_BULK)] = False,
) -> TraceAccepted:
    """Take one trace or a list of them as Trace JSON; answers once they are committed.

    JSON lines are taken too, as `application/x-ndjson`. Of several, bad ones are told in `errors`.
    """
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type not in _JSON_TYPES:
        raise ProblemError(
            415, "Send `Content-Type: application/json` (one trace or a list), or JSON lines."
        )
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ProblemError(415, "Send the JSON uncompressed; /v1/traces takes gzip.")
    reply = await services.receiver.receive_json(await request.body(), caller.project, bulk=bulk)
    errors = [_wire_error(error) for error in reply.errors]
    if errors and not reply.accepted:
        raise ProblemError(
            422,
            "No trace was taken: {reason}",
            reason=errors[0]["message"],
            kind="trace-invalid",
            errors=errors,
        )
    return TraceAccepted(
        accepted=reply.accepted,
        trace_ids=list(reply.trace_ids),
        unknown_fields=sorted(reply.unknown_fields),
        errors=translated(errors, language),
    )


def _wire_error(error: object) -> dict[str, Any]:
    """`row` is its place in the body, from 0, and `id` its own, where it has one."""
    if is_dataclass(error) and not isinstance(error, type):
        error = asdict(error)
    if isinstance(error, dict):
        members: dict[str, Any] = plain(error)
        members.setdefault("field", "")
        members.setdefault("message", "; ".join(f"{k}: {v}" for k, v in members.items() if v))
        return members
    return {"field": "", "message": str(error)}


class TraceFilter(FilterFields):
    """Which traces to list, and in which order."""

    q: Annotated[str, Field(max_length=500)] | None = Field(
        default=None, description="Text that the trace contains: see `in`."
    )
    in_: SearchIn = Field(
        default=SearchIn.QUESTION,
        alias="in",
        description="Where `q` is looked for. `answer` (or error) and `passages` have no index: "
        "a page looks through some thousand of the newest traces that fit the other filters.",
    )
    cursor: Annotated[str, Field(max_length=1000)] | None = Field(
        default=None, description="`next_cursor` of the page before."
    )
    limit: int = Field(default=50, ge=1, le=500)

    def to_domain(self, project: str) -> TraceQuery:
        """The query of this project.

        Raises:
            ProblemError: 422 for filters that contradict one another.
        """
        return TraceQuery(
            project=project,
            **self.common(),
            q=self.q or None,
            q_in=self.in_,
            cursor=self.cursor,
            limit=self.limit,
        )


@router.get("/traces")
def list_traces(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    where: Annotated[TraceFilter, Query()],
) -> TraceList:
    """List traces that fit all filters, newest first or in the order asked for."""
    query = where.to_domain(caller.project)
    try:
        page = services.traces.search(query)
    except MalformedPayload as error:
        raise ProblemError(
            422, "`cursor`: is not one this server gave for this order; start again without it."
        ) from error
    if where.cursor is not None:
        return TraceList.from_domain(page)
    hints = waiting_for_index(page.indexed_since, language)
    if not page.items:
        unknown = unknown_names(services, caller.project, app=where.app, release=where.release)
        hints += sentences(unknown, language)
    return TraceList.from_domain(page, hints)


@router.get("/traces/{trace_id}")
def read_trace(services: ServicesOf, caller: Reader, trace_id: TraceId) -> TraceDetail:
    """One trace with its passages, scores, verdicts, faults, marks and draws."""
    return TraceDetail.from_domain(services.traces.get(caller.project, trace_id))


@router.get("/decisions/{trace_id}")
def read_decisions(services: ServicesOf, caller: Reader, trace_id: TraceId) -> Decisions:
    """Why the trace was, or was not, given to each judge."""
    stored = services.traces.get(caller.project, trace_id)
    return Decisions(
        trace_id=trace_id,
        decisions=[DecisionOut.from_domain(d, trace_id) for d in stored.decisions],
    )


@router.delete("/users/{user_id:path}", tags=[msgid("Administration")])
def erase_user(services: ServicesOf, request: Request, caller: Admin, user_id: UserId) -> Erased:
    """Erase everything of a user: traces, marks, unreferenced passages, cached replies."""
    services.before_erasure()
    report = services.traces.erase_user(caller.project, user_id)
    erased = audit.pseudonym(services.keys.secret("audit"), user_id)
    audit.record(services, request, caller, "user.erase", erased, traces=report.traces)
    return Erased.from_domain(user_id, report)
