"""Reviewers' marks: the traces that wait for one, export and import."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Reader, ServicesOf, Writer
from rag_monitor.server.csv_text import csv_text
from rag_monitor.server.marks import write_down
from rag_monitor.server.problems import AskedLanguage, ProblemError
from rag_monitor.server.schemas.labels import (
    LabelOut,
    LabelsIn,
    LabelsKept,
    LabelsOut,
    LabelTaskOut,
    LabelTasks,
)
from rag_monitor.server.schemas.values import Given, Moment, Name, WindowText, parse_length
from rag_monitor.server.validation import OnceRoute, sentences, unknown_names
from rag_monitor.store.label_queue import LabelQuery

router = APIRouter(prefix="/api/v1", tags=[msgid("Traces")], route_class=OnceRoute)

MOST_EXPORTED: Final = 20_000
"""Marks in one answer."""
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_IN_CSV: Final = "correct_document_ids"


class WaitingFilter(Given):
    """Which traces to ask people about."""

    app: Name | None = None
    window: WindowText = Field(default="7d", description="How far back; default 7d.")
    limit: int = Field(default=50, ge=1, le=200)
    reviewer: Name | None = Field(
        default=None,
        description="Leaves out what this person has marked, and what others mark just now.",
    )


class LabelFilter(Given):
    """Which marks."""

    app: Name | None = None
    from_: Moment | None = Field(
        default=None, alias="from", description="Marks made from then on; default: all."
    )
    to: Moment | None = Field(default=None, description="Marks made before; default: all.")
    format: Literal["json", "jsonl", "csv"] = Field(
        default="json", description="`jsonl`: one mark a line; `csv`: for spreadsheets."
    )


@router.get("/labels/waiting")
def waiting_labels(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    where: Annotated[WaitingFilter, Query()],
) -> LabelTasks:
    """Traces that wait for a mark, those first whose mark teaches most."""
    query = LabelQuery(
        project=caller.project,
        since=services.clock.now() - parse_length(where.window),
        app=where.app,
        reviewer=where.reviewer,
        marks_per_trace=services.settings.labels.marks_per_trace,
    )
    tasks = services.label_queue.waiting(query, where.limit)
    unknown = [] if tasks else unknown_names(services, caller.project, app=where.app)
    return LabelTasks(
        items=[LabelTaskOut.from_domain(task) for task in tasks], hints=sentences(unknown, language)
    )


@router.get(
    "/labels",
    response_model=LabelsOut,
    responses={
        200: {
            "content": {
                "application/x-ndjson": {"schema": {"type": "string"}},
                "text/csv": {"schema": {"type": "string"}},
            }
        }
    },
)
def export_labels(
    services: ServicesOf, caller: Reader, where: Annotated[LabelFilter, Query()]
) -> LabelsOut | Response:
    """Reviewers' marks, the oldest first, at most 20,000."""
    end = where.to or services.clock.now() + timedelta(seconds=1)
    labelled = services.feedback.labels(
        caller.project, where.from_ or _EVER, end, app=where.app, limit=MOST_EXPORTED + 1
    )
    if len(labelled) > MOST_EXPORTED:
        raise ProblemError(
            422,
            "There are more than {most} marks: ask for parts of them with `from` and `to`.",
            most=MOST_EXPORTED,
        )
    labels = [LabelOut.from_domain(one) for one in labelled]
    if where.format == "json":
        return LabelsOut(labels=labels)
    if where.format == "jsonl":
        lines = "".join(f"{label.model_dump_json()}\n" for label in labels)
        return _file(lines, "application/x-ndjson", "labels.jsonl")
    columns = [name for name in LabelOut.model_fields if name != _NOT_IN_CSV]
    rows = [label.model_dump(mode="json", include=set(columns)) for label in labels]
    # The mark tells spreadsheets that the text is UTF-8.
    return _file("\ufeff" + csv_text(columns, rows), "text/csv; charset=utf-8", "labels.csv")


@router.post("/labels")
def import_labels(
    request: Request, services: ServicesOf, caller: Writer, given: LabelsIn
) -> LabelsKept:
    """Import reviewers' marks, at most 1,000 at a time, all or none. Those stored already stay.

    A mark is stored already where the same author said the same of the same thing at the same time.
    """
    now = services.clock.now()
    marks = [label.mark(caller.project, now, place) for place, label in enumerate(given.labels)]

    def keep() -> int:
        new = services.feedback.add_new(marks)
        for mark in new:
            write_down(services, request, caller, mark)
        return len(new)

    imported = services.together(keep)
    return LabelsKept(imported=imported, unchanged=len(marks) - imported)


def _file(text: str, media_type: str, name: str) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media_type, headers=disposition)
