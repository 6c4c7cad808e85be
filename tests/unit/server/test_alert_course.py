"""Beside an alert: where its course broke, what it is compared with, and the way to its rule."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding, RuleKind
from rag_monitor.domain.rule_state import RuleState, Verdict
from rag_monitor.server.services import Services
from rag_monitor.testing import EPOCH
from tests.unit.alerting.fakes import FakeStates
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML

PAGE = "/alerts/al-1"
RULE = "faithfulness drop"


def without_onset(services: Services, **fields: object) -> Alert:
    """The alert, of a kind that names no time."""
    alert = services.alerts.get("default", "al-1")
    finding = replace(alert.finding, onset_at=None)
    alert = replace(alert, finding=finding, **fields)  # type: ignore[arg-type]
    services.alerts.alerts[alert.id] = alert  # type: ignore[attr-defined]
    return alert


def ruled(services: Services, window_s: float | None) -> None:
    rule = AlertRule(name=RULE, kind=RuleKind.DROP, metric="faithfulness", window_s=window_s)
    services.rules.save(rule)


async def page_of(services: Services) -> str:
    async with open_client(services, headers=HTML) as client:
        return (await client.get(PAGE)).text


async def compared(services: Services) -> dict[str, list[str]]:
    """What the link to the comparison asks for."""
    found = re.search(r'href="(/compare\?[^"]*)"', await page_of(services))
    assert found is not None
    return parse_qs(urlsplit(unescape(found[1])).query)


async def test_the_course_is_marked_where_the_finding_says_it_broke(services: Services) -> None:
    alert = services.alerts.get("default", "al-1")
    onset_at = alert.finding.onset_at
    assert onset_at is not None

    text = await page_of(services)

    assert text.count('class="mark break"') == 1
    assert 'class="key break"' in text
    assert (await compared(services))["from"] == [onset_at.isoformat()]


async def test_of_a_finding_that_names_no_time_the_incident_tells_it(services: Services) -> None:
    without_onset(services)
    (incident,) = services.incidents.newest("default", app="loan-assistant", unfinished=True)
    broke_at = incident.first.broke_at
    assert broke_at is not None

    assert (await compared(services))["from"] == [broke_at.isoformat()]


@pytest.mark.parametrize(
    ("window_s", "chosen_s", "expected_s"),
    [(7200.0, None, 7200), (None, 10_800.0, 10_800), (None, None, 3600)],
)
async def test_where_nobody_knows_it_is_the_window_of_the_rule(
    services: Services, window_s: float | None, chosen_s: float | None, expected_s: int
) -> None:
    alert = without_onset(services)
    services.incidents.incidents = []  # type: ignore[attr-defined]
    ruled(services, window_s)
    if chosen_s is not None:
        state = RuleState(
            project="default",
            rule=RULE,
            app=alert.app,
            verdict=Verdict.FIRING,
            since=EPOCH,
            looked_at=EPOCH,
            window_s=chosen_s,
        )
        states = FakeStates({("default", RULE, alert.app): state})
        services = replace(services, rule_states=states)  # type: ignore[arg-type]

    asked = await compared(services)

    since = alert.started_at - timedelta(seconds=expected_s)
    assert asked["from"] == [since.isoformat()]
    assert "to" not in asked
    assert 'class="mark break"' not in await page_of(services)


async def test_an_alert_that_is_over_is_compared_until_its_end(services: Services) -> None:
    ended = EPOCH - timedelta(minutes=5)
    over = {"state": AlertState.RESOLVED, "resolved_at": ended, "evidence": Finding(active=True)}
    without_onset(services, **over)

    assert (await compared(services))["to"] == [ended.isoformat()]


async def test_the_rule_is_linked_while_there_is_one(services: Services) -> None:
    link = '<a href="/settings?rule=faithfulness+drop#rule">Edit the rule</a>'

    assert link in await page_of(services)
    services.rules.delete("default", RULE)
    assert "Edit the rule" not in await page_of(services)


async def test_the_history_leads_to_the_page_of_each_alert(services: Services) -> None:
    without_onset(services, state=AlertState.RESOLVED, resolved_at=EPOCH)
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/alerts")).text

    history = text.split('<table class="history finds">')[1]
    assert f'<a href="{PAGE}">{RULE}</a>' in history
