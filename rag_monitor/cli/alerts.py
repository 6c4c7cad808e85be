"""`rag-monitor alerts`: what fires, and saying that somebody has seen it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from rag_monitor.cli.output import AsJson, print_json, print_line, print_problem
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.words import LanguageOption, minute, say
from rag_monitor.i18n import ENGLISH, msgid


class State(StrEnum):
    """Which alerts to show."""

    OPEN = "open"
    FIRING = "firing"
    PENDING = "pending"
    RESOLVED = "resolved"
    INACTIVE = "inactive"
    ALL = "all"


app = typer.Typer(help="List alerts and acknowledge them.", no_args_is_help=True)

_QUERIED_STATES: Final[dict[State, tuple[str | None, ...]]] = {
    State.OPEN: ("firing", "pending"),
    State.ALL: (None,),
}
"""What the monitor is asked for, one state at a time; None: every one."""


_STATES: Final = {
    "firing": msgid("firing"),
    "pending": msgid("pending"),
    "resolved": msgid("resolved"),
    "inactive": msgid("inactive"),
}


@app.command("list")
def list_alerts(
    state: Annotated[
        State, typer.Option(help="`open`: those that fire or are about to.")
    ] = State.OPEN,
    of_app: Annotated[str | None, typer.Option("--app", help="Only of this application.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many a state.")] = 200,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Show alerts: those that fire or are about to, the firing and newest first."""
    query = {"limit": str(limit)} | ({} if of_app is None else {"app": of_app})
    alerts: list[dict[str, Any]] = []
    hints: dict[str, None] = {}
    with Remote(url, api_key) as monitor:
        for queried in _QUERIED_STATES.get(state, (state.value,)):
            of_state = {} if queried is None else {"state": queried}
            page = monitor.get("/api/v1/alerts", query | of_state)
            alerts += page["alerts"]
            hints |= dict.fromkeys(page.get("hints", ()))
    if as_json:
        print_json({"alerts": alerts, "hints": list(hints)})
        return
    for hint in hints:
        print_problem(hint)
    for alert in alerts:
        for line in _alert_lines(alert, language):
            print_line(line)
    if not alerts:
        print_line(say("no alerts"))


@app.command("acknowledge")
def acknowledge_alert(
    id: Annotated[str, typer.Argument(help="Id of the alert, from `alerts list`.")],
    by: Annotated[
        str | None, typer.Option(help="Who has seen it; default: the name of the key.")
    ] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Say that somebody has seen an alert: it is repeated no more, its end is still announced."""
    del language  # chosen for all that is said below
    path = f"/api/v1/alerts/{quote(id, safe='')}/acknowledge"
    with Remote(url, api_key) as monitor:
        alert = monitor.call("POST", path, body={} if by is None else {"by": by})
    if as_json:
        print_json(alert)
        return
    print_line(
        say(
            "{rule} on {app}: acknowledged by {by}",
            rule=alert["rule"],
            app=alert["app"],
            by=alert["acknowledged_by"],
        )
    )


def _alert_lines(alert: dict[str, Any], language: str) -> list[str]:
    """An alert in lines for people: which and since when, what was seen, by whom."""
    finding = alert["finding"]
    summary = finding.get(f"summary_{language}") or finding["summary"]
    lines = [
        f"{alert['id']}  {say(_STATES[alert['state']])}  {alert['app']}  {alert['rule']}  "
        + say("since {time}", time=minute(alert["since"])),
    ]
    if summary:
        lines.append(f"    {summary}")
    if alert["acknowledged_by"]:
        by = say("acknowledged by {by}", by=alert["acknowledged_by"])
        lines.append(f"    {by}")
    return lines
