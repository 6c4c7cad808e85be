"""Error budgets from stored numbers, worked by hand, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from rag_monitor.aggregation.rollup import summarise
from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.server.services import Services
from rag_monitor.testing import ManualClock, ScriptedJudge, make_trace
from tests.integration.test_worker import House
from tests.unit.aggregation.memory import BIG
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services

NOW = datetime.fromisoformat("2026-01-25T12:00:00+00:00")
TEN_DAYS = timedelta(days=10)
HALF_AN_HOUR = timedelta(minutes=30)
JUST_NOW = timedelta(minutes=2)
RULE = AlertRule(
    name="promise",
    kind=RuleKind.BURN_RATE,
    metric="faithfulness",
    window_s=3600.0,
    min_judged=20,
    params={"slo": 0.9},
)


@pytest.fixture
def house(database_url: str) -> Iterator[House]:
    built = House(database_url, ScriptedJudge())
    yield built
    built.close()


def judged(
    app: str, ago: timedelta, count: int, bad: int, probability: float = 1.0
) -> list[TraceFacts]:
    """So many judged answers of one moment, the first of them bad, drawn with a probability."""
    return [
        TraceFacts(
            trace=make_trace(app=app, id=f"{app}-{ago}-{n}", started_at=NOW - ago),
            scores=(
                Score(
                    metric="faithfulness",
                    status=ScoreStatus.SCORED,
                    value=0.0 if n < bad else 1.0,
                    judge=BIG,
                ),
            ),
            probabilities={BIG.name: probability},
        )
        for n in range(count)
    ]


def stored(house: House, facts: list[TraceFacts]) -> Services:
    rollups = house.store.rollups
    places = {(f.trace.project, f.trace.app, f.trace.started_at) for f in facts}
    rollups.mark_changed(places, NOW)
    rollups.replace(rollups.changed(1000), summarise(facts))
    services = replace(make_services(empty=True), estimates=house.estimates, clock=ManualClock(NOW))
    services.rules.save(RULE)
    return services


async def slos(services: Services, **query: Any) -> dict[str, Any]:
    async with open_client(services) as client:
        answer = await client.get("/api/v1/slos", params=query)
    assert answer.status_code == 200, answer.text
    return {slo["app"]: slo for slo in answer.json()["slos"]}


async def test_an_error_budget_worked_by_hand(house: House) -> None:
    facts = [
        *judged("shop", TEN_DAYS, 300, 4),
        *judged("shop", HALF_AN_HOUR, 60, 6),
        *judged("shop", JUST_NOW, 40, 10),
        # Beyond the period: 30 days with today begin on 27 December.
        *judged("shop", timedelta(days=29, hours=13), 50, 50),
    ]
    services = stored(house, facts)
    services.rules.save(replace(RULE, app="shop"))

    shop = (await slos(services))["shop"]

    assert (shop["judged"], shop["bad"], shop["state"]) == (400, 20, "ok")
    assert shop["good_share"] == pytest.approx(0.95)
    # Wilson: (0.05 + z²/800 ± z √(0.05 · 0.95 / 400 + z² / 640,000)) / (1 + z²/400), z = 1.95996.
    assert (shop["lower"], shop["upper"]) == pytest.approx((0.924042, 0.967397), abs=1e-5)
    # 40 of 400 answers may be bad, and 20 are.
    assert (shop["budget_used"], shop["budget_left"]) == pytest.approx((0.5, 0.5))
    # 16 of 100 are bad in the hour and 10 of 40 in the last five minutes; one of ten may be.
    assert (shop["long"]["judged"], shop["short"]["judged"]) == (100, 40)
    assert shop["long"]["burn_rate"] == pytest.approx(1.6)
    assert shop["short"]["burn_rate"] == pytest.approx(2.5)
    assert shop["lasts_s"] == pytest.approx(0.5 * 30 / 1.6 * 86_400)
    left = [day["budget_left"] for day in shop["course"]]
    assert len(left) == 30
    assert left[:19] == [None] * 19
    assert left[19:29] == pytest.approx([0.9] * 10)
    assert left[29] == pytest.approx(0.5)


async def test_answers_that_were_drawn_count_for_those_that_were_not(house: House) -> None:
    facts = [
        *judged("shop", TEN_DAYS, 40, 4, probability=0.25),
        *judged("shop", JUST_NOW, 40, 2),
    ]
    services = stored(house, facts)
    services.rules.save(replace(RULE, app="shop"))

    shop = (await slos(services))["shop"]

    # They stand for 160 + 40 answers, of which 16 + 2 are bad and 20 may be.
    assert shop["budget_used"] == pytest.approx(0.9)
    left = [day["budget_left"] for day in shop["course"]]
    assert left[-2:] == pytest.approx([0.2, 0.1])
    # Half of the allowed share now: what is left outlasts the period only at a rate below it.
    assert shop["long"]["burn_rate"] == pytest.approx(0.5)
    assert shop["lasts_s"] == pytest.approx(0.1 * 30 / 0.5 * 86_400)


async def test_where_too_few_were_judged_nothing_is_told(house: House) -> None:
    services = stored(house, judged("quiet", JUST_NOW, 7, 1))
    services.rules.save(replace(RULE, app="quiet"))

    quiet = (await slos(services))["quiet"]

    assert (quiet["state"], quiet["judged"], quiet["needed"]) == ("cannot_tell", 7, 20)
    assert (quiet["good_share"], quiet["budget_left"], quiet["lasts_s"]) == (None, None, None)
    assert quiet["course"] == []
    assert quiet["long"]["burn_rate"] == pytest.approx(1 / 7 / 0.1)
    async with open_client(services) as client:
        english = (await client.get("/slos", headers={"Accept": "text/html"})).text
        chinese = (await client.get("/slos?lang=zh", headers={"Accept": "text/html"})).text
    assert "needs 20 judged in 1 h, has 7" in english
    assert "needs 20 judged in 30 d, has 7" in english
    assert 'class="budget"' not in english
    assert "错误预算" in chinese
