"""What the forms on the pages do. Every form carries the token of its session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.stored import KeyScope
from rag_monitor.i18n import msgid
from rag_monitor.server import audit
from rag_monitor.server.auth import COOKIE, NOBODY, gate_of, services_of
from rag_monitor.server.giving_up import retry
from rag_monitor.server.marks import keep_feedback, what_it_does
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.schemas.feedback import FeedbackIn
from rag_monitor.server.ui import key_form
from rag_monitor.server.ui.confirming import FIELD as CONFIRMED
from rag_monitor.server.ui.confirming import confirm_page
from rag_monitor.server.ui.display import keep_display, way_back
from rag_monitor.server.ui.pages import settings_page, stored_trace
from rag_monitor.server.ui.reviewer import reviewer_of
from rag_monitor.server.ui.saved_views import COOKIE as VIEWS_COOKIE
from rag_monitor.server.ui.saved_views import MAX_NAME, SavedView, cookie_text, saved_views
from rag_monitor.server.ui.sent_form import Form, Sent, back, read_form
from rag_monitor.server.ui.trace_list import FILTERS
from rag_monitor.server.ui.view import Viewer, make_visitor, page

router = APIRouter(include_in_schema=False)

_PAGES: Final = {
    "/ui/rules": "/settings#rules",
    "/ui/rules/try": "/settings#rules",
    "/ui/rules/preview": "/settings#rules",
    "/ui/rules/window": "/alerts#untold",
    "/ui/rules/delete": "/settings#rules",
    "/ui/keys": "/settings#keys",
    "/ui/keys/revoke": "/settings#keys",
    "/ui/silences": "/alerts#silences",
    "/ui/silences/delete": "/alerts#silences",
    "/ui/alerts/act": "/alerts",
    "/ui/views": "/traces",
    "/ui/views/delete": "/traces",
    "/ui/feedback": "/traces",
    "/ui/labels": "/labels",
    "/ui/labels/reviewer": "/labels",
    "/ui/tasks/retry": "/judges",
}
"""Where the forms stand, by the address they are sent to."""
_NO_READER: Final = msgid("This key is not valid here, or may not read.")
_NO_ENTRY: Final = {
    "revoked": msgid("This key was revoked."),
    "expired": msgid("This key has expired."),
}
"""What the sign-in says of a key that opened something once."""


@router.post("/ui/feedback")
def mark(sent: Form) -> Response:
    """Store a person's mark on a trace."""
    if not (sent.me.allows("write") or sent.me.allows("ingest")):
        sent.need(KeyScope.WRITE)
    try:
        given = FeedbackIn(
            trace_id=sent.get("trace_id"),
            value=_value_of(sent),
            metric=sent.get("metric") or None,
            fault=Fault(sent.get("fault")) if sent.get("fault") else None,
            comment=sent.get("comment") or None,
            corrected_answer="\n".join(sent.get("corrected_answer").splitlines()) or None,
        )
    except (ValidationError, ValueError):
        raise ProblemError(422, "The mark cannot be read; go back and choose again.") from None
    me = sent.me
    author = reviewer_of(me) or me.principal.name
    feedback = given.feedback(
        me.principal.project, author, me.services.clock.now(), by_reviewer=True
    )
    # Looked up first: a mark that is stored must not end in a page that says it is not.
    thanks = what_it_does(feedback, partial(stored_trace, me, given.trace_id))
    keep_feedback(me.services, me.request, me.principal, feedback)
    if given.fault is not None:
        return back(f"/traces/{given.trace_id}?thanks={thanks}&of=fault#fault")
    return back(f"/traces/{given.trace_id}?thanks={thanks}#feedback")


def _value_of(sent: Sent) -> float | None:
    if sent.get("fault"):
        return None
    return {"good": 1.0, "bad": 0.0, "unsure": 0.5}.get(sent.get("value"), -1.0)


@router.post("/ui/views")
def save_view(sent: Form) -> Response:
    """Keep the filters of the trace list under a name, in this browser."""
    name = sent.get("name")[:MAX_NAME]
    filters = {key: sent.get(key)[:500] for key in FILTERS if sent.get(key)}
    if not name or not filters:
        raise ProblemError(422, "A view needs a name and at least one filter.")
    view = SavedView(name=name, filters=filters)
    kept = [old for old in saved_views(sent.me.request, FILTERS) if old.name != name]
    return _with_views(sent, view.address, [*kept, view])


@router.post("/ui/views/delete")
def delete_view(sent: Form) -> Response:
    """Forget a view."""
    kept = [old for old in saved_views(sent.me.request, FILTERS) if old.name != sent.get("name")]
    return _with_views(sent, "/traces", kept)


def _with_views(sent: Sent, address: str, views: Sequence[SavedView]) -> Response:
    response = back(address)
    response.set_cookie(
        VIEWS_COOKIE,
        cookie_text(views),
        max_age=31_536_000,
        httponly=True,
        samesite="lax",
        secure=sent.me.services.settings.https,
    )
    return response


@router.post("/ui/display")
def display(sent: Form) -> Response:
    """Choose light or dark, and the time zone, for this browser."""
    response = back(way_back(sent.get("back")[:2000]))
    secure = sent.me.services.settings.https
    keep_display(response, sent.get("theme"), sent.get("zone"), secure=secure)
    return response


@router.post("/ui/keys")
def make_key(sent: Form) -> Response:
    """Make a key; the settings show it this once."""
    sent.need(KeyScope.ADMIN)
    try:
        given = key_form.read(sent.me, sent.get)
    except key_form.KeyRefused as error:
        written = {name: sent.get(name) for name in key_form.FIELDS}
        return settings_page(sent.me, problem=str(error), key_form=written, status=422)

    def create() -> str:
        secret, key = sent.me.services.keys.create(
            sent.me.principal.project,
            given.name,
            frozenset(given.scopes),
            expires_at=given.expires_at,
        )
        scopes = " ".join(sorted(given.scopes))
        ends = audit.until(key.expires_at)
        sent.record("key.create", key.id, name=key.name, scopes=scopes, **ends)
        return secret

    response = back(key_form.PAGE)
    key_form.carry(sent.me, response, sent.me.services.together(create))
    return response


@router.post("/ui/keys/revoke")
def revoke_key(sent: Form) -> Response:
    """Revoke a key, once it was asked whether to."""
    sent.need(KeyScope.ADMIN)
    id, keys, project = sent.get("id")[:64], sent.me.services.keys, sent.me.principal.project
    if not sent.get(CONFIRMED):
        called = next((key.name for key in keys.list(project) if key.id == id), id)
        confirmation = (msgid("Revoke this key?"), msgid("Revoke"), {"id": id})
        return confirm_page(sent.me, *confirmation, what=called, back="/settings#keys")
    sent.change(lambda: keys.revoke(project, id), "key.revoke", id)
    return back("/settings#keys")


@router.post("/ui/tasks/retry")
def retry_parked(sent: Form) -> Response:
    """Have a trace that judging gave up on, or all of them, judged again."""
    sent.need(KeyScope.ADMIN)
    me, trace_id = sent.me, sent.get("trace_id")[:64]
    retry(me.services, me.request, me.principal, [trace_id] if trace_id else None)
    return back("/judges")


def leave_form(me: Viewer) -> Response:
    """Lead from the address of a form, where a refused one is shown, to the page that has it."""
    place, sign, part = _PAGES[me.request.url.path].partition("#")
    query = {name: me.request.query_params.get(name) for name in ("rule", "lang")}
    kept = urlencode({name: value for name, value in query.items() if value})
    return back(f"{place}{'?' if kept else ''}{kept}{sign}{part}")


for _path in _PAGES:
    router.add_api_route(_path, leave_form, methods=["GET"])


@router.get("/login")
def login_page(request: Request) -> Response:
    """Ask for a key."""
    if not gate_of(request).closed:
        return back("/")
    return login_form(request, None, 200)


def login_form(request: Request, problem: str | None, status: int) -> HTMLResponse:
    """The form that asks for a key, with what went wrong."""
    services = services_of(request)
    me = make_visitor(request, services, gate_of(request), NOBODY)
    values = {"problem": problem, "next": inside(request), "sso": services.settings.oidc.enabled}
    return page(me, "login.html", values, status)


def inside(request: Request) -> str:
    """Where to go after signing in: only to a page of ours."""
    path = request.query_params.get("next", "/")
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"


@router.post("/login")
async def login(request: Request, form: Annotated[dict[str, str], Depends(read_form)]) -> Response:
    """Exchange a key for a session."""
    return await run_in_threadpool(_sign_in, request, form)


def _sign_in(request: Request, form: Mapping[str, str]) -> Response:
    gate, services = gate_of(request), services_of(request)
    gate.check_form(gate.session(request), form.get("token", ""))
    key = form.get("key", "").strip()
    principal = gate.try_key(key, request)
    if principal is None or not principal.allows(KeyScope.READ):
        who = replace(principal or NOBODY, key_id=(principal or NOBODY).key_id or audit.NOBODY)
        audit.record(services, request, who, "login.failed")
        problem = _NO_ENTRY.get(gate.ended(key) if principal is None else "", _NO_READER)
        return login_form(request, problem, 401)
    audit.record(services, request, principal, "login")
    response = back(inside(request))
    response.set_cookie(
        COOKIE,
        gate.open_session(principal),
        max_age=int(services.settings.http.session_hours * 3600),
        httponly=True,
        samesite="lax",
        secure=services.settings.https,
    )
    return response


@router.post("/logout")
def logout(sent: Form) -> Response:
    """End the session of this browser."""
    sent.record("logout")
    response = back("/login")
    response.delete_cookie(COOKIE)
    return response
