"""What the forms on the pages do. Every form carries the token of its session."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Annotated, Final
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rag_monitor.domain.alert import AlertRule, FieldName, Silence
from rag_monitor.domain.fault import Fault
from rag_monitor.domain.stored import KeyScope
from rag_monitor.errors import NotFound, RuleError
from rag_monitor.i18n import Message, msgid
from rag_monitor.server import audit
from rag_monitor.server.auth import COOKIE, NOBODY, gate_of, services_of
from rag_monitor.server.giving_up import retry
from rag_monitor.server.marks import keep_feedback, what_it_does
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.rule_windows import change_window
from rag_monitor.server.schemas.alerts import RuleIn
from rag_monitor.server.schemas.feedback import FeedbackIn
from rag_monitor.server.schemas.rule_states import RuleWindowIn
from rag_monitor.server.ui import key_form
from rag_monitor.server.ui.alert_pages import SILENCE_HOURS, TRIAL_DAYS, trial_page
from rag_monitor.server.ui.confirming import FIELD as CONFIRMED
from rag_monitor.server.ui.confirming import confirm_page
from rag_monitor.server.ui.display import keep_display, way_back
from rag_monitor.server.ui.pages import settings_page, stored_trace
from rag_monitor.server.ui.reviewer import reviewer_of
from rag_monitor.server.ui.rule_form import (
    RULE_FIELDS,
    field_problem,
    fields_of,
    number_of,
    rule_problem,
)
from rag_monitor.server.ui.saved_views import COOKIE as VIEWS_COOKIE
from rag_monitor.server.ui.saved_views import MAX_NAME, SavedView, cookie_text, saved_views
from rag_monitor.server.ui.trace_list import FILTERS
from rag_monitor.server.ui.view import Viewer, Visitor, make_visitor, page, visitor_of

router = APIRouter(include_in_schema=False)

MAX_FIELDS: Final = 100
_PAGES: Final = {
    "/ui/rules": "/settings#rules",
    "/ui/rules/try": "/settings#rules",
    "/ui/rules/window": "/alerts#untold",
    "/ui/rules/delete": "/settings#rules",
    "/ui/keys": "/settings#keys",
    "/ui/keys/revoke": "/settings#keys",
    "/ui/silences": "/alerts#silences",
    "/ui/silences/delete": "/alerts#silences",
    "/ui/alerts/acknowledge": "/alerts",
    "/ui/views": "/traces",
    "/ui/views/delete": "/traces",
    "/ui/feedback": "/traces",
    "/ui/labels": "/labels",
    "/ui/labels/reviewer": "/labels",
    "/ui/tasks/retry": "/judges",
}
"""Where the forms stand, by the address they are sent to."""
_LACKING: Final = {
    KeyScope.WRITE: Message("This key lacks the scope `write`."),
    KeyScope.ADMIN: Message("This key lacks the scope `admin`."),
}
_NO_READER: Final = msgid("This key is not valid here, or may not read.")
_NO_ENTRY: Final = {
    "revoked": msgid("This key was revoked."),
    "expired": msgid("This key has expired."),
}
"""What the sign-in says of a key that opened something once."""


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form that a browser sent url-encoded."""
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type != "application/x-www-form-urlencoded":
        raise ProblemError(415, "Forms are sent as application/x-www-form-urlencoded.")
    try:
        text = (await request.body()).decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise ProblemError(400, "The form cannot be read.") from None
    form: dict[str, str] = {}
    for name, value in pairs:
        form[name] = f"{form[name]},{value}" if name in form else value
    return form


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A form with who sent it; its token was checked."""

    me: Visitor
    form: Mapping[str, str]

    def get(self, name: str) -> str:
        """A field without outer white space; empty when it was not sent."""
        return self.form.get(name, "").strip()

    def record(self, action: str, target: str = "", **details: audit.Detail) -> None:
        """Write down what was done."""
        me = self.me
        audit.record(me.services, me.request, me.principal, action, target, **details)

    def change(
        self, change: Callable[[], object], action: str, target: str, **details: audit.Detail
    ) -> None:
        """Make a change of the store and write it down, both or neither."""
        me = self.me
        audit.changing(me.services, me.request, me.principal, change, action, target, **details)

    def need(self, scope: KeyScope) -> None:
        """Raise 403 unless the sender may do it."""
        if not self.me.principal.allows(scope):
            raise ProblemError(403, _LACKING[scope])


def sent_of(request: Request, form: Annotated[dict[str, str], Depends(read_form)]) -> Sent:
    """A dependency: the form, from somebody who may read, with a valid token."""
    me = visitor_of(request)
    gate_of(request).check_form(None if me.cookie else me.session, form.get("token", ""))
    return Sent(me=me, form=form)


Form = Annotated[Sent, Depends(sent_of)]


def _back(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303)


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
        return _back(f"/traces/{given.trace_id}?thanks={thanks}&of=fault#fault")
    return _back(f"/traces/{given.trace_id}?thanks={thanks}#feedback")


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
    response = _back(address)
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
    response = _back(way_back(sent.get("back")[:2000]))
    secure = sent.me.services.settings.https
    keep_display(response, sent.get("theme"), sent.get("zone"), secure=secure)
    return response


@router.post("/ui/alerts/acknowledge")
def acknowledge(sent: Form) -> Response:
    """Say that somebody has seen an alert."""
    sent.need(KeyScope.WRITE)
    by = sent.get("by")[:200] or sent.me.principal.name
    id, alerts, project = sent.get("id")[:64], sent.me.services.alerts, sent.me.principal.project
    sent.change(lambda: alerts.acknowledge(project, id, by), "alert.acknowledge", id, by=by)
    return _back(f"/alerts#alert-{quote(id)}")


@router.post("/ui/silences")
def silence(sent: Form) -> Response:
    """Mute a rule, an app, or one on the other."""
    sent.need(KeyScope.WRITE)
    if sent.get("hours") not in SILENCE_HOURS:
        raise ProblemError(422, "Choose for how long.")
    hours = int(sent.get("hours"))
    now = sent.me.services.clock.now()
    made = Silence(
        id=secrets.token_hex(8),
        project=sent.me.principal.project,
        rule=sent.get("rule")[:200] or "*",
        app=sent.get("app")[:200] or "*",
        starts_at=now,
        ends_at=now + timedelta(hours=hours),
        comment=sent.get("comment")[:4000],
        created_by=sent.me.principal.name,
    )
    details: dict[str, audit.Detail] = {"rule": made.rule, "app": made.app, "hours": hours}
    sent.change(lambda: sent.me.services.silences.add(made), "silence.create", made.id, **details)
    return _back("/alerts#silences")


@router.post("/ui/silences/delete")
def end_silence(sent: Form) -> Response:
    """End a silence."""
    sent.need(KeyScope.WRITE)
    id, silences, project = (
        sent.get("id")[:64],
        sent.me.services.silences,
        sent.me.principal.project,
    )
    sent.change(lambda: silences.delete(project, id), "silence.delete", id)
    return _back("/alerts#silences")


@router.post("/ui/rules")
def save_rule(sent: Form) -> Response:
    """Save a rule, once it is known to be able to work."""
    sent.need(KeyScope.WRITE)
    rule, problem = _written_rule(sent)
    if rule is None:
        return _refused_rule(sent, problem)
    rules, old = sent.me.services.rules, _opened_as(sent)
    try:
        if old in ("", rule.name):
            sent.change(lambda: rules.save(rule), "rule.save", rule.name)
        else:
            details: dict[str, audit.Detail] = {"renamed_from": old}
            sent.change(lambda: rules.rename(old, rule), "rule.save", rule.name, **details)
    except RuleError as error:  # somebody took the name in this moment
        return _refused_rule(sent, rule_problem(str(error), sent.me.language))
    except NotFound:
        # Whoever renamed it may want it as it is now; saved from here, it is a second rule.
        gone = Message(
            "{field}: the rule {name!r} is gone: somebody renamed or deleted it; save again to add "
            "this one",
            field=FieldName("name"),
            name=old,
        )
        return _refused_rule(sent, rule_problem(gone, sent.me.language), original="")
    return _back("/settings#rules")


def _refused_rule(sent: Sent, problem: str, original: str | None = None) -> Response:
    """The form again, as it was filled in, of the rule it was opened with, or of `original`."""
    kept = _opened_as(sent) if original is None else original
    form = {name: sent.get(name) for name in RULE_FIELDS} | {"original": kept}
    return settings_page(sent.me, problem=problem, form=form, status=422)


def _opened_as(sent: Sent) -> str:
    """The name of the rule that the form was opened with; empty for a new one.

    A form that does not say, such as that of a dry run, is of the rule it names.
    """
    return sent.get("original") if "original" in sent.form else sent.get("name")


def _rule_names(me: Visitor) -> set[str]:
    return {rule.name for rule in me.services.rules.all(me.principal.project)}


def _written_rule(sent: Sent) -> tuple[AlertRule | None, str]:
    """The rule of the form, or what is wrong with it."""
    try:
        rule = RuleIn.model_validate(fields_of(sent.get)).to_domain(sent.me.principal.project)
        sent.me.services.check_rule(rule)
        _check_name(sent, rule.name)
    except ValidationError as error:
        return None, field_problem(error.errors(), sent.me.language)
    except RuleError as error:
        return None, rule_problem(str(error), sent.me.language)
    return rule, ""


def _check_name(sent: Sent, name: str) -> None:
    """Raise RuleError when saving would silently replace a rule other than the one edited."""
    if name != _opened_as(sent) and name in _rule_names(sent.me):
        raise RuleError(
            "{field}: another rule is called {name!r}; choose another name, or edit that one",
            field=FieldName("name"),
            name=name,
        )


@router.post("/ui/rules/try")
def try_rule(sent: Form) -> Response:
    """Show what a rule, saved or just written, would find. Saves and announces nothing."""
    me = sent.me
    if sent.get("kind"):
        rule, problem = _written_rule(sent)
        if rule is None:
            return _refused_rule(sent, problem)
    else:
        saved = {rule.name: rule for rule in me.services.rules.all(me.principal.project)}
        if sent.get("name") not in saved:
            raise ProblemError(404, "There is no such rule.", kind="not-found")
        rule = saved[sent.get("name")]
    days = sent.get("days")
    return trial_page(me, rule, int(days) if days in TRIAL_DAYS else 0, _opened_as(sent))


@router.post("/ui/rules/window")
def fix_window(sent: Form) -> Response:
    """Let a rule look at an app over another window, or (none given) over its own again."""
    sent.need(KeyScope.WRITE)
    fields: dict[str, object] = {name: sent.get(name) for name in ("rule", "app")}
    if sent.get("window_s"):
        fields["window_s"] = number_of(sent.get("window_s"))
    try:
        given = RuleWindowIn.model_validate(fields)
    except ValidationError as error:
        raise ProblemError(422, field_problem(error.errors(), sent.me.language)) from None
    change_window(sent.me.services, sent.me.request, sent.me.principal, given)
    return _back("/alerts#untold")


@router.post("/ui/rules/delete")
def delete_rule(sent: Form) -> Response:
    """Delete a rule, once it was asked whether to."""
    sent.need(KeyScope.WRITE)
    name, rules, project = sent.get("name")[:200], sent.me.services.rules, sent.me.principal.project
    if not sent.get(CONFIRMED):
        confirmation = (msgid("Delete this rule?"), msgid("Delete this rule"), {"name": name})
        return confirm_page(sent.me, *confirmation, what=name, back="/settings#rules")
    sent.change(lambda: rules.delete(project, name), "rule.delete", name)
    return _back("/settings#rules")


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

    response = _back(key_form.PAGE)
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
    return _back("/settings#keys")


@router.post("/ui/tasks/retry")
def retry_parked(sent: Form) -> Response:
    """Have a trace that judging gave up on, or all of them, judged again."""
    sent.need(KeyScope.ADMIN)
    me, trace_id = sent.me, sent.get("trace_id")[:64]
    retry(me.services, me.request, me.principal, [trace_id] if trace_id else None)
    return _back("/judges")


def leave_form(me: Viewer) -> Response:
    """Lead from the address of a form, where a refused one is shown, to the page that has it."""
    place, sign, part = _PAGES[me.request.url.path].partition("#")
    query = {name: me.request.query_params.get(name) for name in ("rule", "lang")}
    kept = urlencode({name: value for name, value in query.items() if value})
    return _back(f"{place}{'?' if kept else ''}{kept}{sign}{part}")


for _path in _PAGES:
    router.add_api_route(_path, leave_form, methods=["GET"])


@router.get("/login")
def login_page(request: Request) -> Response:
    """Ask for a key."""
    if not gate_of(request).closed:
        return _back("/")
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
    response = _back(inside(request))
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
    response = _back("/login")
    response.delete_cookie(COOKIE)
    return response
