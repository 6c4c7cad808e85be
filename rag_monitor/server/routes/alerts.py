"""Rules, alerts and silences."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from rag_monitor.alerting.rules import rule_warnings
from rag_monitor.domain.alert import AlertState, Silence
from rag_monitor.errors import RuleError
from rag_monitor.i18n import Message, msgid
from rag_monitor.server import audit
from rag_monitor.server.auth import Reader, ServicesOf, Writer
from rag_monitor.server.problems import AskedLanguage, ProblemError, translated
from rag_monitor.server.rule_windows import change_window
from rag_monitor.server.schemas.alerts import (
    AcknowledgeIn,
    AlertOut,
    AlertsOut,
    RuleChecked,
    RuleIn,
    RuleOut,
    RulesIn,
    RulesOut,
    SilenceIn,
    SilenceOut,
    SilencesOut,
)
from rag_monitor.server.schemas.rule_states import RuleStateOut, RuleWindowIn
from rag_monitor.server.schemas.values import Name, RowId
from rag_monitor.server.validation import OnceRoute, require_known, sentences, unknown_names

router = APIRouter(prefix="/api/v1", tags=[msgid("Alerts")], route_class=OnceRoute)

MAX_SILENCE: Final = timedelta(days=366)


@router.get("/rules")
def list_rules(services: ServicesOf, caller: Reader) -> RulesOut:
    """All rules of the project."""
    rules = services.rules.all(caller.project)
    return RulesOut(
        rules=[RuleOut.from_domain(rule) for rule in rules],
        states=[RuleStateOut.from_domain(one) for one in services.rule_states.all(caller.project)],
        empty=not any(one.kept for one in services.traces.apps(caller.project)),
        project=caller.project,
    )


@router.put("/rules")
def replace_rules(
    services: ServicesOf, request: Request, caller: Writer, given: RulesIn
) -> RulesOut:
    """Make these the rules of the project; others are deleted. All are checked first."""
    rules = [rule.to_domain(caller.project) for rule in given.rules]
    names = [rule.name for rule in rules]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ProblemError(
            422, "`rules`: the name {name!r} stands more than once.", name=repeated[0]
        )
    errors: list[dict[str, str]] = []
    for number, rule in enumerate(rules):
        try:
            services.check_rule(rule)
        except RuleError as error:
            message = Message("{name}: {reason}", name=rule.name, reason=error)
            errors.append({"field": f"rules.{number}", "message": message})
    if errors:
        raise ProblemError(422, errors[0]["message"], kind="rule-invalid", errors=errors)

    def replace() -> None:
        # These are the rules: the shipped ones must not join them with the first trace.
        services.rules.ship(caller.project, ())
        for rule in rules:
            services.rules.save(rule)
        for existing in services.rules.all(caller.project):
            if existing.name not in names:
                services.rules.delete(caller.project, existing.name)

    audit.changing(services, request, caller, replace, "rules.replace", count=len(rules))
    return list_rules(services, caller)


@router.put("/rules/window")
def fix_window(
    services: ServicesOf, request: Request, caller: Writer, given: RuleWindowIn
) -> RulesOut:
    """Let a rule look at one app over this window, or (null) over its own again."""
    change_window(services, request, caller, given)
    return list_rules(services, caller)


@router.post("/rules/check")
def check_rule(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    given: RuleIn,
    days: Annotated[
        float, Query(ge=0, le=30, description="Stored history to run the rule on; 0: none.")
    ] = 0.0,
) -> RuleChecked:
    """Say whether a rule can work, what it would find now, and how often it would have fired.

    Saves and announces nothing.
    """
    rule = given.to_domain(caller.project)
    services.check_rule(rule)
    findings = services.try_rule(rule)
    replayed = None
    if days > 0:
        now = services.clock.now()
        replayed = services.replay_rule(rule, now - timedelta(days=days), now)
    apps = [summary.app for summary in services.traces.apps(caller.project) if summary.kept]
    return RuleChecked.from_domain(
        rule,
        findings,
        replayed,
        translated(rule_warnings(rule, apps), language),
        services.stand_rule(rule),
    )


@router.get("/alerts")
def list_alerts(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    state: AlertState | None = None,
    app: Annotated[Name | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> AlertsOut:
    """Alerts, newest first."""
    loaded = services.alerts.load(caller.project, state)
    chosen = sorted(
        (alert for alert in loaded if app is None or alert.app == app),
        key=lambda alert: alert.since,
        reverse=True,
    )
    unknown = []
    if app is not None and not chosen:
        alerted = {alert.app for alert in services.alerts.load(caller.project)}
        unknown = unknown_names(services, caller.project, app=app, further=alerted)
    return AlertsOut(
        alerts=[AlertOut.from_domain(alert) for alert in chosen[:limit]],
        hints=sentences(unknown, language),
    )


@router.post("/alerts/{alert_id}/acknowledge")
def acknowledge_alert(
    services: ServicesOf,
    request: Request,
    caller: Writer,
    alert_id: RowId,
    given: AcknowledgeIn | None = None,
) -> AlertOut:
    """Say that somebody has seen it."""
    by = (given.by if given else None) or caller.name or "api"
    audit.changing(
        services,
        request,
        caller,
        lambda: services.alerts.acknowledge(caller.project, alert_id, by),
        "alert.acknowledge",
        alert_id,
        by=by,
    )
    for alert in services.alerts.load(caller.project):
        if alert.id == alert_id:
            return AlertOut.from_domain(alert)
    raise ProblemError(404, "There is no such alert.", kind="not-found")


@router.get("/silences")
def list_silences(services: ServicesOf, caller: Reader) -> SilencesOut:
    """All silences of the project."""
    silences = services.silences.all(caller.project)
    return SilencesOut(silences=[SilenceOut.from_domain(s) for s in silences])


@router.post("/silences", status_code=201)
def add_silence(
    services: ServicesOf, request: Request, caller: Writer, given: SilenceIn
) -> SilenceOut:
    """Mute announcements that match, for a time; states go on being recorded."""
    now = services.clock.now()
    starts_at = given.starts_at or now
    if given.ends_at <= now:
        raise ProblemError(
            422,
            "`ends_at`: must be in the future; it is {now:%Y-%m-%dT%H:%M:%SZ} now. Look at the "
            "year and the time zone.",
            now=now,
        )
    if given.ends_at <= starts_at:
        raise ProblemError(422, "`ends_at`: must be later than `starts_at`.")
    if given.ends_at - starts_at > MAX_SILENCE:
        raise ProblemError(
            422,
            "`ends_at`: at most {days} days; disable the rule instead.",
            days=MAX_SILENCE.days,
        )
    # A silence that matches nothing would be found out in the night it was made for.
    if given.rule != "*":
        require_known("rule", given.rule, [r.name for r in services.rules.all(caller.project)])
    if given.app != "*":
        require_known("app", given.app, [a.app for a in services.traces.apps(caller.project)])
    silence = Silence(
        id=secrets.token_hex(8),
        project=caller.project,
        rule=given.rule,
        app=given.app,
        starts_at=starts_at,
        ends_at=given.ends_at,
        comment=given.comment,
        created_by=given.created_by or caller.name,
    )
    audit.changing(
        services,
        request,
        caller,
        lambda: services.silences.add(silence),
        "silence.create",
        silence.id,
        rule=silence.rule,
        app=silence.app,
        ends_at=silence.ends_at.isoformat(),
    )
    return SilenceOut.from_domain(silence)


@router.delete("/silences/{silence_id}", status_code=204, response_class=Response)
def delete_silence(
    services: ServicesOf, request: Request, caller: Writer, silence_id: RowId
) -> None:
    """End a silence."""
    audit.changing(
        services,
        request,
        caller,
        lambda: services.silences.delete(caller.project, silence_id),
        "silence.delete",
        silence_id,
    )
