"""Scores against what users say: worked out by hand, in the API and on the page."""

from __future__ import annotations

from contextlib import contextmanager

import httpx
import pytest

from rag_monitor.client import Client
from rag_monitor.domain.stored import LabelledScore
from rag_monitor.server.rating_agreement import rating_agreement
from rag_monitor.server.services import Services
from tests.integration.server.test_client import serve
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import JUDGE
from tests.unit.server.test_pages import HTML


def rated(
    value: float, label: float, metric: str = "faithfulness", app: str = "desk"
) -> LabelledScore:
    return LabelledScore(
        trace_id="a" * 32,
        app=app,
        metric=metric,
        judge="packed/m",
        value=value,
        flagged=None,
        label=label,
    )


def test_the_area_counts_pairs_in_which_the_answer_rated_down_scored_lower() -> None:
    # 16 up at .8; of 4 down and one more, three lie below all of them, one ties, one lies above:
    # (3 + 1/2 + 0) / 5 of the pairs.
    rows = [rated(0.8, 1.0)] * 16 + [rated(v, 0.0) for v in (0.1, 0.2, 0.3, 0.8, 0.9)]

    (found,) = rating_agreement(rows)

    assert (found.satisfied, found.dissatisfied) == (16, 5)
    assert found.auroc == pytest.approx(0.7)
    assert found.interval is not None
    assert found.interval.lower < 0.5 < 0.7 < found.interval.upper


def test_a_high_share_of_refusals_is_the_bad_end() -> None:
    rows = [rated(0.0, 1.0, "refusal_rate")] * 15 + [rated(1.0, 0.0, "refusal_rate")] * 5

    (found,) = rating_agreement(rows)

    assert found.auroc == 1.0


@pytest.mark.parametrize(("up", "down"), [(14, 5), (30, 4), (4, 30), (30, 0)])
def test_too_few_ratings_tell_nothing(up: int, down: int) -> None:
    (found,) = rating_agreement([rated(0.9, 1.0)] * up + [rated(0.1, 0.0)] * down)

    assert (found.auroc, found.interval) == (None, None)
    assert (found.satisfied, found.dissatisfied) == (up, down)


def test_apps_stand_apart() -> None:
    rows = [rated(0.9, 1.0), rated(0.9, 1.0, app="shop")]

    assert [one.app for one in rating_agreement(rows)] == ["desk", "shop"]


async def test_the_api_tells_it_by_app(client: httpx.AsyncClient) -> None:
    told = (await client.get("/api/v1/ratings/agreement")).json()

    first, second = told["items"]
    assert (first["metric"], first["judge"]) == ("faithfulness", str(JUDGE))
    assert (first["satisfied"], first["dissatisfied"]) == (20, 20)
    assert 0.5 < first["lower"] < first["auroc"] < first["upper"] < 1.0
    assert (second["metric"], second["auroc"], second["lower"]) == ("answer_relevance", None, None)
    other = await client.get("/api/v1/ratings/agreement", params={"app": "other"})
    assert other.json()["items"] == []
    twice = await client.get("/api/v1/ratings/agreement", params={"window": "x"})
    assert twice.status_code == 422


def test_the_client_tells_it_as_rows_and_as_a_frame(services: Services) -> None:
    pandas = pytest.importorskip("pandas")
    with contextmanager(serve)(services) as url, Client(url) as monitor:
        rows = monitor.rating_agreement(window="7d")
        frame = monitor.rating_agreement(as_frame="pandas")
        other = monitor.rating_agreement(app="other")

    assert (rows[0]["metric"], rows[0]["judge"]) == ("faithfulness", str(JUDGE))
    assert (rows[0]["satisfied"], rows[0]["dissatisfied"]) == (20, 20)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["auroc"].dropna()) == [rows[0]["auroc"]]
    assert other == []


async def test_the_page_shows_it_and_says_what_is_too_little(services: Services) -> None:
    async with open_client(services, headers=HTML) as browser:
        text = (await browser.get("/judges")).text
    assert "Against what users say" in text
    assert "too few: 20 ratings are needed" in text

    async with open_client(make_services(empty=True), headers=HTML) as browser:
        text = (await browser.get("/judges")).text
    assert "Nobody rated an answer that has a score in this window." in text
