"""Stored questions as rows of a golden set."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Reader, ServicesOf
from rag_monitor.server.golden_items import golden_of_session, golden_of_trace, with_answer
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.schemas.golden import GoldenItem, GoldenItems
from rag_monitor.server.schemas.values import Given, TraceId
from rag_monitor.server.validation import OnceRoute

router = APIRouter(prefix="/api/v1", tags=[msgid("Traces")], route_class=OnceRoute)


class GoldenQuery(Given):
    """Which question: of a trace, or the last one of a session."""

    trace_id: TraceId | None = None
    session_id: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    format: Literal["json", "jsonl"] = Field(
        default="json", description="`jsonl`: the file that `golden` and `evaluate` read."
    )


@router.get(
    "/golden",
    response_model=GoldenItems,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
def export_golden(
    services: ServicesOf, caller: Reader, where: Annotated[GoldenQuery, Query()]
) -> GoldenItems | Response:
    """A stored question as a row of a golden set, with the turns before it in its session.

    `rag-monitor golden` asks it anew, `rag-monitor evaluate` scores the answer of then. The
    reference is what people said. Nothing where the question was withheld.
    """
    trace_id, session_id = where.trace_id, where.session_id
    if (trace_id is None) == (session_id is None):
        raise ProblemError(422, "Name a trace with `trace_id`, or a session with `session_id`.")
    with services.reading():
        if session_id is not None:
            item = golden_of_session(services, caller.project, session_id)
        else:
            stored = services.traces.get(caller.project, trace_id or "")
            item = golden_of_trace(services, stored)
        rows = []
        if item is not None:
            trace = services.traces.get(caller.project, item["id"]).trace
            rows.append(with_answer(item, trace))
    if where.format == "json":
        return GoldenItems(items=[GoldenItem(**row) for row in rows])
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    disposition = {"Content-Disposition": 'attachment; filename="golden.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=disposition)
