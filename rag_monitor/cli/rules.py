"""`rag-monitor rules`: read the alert rules out, check a file of them."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from rag_monitor.alerting.conditions.wording import need_of, notes_text
from rag_monitor.alerting.prometheus_export import EVERY_PROJECT
from rag_monitor.alerting.prometheus_export import export_rules as export_as_prometheus
from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url, explain, refusal
from rag_monitor.cli.words import LanguageOption, say
from rag_monitor.domain.alert import AlertRule, RuleKind, Severity
from rag_monitor.domain.rule_state import Counted
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import ENGLISH, translate

_MOST_UNTOLD: Final = 10
"""So many apps of which a rule cannot tell have a line each."""

app = typer.Typer(help="Export and check alert rules.", no_args_is_help=True)


@app.command("export")
def export_rules(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: stdout.")
    ] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    prometheus: Annotated[
        bool,
        typer.Option("--prometheus", help="Recording and alerting rules for Prometheus (YAML)."),
    ] = False,
    every: Annotated[
        float, typer.Option(min=1, help="With --prometheus: seconds between two evaluations.")
    ] = 60.0,
    public_url: Annotated[
        str,
        typer.Option(help="With --prometheus: where people open the pages; default: --url."),
    ] = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Write all rules as JSON, ready to be edited, checked and kept under version control."""
    del language  # chosen for all that is said below
    with Remote(url, api_key) as monitor:
        answer = monitor.get("/api/v1/rules")
    rules = _rules_in(answer, "the monitor's answer")
    if prometheus:
        # A monitor of an earlier release does not say whose rules they are.
        project = (
            answer.get("project", EVERY_PROJECT) if isinstance(answer, dict) else EVERY_PROJECT
        )
        exported = export_as_prometheus(
            [_rule(item) for item in rules], every, project=project, public_url=public_url or url
        )
        text = exported.rstrip("\n")
    else:
        text = json.dumps({"rules": rules}, ensure_ascii=False, indent=2)
    if output is None:
        if prometheus and as_json:
            print_json({"rules": len(rules), "prometheus": text})
        else:
            print_line(text)
        return
    output.write_text(text + "\n", encoding="utf-8")
    if as_json:
        print_json({"rules": len(rules), "output": str(output)})
    else:
        print_line(say("wrote {count} rules to {path}", count=len(rules), path=output))


@app.command("check")
def check_rules(
    file: Annotated[Path, typer.Argument(help="JSON file as `rules export` writes it.")],
    days: Annotated[
        float, typer.Option(min=0, max=30, help="Stored history to run each rule on; 0: none.")
    ] = 1.0,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Say of each rule in a file whether it can work, and how often it would have fired.

    Nothing is saved or announced; exit 1 if a rule cannot work.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigurationError(
            "{file} is not JSON ({reason}); `rules export` shows how", file=file, reason=error
        ) from None
    rules = _rules_in(content, str(file))
    # What JSON holds is for programs, and stays English.
    with Remote(url, api_key, language=ENGLISH if as_json else language) as monitor:
        verdicts = [_verdict(monitor, rule, days) for rule in rules]
    wrong = [verdict for verdict in verdicts if not verdict["ok"]]
    if as_json:
        print_json({"ok": not wrong, "rules": verdicts})
    else:
        for verdict in verdicts:
            for line in _verdict_lines(verdict, language):
                print_line(line)
        good = len(rules) - len(wrong)
        print_line(say("{good} of {all} rules are in order", good=good, all=len(rules)))
    if wrong:
        raise typer.Exit(1)


def _verdict(monitor: Remote, rule: dict[str, Any], days: float) -> dict[str, Any]:
    reply = monitor.send_safely(
        "POST", "/api/v1/rules/check", rule, {"days": str(days)}, timeout_s=600.0
    )
    name = rule.get("name", "(no name)")
    if reply.ok:
        result = json.loads(reply.body)
        return {
            "name": name,
            "ok": True,
            "reason": None,
            "warnings": result.get("warnings", []),
            "untold": {
                app: finding.get("notes", [])
                for app, finding in (result.get("findings") or {}).items()
                if finding.get("active") is None
            },
            "states": result.get("states") or {},
            "history": result.get("history"),
        }
    if reply.status in (400, 422):
        return {
            "name": name,
            "ok": False,
            "reason": explain(reply),
            "warnings": [],
            "untold": {},
            "states": {},
            "history": None,
        }
    raise refusal(reply)


def _verdict_lines(verdict: dict[str, Any], language: str) -> list[str]:
    """A verdict in lines for people."""
    if not verdict["ok"]:
        return [say("{name}: {reason}", name=verdict["name"], reason=verdict["reason"])]
    history = verdict["history"]
    doubts = [
        say("{name}: {reason}", name=verdict["name"], reason=doubt) for doubt in verdict["warnings"]
    ]
    doubts += [
        say(
            "{name}, {app}: could not tell now ({reason})",
            name=verdict["name"],
            app=app,
            reason=_reason(verdict["states"].get(app), notes, language),
        )
        for app, notes in list(verdict["untold"].items())[:_MOST_UNTOLD]
    ]
    if len(verdict["untold"]) > _MOST_UNTOLD:
        more = len(verdict["untold"]) - _MOST_UNTOLD
        doubts.append(say("{name}: could not tell of {n} more apps", name=verdict["name"], n=more))
    if history is None:
        return doubts
    if not history["apps"]:
        return [*doubts, say("{name}: no application has sent traces yet", **verdict)]
    return doubts + [
        say(
            "{name}, {app}: would have fired {fired} times in {looks} looks "
            "({untold} could not tell)",
            name=verdict["name"],
            app=app,
            **counts,
        )
        for app, counts in history["apps"].items()
    ]


def _reason(state: dict[str, Any] | None, notes: list[str], language: str) -> str:
    """Why a rule cannot tell, with what it would need."""
    why = notes_text(notes, language)
    if state is None or not state["needed"]:
        return why or "–"
    message = need_of(
        Counted(state["counted"]),
        state["needed"],
        state["has"],
        state["window_s"],
        state["fitting_window_s"],
    )
    return translate(message, language)


def _rule(item: dict[str, Any]) -> AlertRule:
    """A rule as the API writes it."""
    names = {field.name for field in fields(AlertRule)} - {"project"}
    values = {name: value for name, value in item.items() if name in names}
    values |= {
        "kind": RuleKind(item["kind"]),
        "severity": Severity(item.get("severity", Severity.PAGE)),
        "notifiers": tuple(item.get("notifiers", ())),
    }
    return AlertRule(**values)


def _rules_in(content: Any, where: str) -> list[dict[str, Any]]:
    rules = content
    if isinstance(content, dict):
        rules = content.get("rules", content.get("items"))
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise ConfigurationError(
            '{where} must be {{"rules": [...]}} with one object per rule', where=where
        )
    return rules
