"""`rag-monitor rules`: read the alert rules out, check a file of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url, explain, refusal
from rag_monitor.errors import ConfigurationError

app = typer.Typer(help="Export and check alert rules.", no_args_is_help=True)


@app.command("export")
def export_rules(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: stdout.")
    ] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Write all rules as JSON, ready to be edited, checked and kept under version control."""
    with Remote(url, api_key) as monitor:
        rules = _rules_in(monitor.get("/api/v1/rules"), "the monitor's answer")
    text = json.dumps({"rules": rules}, ensure_ascii=False, indent=2)
    if output is None:
        print_line(text)
        return
    output.write_text(text + "\n", encoding="utf-8")
    if as_json:
        print_json({"rules": len(rules), "output": str(output)})
    else:
        print_line(f"wrote {len(rules)} rules to {output}")


@app.command("check")
def check_rules(
    file: Annotated[Path, typer.Argument(help="JSON file as `rules export` writes it.")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Say of each rule in a file whether it can work, without saving it; exit 1 if one cannot."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigurationError(
            f"{file} is not JSON ({error}); `rules export` shows how"
        ) from None
    rules = _rules_in(content, str(file))
    with Remote(url, api_key) as monitor:
        verdicts = [_verdict(monitor, rule) for rule in rules]
    wrong = [verdict for verdict in verdicts if not verdict["ok"]]
    if as_json:
        print_json({"ok": not wrong, "rules": verdicts})
    else:
        for verdict in wrong:
            print_line(f"{verdict['name']}: {verdict['reason']}")
        print_line(f"{len(rules) - len(wrong)} of {len(rules)} rules are in order")
    if wrong:
        raise typer.Exit(1)


def _verdict(monitor: Remote, rule: dict[str, Any]) -> dict[str, Any]:
    reply = monitor.send_safely("POST", "/api/v1/rules/check", json=rule)
    name = rule.get("name", "(no name)")
    if reply.is_success:
        return {"name": name, "ok": True, "reason": None}
    if reply.status_code in (400, 422):
        return {"name": name, "ok": False, "reason": explain(reply)}
    raise refusal(reply)


def _rules_in(content: Any, where: str) -> list[dict[str, Any]]:
    rules = content
    if isinstance(content, dict):
        rules = content.get("rules", content.get("items"))
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise ConfigurationError(f'{where} must be {{"rules": [...]}} with one object per rule')
    return rules
