"""Beside every number of the overview: the traces behind it, in a list that applies all of it."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from rag_monitor.domain.rollup import REFUSAL_METRIC, SATISFACTION_METRIC
from rag_monitor.metrics.names import ERROR_SHARE
from rag_monitor.server.quality import SHOWN_METRICS
from rag_monitor.server.services import Services
from rag_monitor.server.ui.behind import behind
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML


@pytest.mark.parametrize("metric", [*SHOWN_METRICS, ERROR_SHARE])
async def test_the_list_applies_what_a_number_asks_for(services: Services, metric: str) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/traces", params=behind(metric))).text

    assert 'class="applied"' in text
    assert "Cannot be applied" not in text


def test_a_share_leads_to_what_it_counts_and_a_score_to_the_lowest() -> None:
    assert behind(REFUSAL_METRIC) == {"refused": "true"}
    assert behind(SATISFACTION_METRIC) == {"rating": "down"}
    assert behind("faithfulness") == {"metric": "faithfulness", "sort": "score", "order": "asc"}


async def test_the_overview_links_the_worst_traces_of_its_window(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/?app=loan-assistant&window=6h")).text

    (found,) = re.findall(r'<a href="([^"]*)">Worst traces</a>', text)
    asked = parse_qs(urlsplit(unescape(found)).query)
    assert asked == {
        "app": ["loan-assistant"],
        "since": ["6h"],
        "metric": ["faithfulness"],
        "sort": ["score"],
        "order": ["asc"],
    }
