"""The stretch of time a page shows: lengths, times with and without a zone, and what cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rag_monitor.domain.stored import JudgeSpending
from rag_monitor.domain.window import Window
from rag_monitor.server.services import Services
from rag_monitor.server.ui.period import Period, period_of
from rag_monitor.testing import EPOCH
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import JUDGE
from tests.unit.server.test_pages import HTML

NOW = datetime(2026, 11, 23, 12, 34, 56, tzinfo=UTC)
MINUTE_OVER = datetime(2026, 11, 23, 12, 35, tzinfo=UTC)
"""Numbers are kept minute by minute: those of the present one count."""
SHANGHAI = ZoneInfo("Asia/Shanghai")


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, 23, hour, minute, tzinfo=UTC)


def asked(**query: str) -> Period:
    named = {name.rstrip("_"): text for name, text in query.items()}
    return period_of(named, NOW, SHANGHAI, "24h")


def test_any_length_that_the_api_takes_is_a_window() -> None:
    found = asked(window="3d")

    assert (found.length, found.sliding, found.refused) == ("3d", True, {})
    assert timedelta(days=3) <= found.window.length <= timedelta(days=3, hours=1)


def test_times_without_a_zone_are_of_the_pages_and_others_of_their_own() -> None:
    assert asked(from_="2026-11-23T14:00", to="2026-11-23T15:30").window == Window(at(6), at(7, 30))
    assert asked(from_="2026-11-23T06:00:00Z", to="2026-11-23T15:30+08:00").window == Window(
        at(6), at(7, 30)
    )
    assert asked(from_="2026-11-23").window == Window(
        datetime(2026, 11, 22, 16, tzinfo=UTC), MINUTE_OVER
    )
    assert asked(window="1h", to="2026-11-23T15:30").window == Window(at(6, 30), at(7, 30))


@pytest.mark.parametrize(
    "query",
    [
        {"window": "soon"},
        {"window": "500d"},
        {"window": "9" * 400 + "d"},
        {"from": "yesterday"},
        {"from": "0001-01-01T00:00"},
        {"to": "9999-12-31T23:59"},
        {"from": "2026-11-23T15:00", "to": "2026-11-23T14:00"},
        {"from": "1999-01-01"},
        {"from": "2026-11-23T14:00:10", "to": "2026-11-23T14:00:50"},
    ],
)
def test_what_cannot_be_is_the_default_and_said(query: Mapping[str, str]) -> None:
    found = period_of(query, NOW, SHANGHAI, "24h")

    assert (found.length, found.window.end) == ("24h", MINUTE_OVER)
    assert found.refused == {name: text[:100] for name, text in query.items()}


def test_an_address_made_of_a_period_asks_for_it_again() -> None:
    for found in (
        asked(),
        asked(window="2w"),
        asked(from_="2026-11-23T14:00"),
        asked(from_="2026-11-23T14:00", to="2026-11-23T15:30"),
        asked(window="6h", to="2026-11-23T15:30"),
    ):
        assert period_of(found.query, NOW, SHANGHAI, "24h") == found


@pytest.mark.parametrize("path", ["/", "/judges", "/compare"])
async def test_a_page_keeps_its_times_and_says_which_it_cannot_show(
    services: Services, path: str
) -> None:
    async with open_client(services, headers=HTML) as client:
        ends = {"from": "2026-01-05T10:00", "to": "2026-01-05T11:30"}
        between = (await client.get(path, params=ends)).text
        three = (await client.get(path, params={"window": "3d", "lang": "zh"})).text
        wrong = (await client.get(path, params={"window": "<b>", "lang": "en"})).text

    assert 'aria-current="true">01-05 10:00 – 11:30</a>' in between
    assert 'name="from" required value="2026-01-05T10:00"' in between
    assert "Cannot be applied" not in between
    assert 'aria-current="true">3 天</a>' in three
    assert "Cannot be applied: <code>window=&lt;b&gt;</code>" in wrong


async def test_traces_are_listed_between_two_times_of_the_pages_zone() -> None:
    services = make_services()
    services = replace(services, settings=replace(services.settings, timezone="Asia/Shanghai"))
    local = (EPOCH - timedelta(minutes=90)).astimezone(SHANGHAI)
    ends = {"from": f"{local:%Y-%m-%dT%H:%M}", "to": f"{local + timedelta(hours=1):%Y-%m-%dT%H:%M}"}
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/traces", params=ends | {"since": "15m"})).text

    (query,) = services.traces.queries  # type: ignore[attr-defined]
    start = EPOCH - timedelta(minutes=90)
    assert (query.since, query.until) == (start, start + timedelta(hours=1))
    assert f'name="from" value="{ends["from"]}"' in text
    assert "Cannot be applied" not in text


async def test_what_judging_cost_is_of_the_days_shown_and_says_which(services: Services) -> None:
    def spending(project: str, since: date) -> list[JudgeSpending]:
        return [
            JudgeSpending(
                judge=str(JUDGE).split("/")[0],
                day=since + timedelta(days=number),
                tokens=1000 + number,
                gpu_seconds=0.0,
                money=0.0,
            )
            for number in range(5)
        ]

    ends = {"from": "2026-01-02T10:00", "to": "2026-01-03T11:30"}
    async with open_client(replace(services, spending=spending), headers=HTML) as client:
        text = (await client.get("/judges", params=ends)).text

    assert "<dt>Tokens</dt><dd>2,001</dd>" in text
    assert "Whole days (UTC) from 2026-01-02 to 2026-01-03." in text
