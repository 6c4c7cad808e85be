"""Where nothing alarms, pages say which rules could not tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from rag_monitor.domain.alert import AlertRule, Finding, RuleKind
from rag_monitor.server.services import Services
from rag_monitor.server.undecided_rules import MOST_LOOKS, UndecidedRules
from rag_monitor.testing import EPOCH
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML

FEW = Finding(
    active=None, summary="3 judgements, 50 are needed", summary_zh="3 次评审", notes=("few_judged",)
)
RULES = [
    AlertRule(name="blind", kind=RuleKind.DROP, metric="faithfulness"),
    AlertRule(name="sees", kind=RuleKind.LATENCY, metric="end_to_end_ms"),
    AlertRule(name="off", kind=RuleKind.DROP, metric="faithfulness", enabled=False),
    AlertRule(name="elsewhere", kind=RuleKind.DROP, metric="faithfulness", app="other"),
]


def finds(rule: AlertRule) -> Mapping[str, Finding]:
    return {rule.app: FEW if rule.kind is RuleKind.DROP else Finding(active=False)}


def test_only_rules_that_watch_the_app_and_cannot_tell_are_named() -> None:
    asked: list[str] = []

    def counted(rule: AlertRule) -> Mapping[str, Finding]:
        asked.append(rule.name)
        return finds(rule)

    blindness = UndecidedRules()
    found = blindness.of("default", RULES, ["shop"], counted, EPOCH)
    blindness.of("default", RULES, ["shop"], counted, EPOCH + timedelta(seconds=20))

    assert [(one.rule, one.app) for one in found.untold] == [("blind", "shop")]
    assert found.looks == 2
    assert asked == ["blind", "sees"], "pages that refresh do not look again at once"
    blindness.of("default", RULES, ["shop"], counted, EPOCH + timedelta(seconds=31))
    assert len(asked) == 4


def test_a_page_about_very_many_apps_looks_at_the_first_ones_and_says_so() -> None:
    apps = [f"app-{number}" for number in range(1000)]

    found = UndecidedRules().of("default", RULES[:2], apps, finds, EPOCH)

    assert found.looks == MOST_LOOKS
    assert found.left_out == 1000 - MOST_LOOKS // 2


async def test_overview_and_alerts_say_which_rules_could_not_tell(services: Services) -> None:
    services = replace(services, try_rule=finds)
    async with open_client(services, headers=HTML) as client:
        traces = (await client.get("/traces", params={"window": "1h"})).text
        assert "Cannot be applied: <code>window=1h</code>" in traces
        overview = (await client.get("/?app=support-bot")).text
        alerts = (await client.get("/alerts?app=support-bot")).text
        chinese = (await client.get("/alerts?app=support-bot&lang=zh")).text

    assert "1 of 2 rules could not tell" in overview
    assert "No alert is open, but 1 of 2 rules could not tell." in alerts
    assert "Nothing is wrong right now." not in alerts
    assert "3 judgements, 50 are needed" in alerts
    assert "few judged" in alerts
    assert "2 条规则中有 1 条无法判断" in chinese


async def test_where_every_rule_can_tell_nothing_is_said(services: Services) -> None:
    services = replace(services, try_rule=lambda rule: {rule.app: Finding(active=False)})
    async with open_client(services, headers=HTML) as client:
        overview = (await client.get("/?app=support-bot")).text
        alerts = (await client.get("/alerts?app=support-bot")).text

    assert "could not tell" not in overview
    assert "Nothing is wrong right now." in alerts


async def test_a_filter_that_a_page_does_not_know_is_named(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        for path in ("/", "/compare", "/judges", "/alerts", "/labels"):
            told = (await client.get(path, params={"environment": "staging"})).text
            assert "Cannot be applied: <code>environment=staging</code>" in told, path
        overview = (await client.get("/?app=support-bot&release=v41")).text

    assert "Cannot be applied: <code>release=v41</code>" in overview
