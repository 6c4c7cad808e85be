"""Keys and backfills."""

from __future__ import annotations

from fastapi import APIRouter

from rag_monitor.server.auth import Admin, ServicesOf, Writer
from rag_monitor.server.ports import BackfillRequest
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.schemas.admin import (
    BackfillIn,
    BackfillOut,
    KeyIn,
    KeyMade,
    KeyOut,
    KeysOut,
)
from rag_monitor.server.schemas.values import RowId, window_of

router = APIRouter(prefix="/api/v1", tags=["Administration"])


@router.post("/evaluations")
def backfill(services: ServicesOf, caller: Writer, given: BackfillIn) -> BackfillOut:
    """Judge stored traces again. By default only says what that would cost."""
    window = window_of(services.clock.now(), None, given.from_, given.to, default="24h")
    request = BackfillRequest(
        project=caller.project,
        window=window,
        app=given.app,
        release=given.release,
        judge=given.judge,
        limit=given.limit,
    )
    preview = services.evaluations.preview(request)
    queued = 0 if given.preview else services.evaluations.start(request)
    return BackfillOut.from_domain(preview, queued)


@router.get("/keys")
def list_keys(services: ServicesOf, caller: Admin) -> KeysOut:
    """All keys of the project, without their secrets."""
    return KeysOut(keys=[KeyOut.from_domain(key) for key in services.keys.list(caller.project)])


@router.post("/keys", status_code=201)
def make_key(services: ServicesOf, caller: Admin, given: KeyIn) -> KeyMade:
    """Make a key. Its secret is in this answer and nowhere else."""
    if given.expires_at is not None and given.expires_at <= services.clock.now():
        raise ProblemError(422, "`expires_at`: must be in the future.")
    secret, key = services.keys.create(
        caller.project, given.name, frozenset(given.scopes), expires_at=given.expires_at
    )
    return KeyMade(key=KeyOut.from_domain(key), secret=secret)


@router.delete("/keys/{key_id}", status_code=204)
def revoke_key(services: ServicesOf, caller: Admin, key_id: RowId) -> None:
    """Revoke a key at once."""
    services.keys.revoke(caller.project, key_id)
