"""Fixes the window over which a rule looks at one app, or lets the rule's own hold again."""

from __future__ import annotations

from fastapi import Request

from rag_monitor.alerting.window_chooser import FOLLOWING
from rag_monitor.domain.rule_state import WindowChoice
from rag_monitor.server import audit
from rag_monitor.server.auth import Principal
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.schemas.rule_states import RuleWindowIn
from rag_monitor.server.services import Services


def change_window(
    services: Services, request: Request, caller: Principal, given: RuleWindowIn
) -> None:
    """Make the change and write down who made it.

    Raises:
        ProblemError: 404: there is no such rule, or it does not watch that app; 422: windows of
            its kind cannot be chosen by app.
    """
    project = caller.project
    rule = next((one for one in services.rules.all(project) if one.name == given.rule), None)
    if rule is None or rule.app not in {"*", given.app}:
        raise ProblemError(404, "There is no such rule.", kind="not-found")
    if rule.kind not in FOLLOWING:
        raise ProblemError(
            422, "The window of a {kind} rule is one for all apps.", kind=rule.kind.value
        )
    states, window_s = services.rule_states, given.window_s

    def change() -> None:
        if window_s is None:
            states.release_window(project, rule.name, given.app)
            return
        choice = WindowChoice(
            project=project,
            rule=rule.name,
            app=given.app,
            window_s=window_s,
            chosen_at=services.clock.now(),
            chosen_by=caller.name or audit.LOCAL,
        )
        states.fix_window(choice)

    details: dict[str, audit.Detail] = {"app": given.app, "window_s": window_s}
    audit.changing(services, request, caller, change, "rule.window", rule.name, **details)
