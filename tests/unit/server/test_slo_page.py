"""The page of objectives, and what the API says of the same."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.alerting.conditions.context import EvaluationContext
from rag_monitor.alerting.conditions.volume import budget
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding, RuleKind, Severity
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.rollup import Rollup, RollupQuery, TraceFacts
from rag_monitor.server.services import Services
from rag_monitor.testing import EPOCH, make_trace
from tests.unit.aggregation.memory import HOUR, MemoryRollups, facts, value
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import FakeTraces, make_services
from tests.unit.server.story import make_stored
from tests.unit.server.test_pages import HTML

HOSTILE = "<script>alert(1)</script>"
RULE = AlertRule(
    name="promise",
    kind=RuleKind.BURN_RATE,
    metric="faithfulness",
    window_s=3600.0,
    min_judged=20,
    params={"slo": 0.9, "multiple": 2.0},
)


class Counting(MemoryRollups):
    """Counts how often it is read."""

    def __init__(self, facts: Sequence[TraceFacts]) -> None:
        super().__init__(facts)
        self.reads = 0

    def load(self, wanted: RollupQuery) -> list[Rollup]:
        self.reads += 1
        return super().load(wanted)


class Spending(RuleEstimates):
    """Has spent most of its judging budget."""

    def budget(self, project: str) -> BudgetState:
        return BudgetState(remaining=0.4, limits=("usd_per_day",))


def day(app: str, days_ago: float, good: int, bad: int) -> list[TraceFacts]:
    at = EPOCH - timedelta(days=days_ago)
    return [facts(value(0.0 if n < bad else 1.0), at=at, app=app) for n in range(good + bad)]


def promising(apps: Sequence[str], given: Sequence[TraceFacts], rules: int = 1) -> Services:
    """A server whose rules hold objectives on these apps."""
    services = make_services(empty=True)
    for number, app in enumerate(apps):
        trace = make_trace(app=app, id=f"t{number}", started_at=EPOCH)
        services.traces.stored["default", trace.trace_id] = make_stored(trace)  # type: ignore[attr-defined]
    for number in range(rules):
        services.rules.save(replace(RULE, name=RULE.name + "!" * number))
    return replace(services, estimates=Estimates(Counting(given)))


def cards(text: str) -> dict[str, str]:
    """The sections of a page by app."""
    found = re.findall(r'<section class="app".*?data-app="([^"]*)">(.*?)</section>', text, re.S)
    return {html.unescape(app): section for app, section in found}


async def test_without_an_objective_the_page_says_what_one_is() -> None:
    async with open_client(make_services(empty=True), headers=HTML) as client:
        page = (await client.get("/slos")).text
        told = (await client.get("/api/v1/slos")).json()

    assert "its error budget is the share that may be bad" in page
    assert 'href="/settings#rule"' in page
    assert told["slos"] == []


async def test_only_enabled_burn_rate_rules_hold_an_objective() -> None:
    services = promising(["shop"], day("shop", 0.01, 90, 10))
    services.rules.save(replace(RULE, name="off", enabled=False))
    services.rules.save(replace(RULE, name="drop", kind=RuleKind.DROP, params={}))
    async with open_client(services) as client:
        told = (await client.get("/api/v1/slos")).json()

    assert [slo["rule"] for slo in told["slos"]] == ["promise"]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_numbers_of_the_page_are_those_of_the_api(language: str) -> None:
    given = [*day("shop", 5, 290, 10), *day("shop", 0.01, 90, 10)]
    async with open_client(promising(["shop"], given), headers=HTML) as client:
        (slo,) = (await client.get("/api/v1/slos")).json()["slos"]
        card = cards((await client.get("/slos", params={"lang": language})).text)["shop"]

    (drawn,) = re.findall(r"data-chart='([^']*)'", card)
    chart = json.loads(html.unescape(drawn))
    course = [day["budget_left"] for day in slo["course"]]
    assert chart["lines"][0]["values"] == pytest.approx(course, abs=1e-6)
    assert (slo["budget_left"], slo["good_share"]) == pytest.approx((0.5, 0.95))
    assert "50%" in card
    assert f"{100 * slo['good_share']:.1f}%" in card
    assert f"{100 * slo['lower']:.1f}–{100 * slo['upper']:.1f}%" in card
    assert f"{slo['long']['burn_rate']:.2f} ×" in card
    assert slo["short"]["burn_rate"] is None
    # A budget of half a period, burning at one, lasts half a period.
    assert slo["lasts_s"] == pytest.approx(15 * 86_400)
    assert ("about 15.0 d" if language == "en" else "约 15.0 天") in card
    assert "below=0.8" in card


async def test_a_budget_that_is_overspent_says_so_in_words() -> None:
    services = promising(["shop"], day("shop", 0.01, 70, 30))
    async with open_client(services, headers=HTML) as client:
        card = cards((await client.get("/slos")).text)["shop"]
        (slo,) = (await client.get("/api/v1/slos")).json()["slos"]

    assert "overspent: 300% of the error budget used" in card
    assert 'class="over"' in card
    assert "budget spent" in card
    assert slo["budget_left"] == pytest.approx(-2.0)
    assert slo["lasts_s"] == 0.0


async def test_a_budget_that_hardly_burns_is_not_spent_within_the_period() -> None:
    services = promising(["shop"], [*day("shop", 5, 400, 10), *day("shop", 0.01, 90, 0)])
    async with open_client(services, headers=HTML) as client:
        card = cards((await client.get("/slos")).text)["shop"]
        (slo,) = (await client.get("/api/v1/slos")).json()["slos"]

    assert "not spent within the period" in card
    assert slo["lasts_s"] is None


async def test_an_alert_is_linked_and_marked() -> None:
    services = promising(["shop"], day("shop", 0.01, 70, 30))
    at = EPOCH - timedelta(hours=30)
    services.alerts.alerts["a1"] = Alert(  # type: ignore[attr-defined]
        id="a1",
        project="default",
        rule="promise",
        app="shop",
        state=AlertState.FIRING,
        severity=Severity.PAGE,
        since=at,
        started_at=at,
        fired_at=at,
        finding=Finding(active=True),
    )
    async with open_client(services, headers=HTML) as client:
        card = cards((await client.get("/slos")).text)["shop"]
        (slo,) = (await client.get("/api/v1/slos")).json()["slos"]

    assert (slo["state"], slo["alert_id"]) == ("firing", "a1")
    assert 'href="/alerts/a1"' in card
    assert 'class="mark alert"' in card


async def test_what_an_app_is_called_is_never_markup() -> None:
    services = promising([HOSTILE], day(HOSTILE, 0.01, 90, 10))
    services.rules.save(replace(RULE, name=HOSTILE))
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/slos")).text

    assert HOSTILE not in text
    assert HOSTILE in cards(text)


async def test_many_apps_come_in_pages_and_are_read_together() -> None:
    names = [f"app-{number:03}" for number in range(200)]
    given = [one for name in names for one in day(name, 0.01, 25, 1)]
    services = promising(names, given, rules=5)
    source = services.estimates._source  # type: ignore[attr-defined]
    async with open_client(services, headers=HTML) as client:
        told = (await client.get("/api/v1/slos", params={"limit": 25})).json()
        reads = source.reads
        first = (await client.get("/slos")).text
        address = re.search(r'href="(/slos\?after=[^"]+)" rel="next"', first)
        assert address is not None
        second = (await client.get(html.unescape(address[1]))).text
        wrong = (await client.get("/slos?after=nonsense&days=8")).text

    assert len(told["slos"]) == 125
    assert told["apps_folded"] == 175
    # The period, the hour, its short window, their stretch of a day, and the days: for all apps.
    assert reads <= 5
    assert len(first) < 250_000
    assert len(cards(first)) == 4
    assert cards(second)
    assert not cards(first).keys() & cards(second).keys()
    assert "<code>after=nonsense</code>" in wrong
    assert "<code>days=8</code>" in wrong


async def test_an_app_that_a_rule_names_is_there_before_its_first_trace() -> None:
    services = promising([], [])
    services.rules.save(replace(RULE, app="soon"))
    async with open_client(services) as client:
        (slo,) = (await client.get("/api/v1/slos")).json()["slos"]

    assert (slo["app"], slo["state"], slo["judged"]) == ("soon", "cannot_tell", 0)


async def test_objectives_need_a_key_that_may_read(locked: Services) -> None:
    async with open_client(locked) as client:
        assert (await client.get("/api/v1/slos")).status_code == 401
        page = await client.get("/slos", headers=HTML)

    assert page.status_code in {303, 401}
    assert "data-rule" not in page.text


@pytest.mark.parametrize(("limit", "said"), [(0.0, "alerts when it is spent"), (0.2, "below 20%")])
async def test_the_judging_budget_is_what_its_rule_finds(limit: float, said: str) -> None:
    rule = AlertRule(name="judging", kind=RuleKind.BUDGET, params={"min_remaining": limit})

    def find(rule: AlertRule) -> dict[str, Finding]:
        context = EvaluationContext(
            rule=rule, app="*", window=HOUR, estimates=Spending(MemoryRollups([]), FakeTraces([]))
        )
        return {"*": budget(context)}

    services = replace(make_services(empty=True), try_rule=find)
    services.rules.save(rule)
    services.rules.save(replace(rule, name="off", enabled=False))
    async with open_client(services, headers=HTML) as client:
        page = (await client.get("/slos")).text
        (told,) = (await client.get("/api/v1/slos")).json()["judging_budgets"]
        of_app = (await client.get("/api/v1/slos", params={"app": "shop"})).json()

    assert (told["rule"], told["state"], told["budget_left"]) == ("judging", "ok", 0.4)
    assert told["alerts_below"] == limit
    assert told["limits"] == ["usd_per_day"]
    assert "40% of today&#39;s judging budget is left (usd_per_day)" in page
    assert said in page
    assert of_app["judging_budgets"] == []
