"""What the forms of rules do: save, try, preview and delete them, and fix their windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.responses import Response

from rag_monitor.domain.alert import AlertRule, FieldName
from rag_monitor.domain.stored import KeyScope
from rag_monitor.errors import NotFound, RuleError
from rag_monitor.i18n import Message, msgid
from rag_monitor.server import audit
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.rule_windows import change_window
from rag_monitor.server.schemas.alerts import RuleIn
from rag_monitor.server.schemas.rule_states import RuleWindowIn
from rag_monitor.server.ui.alert_pages import TRIAL_DAYS, trial_page
from rag_monitor.server.ui.confirming import FIELD as CONFIRMED
from rag_monitor.server.ui.confirming import confirm_page
from rag_monitor.server.ui.pages import settings_page
from rag_monitor.server.ui.rule_form import (
    Reading,
    field_problem,
    given_form,
    number_of,
    read_fields,
    rule_problems,
    schema_problems,
)
from rag_monitor.server.ui.rule_panel import SentRule, remarks
from rag_monitor.server.ui.rule_preview import Preview, preview_of
from rag_monitor.server.ui.sent_form import Form, Sent, back
from rag_monitor.server.ui.view import Visitor, page

router = APIRouter(include_in_schema=False)

_UNNAMED = "-"
"""What a rule is called that is previewed before it has a name."""


@router.post("/ui/rules")
def save_rule(sent: Form) -> Response:
    """Save a rule, once it is known to be able to work."""
    sent.need(KeyScope.WRITE)
    rule, form = _written_rule(sent)
    if rule is None:
        return _refused(sent, form)
    rules, old = sent.me.services.rules, _opened_as(sent)
    try:
        if old in ("", rule.name):
            sent.change(lambda: rules.save(rule), "rule.save", rule.name)
        else:
            details: dict[str, audit.Detail] = {"renamed_from": old}
            sent.change(lambda: rules.rename(old, rule), "rule.save", rule.name, **details)
    except RuleError as error:  # somebody took the name in this moment
        return _refused(sent, _form_of(sent, problems=rule_problems(error, rule.kind.value)))
    except NotFound:
        # Whoever renamed it may want it as it is now; saved from here, it is a second rule.
        gone = Message(
            "{field}: the rule {name!r} is gone: somebody renamed or deleted it; save again to add "
            "this one",
            field=FieldName("name"),
            name=old,
        )
        return _refused(sent, _form_of(sent, problems={"name": gone}, original=""))
    return back(f"{sent.me.link('/settings', saved=rule.name)}#rules")


def _refused(sent: Sent, form: SentRule) -> Response:
    """The form again, as it was filled in, with what is wrong."""
    return settings_page(sent.me, form=form, status=422)


def _form_of(
    sent: Sent,
    *,
    reading: Reading | None = None,
    problems: Mapping[str, str] | None = None,
    preview: Preview | None = None,
    original: str | None = None,
) -> SentRule:
    return SentRule(
        given=given_form(sent.form),
        original=_opened_as(sent) if original is None else original,
        reading=reading or read_fields(sent.form),
        problems=problems or {},
        preview=preview,
    )


def _opened_as(sent: Sent) -> str:
    """The name of the rule that the form was opened with; empty for a new one.

    A form that does not say, such as that of a dry run, is of the rule it names.
    """
    return sent.get("original") if "original" in sent.form else sent.get("name")


def _rule_names(me: Visitor) -> set[str]:
    return {rule.name for rule in me.services.rules.all(me.principal.project)}


def _written_rule(sent: Sent, unnamed: str = "") -> tuple[AlertRule | None, SentRule]:
    """The rule of the form (None: it cannot be one), and the form with what is wrong.

    Args:
        sent: The form.
        unnamed: The name of a rule that has none yet.
    """
    kind, reading = sent.get("kind"), read_fields(sent.form)
    reading.fields["name"] = reading.fields["name"] or unnamed
    problems = dict(reading.problems)
    rule: AlertRule | None = None
    try:
        rule = RuleIn.model_validate(reading.fields).to_domain(sent.me.principal.project)
        if not problems:
            sent.me.services.check_rule(rule)
            _check_name(sent, rule.name)
    except ValidationError as error:
        problems = schema_problems(error.errors(), kind) | problems
    except RuleError as error:
        problems = rule_problems(error, kind)
    form = _form_of(sent, reading=reading, problems=problems)
    return None if problems else rule, form


def _check_name(sent: Sent, name: str) -> None:
    """Raise RuleError when saving would silently replace a rule other than the one edited."""
    if name != _opened_as(sent) and name in _rule_names(sent.me):
        raise RuleError(
            "{field}: another rule is called {name!r}; choose another name, or edit that one",
            field=FieldName("name"),
            name=name,
        )


@router.post("/ui/rules/preview")
def preview_rule(sent: Form) -> Response:
    """Show below the form what the rule would have done. Saves and announces nothing.

    A script asks for the remarks alone (`fragment`); without one the button answers with the page.
    """
    sent.need(KeyScope.WRITE)
    rule, form = _written_rule(sent, _UNNAMED)
    preview = Preview() if rule is None else preview_of(sent.me, rule)
    form = replace(form, preview=preview)
    if sent.get("fragment"):
        return page(sent.me, "rule_remarks.html", remarks(sent.me, form))
    return settings_page(sent.me, form=form, status=200 if rule is not None else 422)


@router.post("/ui/rules/try")
def try_rule(sent: Form) -> Response:
    """Show what a rule, saved or just written, would find. Saves and announces nothing."""
    me = sent.me
    rule: AlertRule | None
    if sent.get("kind"):
        rule, form = _written_rule(sent)
        if rule is None:
            return _refused(sent, form)
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
    return back("/alerts#untold")


@router.post("/ui/rules/delete")
def delete_rule(sent: Form) -> Response:
    """Delete a rule, once it was asked whether to."""
    sent.need(KeyScope.WRITE)
    name, rules, project = sent.get("name")[:200], sent.me.services.rules, sent.me.principal.project
    if not sent.get(CONFIRMED):
        confirmation = (msgid("Delete this rule?"), msgid("Delete this rule"), {"name": name})
        return confirm_page(sent.me, *confirmation, what=name, back="/settings#rules")
    sent.change(lambda: rules.delete(project, name), "rule.delete", name)
    return back("/settings#rules")
