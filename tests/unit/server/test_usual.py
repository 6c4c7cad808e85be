"""Colours of single scores: what is unusual for the app, never what is below some number."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from rag_monitor.domain.rollup import SCORE_BUCKETS
from rag_monitor.metrics.latency import bucket_of
from rag_monitor.server.services import Services
from rag_monitor.server.ui.usual import is_unusual
from tests.unit.server.conftest import open_client
from tests.unit.server.story import story

HTML = {"Accept": "text/html"}


def counts(**scores: int) -> list[int]:
    """So many of each score: `_30=5` are five of 0.30."""
    made = [0] * (len(SCORE_BUCKETS) + 1)
    for name, count in scores.items():
        made[bucket_of(int(name[1:]) / 100, SCORE_BUCKETS)] += count
    return made


@pytest.mark.parametrize(
    ("value", "baseline", "unusual"),
    [
        (0.10, counts(_95=97, _30=3), True),
        (0.30, counts(_95=97, _30=3), True),
        (0.30, counts(_95=90, _30=10), False),  # one answer of ten is like it
        (0.10, counts(_95=90, _30=10), True),
        (0.33, counts(_33=60, _66=30, _100=10), False),  # one passage of three is normal here
        (0.94, counts(_100=100), False),  # never seen, and no worse
        (0.85, counts(_100=100), True),
        (1.00, counts(_100=100), False),
        (0.00, counts(_100=19), False),  # too few to tell
        (0.00, [], False),
    ],
)
def test_what_is_unusual(value: float, baseline: list[int], unusual: bool) -> None:
    assert is_unusual(value, baseline) is unusual


@pytest.fixture
async def browser(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(services, headers=HTML) as client:
        yield client


async def test_a_list_colours_what_the_release_before_hardly_ever_scored(
    browser: httpx.AsyncClient,
) -> None:
    text = (await browser.get("/traces?app=loan-assistant")).text

    # Every second answer of the newest release is as bad: that makes none of them usual.
    assert "unusually low for this app" in text
    assert set(re.findall(r'class="chip (\w+)"><span>Faithfulness</span> <b>([\d.]+)', text)) == {
        ("low", "0.50"),
        ("fine", "0.95"),
    }
    chips = re.findall(r'class="chip (\w+)"><span>Context relevance</span> <b>([\d.]+)', text)
    assert set(chips) == {("fine", "0.33")}


async def test_the_page_of_a_trace_colours_by_the_same_baseline(
    browser: httpx.AsyncClient, services: Services
) -> None:
    bad = story(services.clock.now())[0].trace.trace_id

    text = (await browser.get(f"/traces/{bad}")).text

    assert re.findall(r'<b class="(low|fine)">([\d.]+)</b>', text) == [
        ("low", "0.50"),
        ("fine", "0.33"),
        ("fine", "0.33"),
    ]
