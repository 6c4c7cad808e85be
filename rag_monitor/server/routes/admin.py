"""Keys, the audit log, backfills and parked traces."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from rag_monitor.domain.stored import ApiKey
from rag_monitor.i18n import msgid
from rag_monitor.server import audit
from rag_monitor.server.auth import Admin, Principal, Reader, ServicesOf, Writer
from rag_monitor.server.backfill import BackfillRequest
from rag_monitor.server.giving_up import retry
from rag_monitor.server.problems import AskedLanguage, ProblemError
from rag_monitor.server.schemas.admin import (
    AuditEventOut,
    AuditOut,
    BackfillIn,
    BackfillOut,
    KeyIn,
    KeyMade,
    KeyOut,
    KeysOut,
    ParkedListOut,
    ParkedOut,
    RetryIn,
    RetryOut,
    RotateIn,
)
from rag_monitor.server.schemas.values import Name, RowId, window_of
from rag_monitor.server.services import Services
from rag_monitor.server.validation import OnceRoute, sentences, unknown_names

router = APIRouter(prefix="/api/v1", tags=[msgid("Administration")], route_class=OnceRoute)


@router.post("/evaluations")
def backfill(
    services: ServicesOf,
    request: Request,
    caller: Writer,
    language: AskedLanguage,
    given: BackfillIn,
) -> BackfillOut:
    """Judge stored traces again. By default only says what that would cost."""
    window = window_of(services.clock.now(), None, given.from_, given.to, default="24h")
    wanted = BackfillRequest(
        project=caller.project,
        window=window,
        app=given.app,
        release=given.release,
        judge=given.judge,
        limit=given.limit,
    )
    preview = services.evaluations.preview(wanted)
    queued = 0
    if not given.preview:
        queued = services.evaluations.start(wanted)
        audit.record(
            services, request, caller, "backfill.start", preview.judge, queued=queued, app=given.app
        )
    unknown = (
        []
        if preview.traces
        else unknown_names(services, caller.project, app=given.app, release=given.release)
    )
    return BackfillOut.from_domain(preview, queued, sentences(unknown, language))


@router.get("/tasks/parked")
def list_parked(
    services: ServicesOf, caller: Reader, limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> ParkedListOut:
    """Traces of the project that judging gave up on, the newest first."""
    parked = services.tasks.parked(limit, caller.project)
    return ParkedListOut(traces=[ParkedOut.from_domain(task) for task in parked])


@router.post("/tasks/retry")
def retry_parked(
    services: ServicesOf, request: Request, caller: Admin, given: RetryIn | None = None
) -> RetryOut:
    """Have parked traces judged again. Of those named, any that are not parked are left alone."""
    wanted = None if given is None else given.trace_ids
    return RetryOut(queued=retry(services, request, caller, wanted))


OfProject = Annotated[
    Name | None,
    Query(description="Whose keys; another project's only with the configured key."),
]


def _project(caller: Principal, wanted: str | None) -> str:
    """The project a caller means.

    Raises:
        ProblemError: 403 when it is another one and the caller does not run the installation.
    """
    if wanted is None or wanted == caller.project:
        return caller.project
    if not caller.operator:
        raise ProblemError(
            403,
            "`project`: only the key from RAG_MONITOR_API_KEY reaches other projects.",
            kind="scope-missing",
        )
    return wanted


def _check_future(services: Services, expires_at: datetime | None) -> None:
    """Refuse with 422 a key that would be useless from the start."""
    if expires_at is not None and expires_at <= services.clock.now():
        raise ProblemError(422, "`expires_at`: must be in the future.")


@router.get("/keys")
def list_keys(services: ServicesOf, caller: Admin, project: OfProject = None) -> KeysOut:
    """All keys of the project, without their secrets."""
    keys = services.keys.list(_project(caller, project))
    return KeysOut(keys=[KeyOut.from_domain(key) for key in keys])


@router.post("/keys", status_code=201)
def make_key(services: ServicesOf, request: Request, caller: Admin, given: KeyIn) -> KeyMade:
    """Make a key. Its secret is in this answer and nowhere else."""
    _check_future(services, given.expires_at)
    owner = _project(caller, given.project)
    scopes = " ".join(sorted(given.scopes))

    def create() -> tuple[str, ApiKey]:
        secret, key = services.keys.create(
            owner,
            given.name,
            frozenset(given.scopes),
            expires_at=given.expires_at,
            requests_per_minute=given.requests_per_minute,
        )
        audit.record(
            services,
            request,
            caller.of(owner),
            "key.create",
            key.id,
            name=key.name,
            scopes=scopes,
            **audit.until(key.expires_at),
        )
        return secret, key

    secret, key = services.together(create)
    return KeyMade(key=KeyOut.from_domain(key), secret=secret)


@router.post("/keys/{key_id}/rotate", status_code=201)
def rotate_key(
    services: ServicesOf,
    request: Request,
    caller: Admin,
    key_id: RowId,
    given: RotateIn | None = None,
    project: OfProject = None,
) -> KeyMade:
    """Replace a key by one of the same name, scopes and limits; the old one ends after a grace."""
    owner = _project(caller, project)
    wanted = given or RotateIn()
    _check_future(services, wanted.expires_at)
    grace = timedelta(seconds=wanted.grace_s)

    def rotate() -> tuple[str, ApiKey]:
        secret, key = services.keys.rotate(owner, key_id, grace, expires_at=wanted.expires_at)
        audit.record(
            services,
            request,
            caller.of(owner),
            "key.rotate",
            key_id,
            new=key.id,
            grace_s=grace.total_seconds(),
            **audit.until(wanted.expires_at),
        )
        return secret, key

    secret, key = services.together(rotate)
    return KeyMade(key=KeyOut.from_domain(key), secret=secret)


@router.delete("/keys/{key_id}", status_code=204, response_class=Response)
def revoke_key(
    services: ServicesOf,
    request: Request,
    caller: Admin,
    key_id: RowId,
    project: OfProject = None,
) -> None:
    """Revoke a key at once."""
    owner = _project(caller, project)
    audit.changing(
        services,
        request,
        caller.of(owner),
        lambda: services.keys.revoke(owner, key_id),
        "key.revoke",
        key_id,
    )


@router.get("/audit")
def list_audit(
    services: ServicesOf,
    caller: Admin,
    action: Annotated[
        str | None,
        Query(
            pattern=r"^[a-z_]{1,32}(\.[a-z_]{1,32})?$", description="`key.create`, or all `key`."
        ),
    ] = None,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    project: OfProject = None,
) -> AuditOut:
    """Who changed what in the project, newest first."""
    owner = _project(caller, project)
    events = services.audit.list(owner, action=action, before=before, limit=limit)
    return AuditOut(
        events=[AuditEventOut.from_domain(event) for event in events],
        next_before=events[-1].id if len(events) == limit else None,
    )
