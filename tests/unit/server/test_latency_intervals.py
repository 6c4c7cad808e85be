"""How the pages and the API tell the interval of a latency percentile."""

from __future__ import annotations

import pytest

from rag_monitor.charts.durations import latency_interval
from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((84.0, 97.0), "84–97 ms"),
        ((84.0, 1240.0), "84 ms – 1.24 s"),
        ((1240.0, None), "≥ 1.24 s"),
        ((None, 97.0), "≤ 97 ms"),
        ((None, None), ""),
    ],
)
def test_an_interval_is_written_with_the_ends_it_has(
    ends: tuple[float | None, float | None], said: str
) -> None:
    assert latency_interval(*ends) == said


async def test_every_percentile_on_the_pages_has_its_interval(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        overview = (await client.get("/", params={"window": "6h"})).text
        compared = (await client.get("/compare", params={"window": "6h", "against": "before"})).text

    assert "1.27 s<br>" in overview  # p50 of the end to end, 4.1 times 310 ms
    assert "<b>1.27 s</b>" in compared
    for text in (overview, compared):
        assert "1.14–1.40 s</span>" in text
        assert "≥ 5.50 s</span>" in text
        assert "so few traces cannot tell how slow it may be" in text


async def test_the_summary_gives_null_for_an_end_that_is_not_there(services: Services) -> None:
    async with open_client(services) as client:
        found = (await client.get("/api/v1/summary")).json()["apps"][0]["latency"]

    first = next(one for one in found if one["metric"] == "first_byte_ms")
    assert first["intervals"]["p50"] == {"lower": 279.0, "upper": pytest.approx(341.0)}
    assert first["intervals"]["p99"] == {"lower": 1341.0, "upper": None}
