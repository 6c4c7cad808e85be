"""Names of things that are not there: told at once, with the nearest one there is."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.server.services import Services
from rag_monitor.server.validation import METRIC_NAMES
from rag_monitor.testing import EPOCH

ENDS = "2026-01-05T13:00:00Z"


@pytest.mark.parametrize(
    ("given", "field"),
    [({"rule": "faithfulnes drop"}, "rule"), ({"app": "loan-asistant"}, "app")],
)
async def test_a_silence_that_would_match_nothing_is_refused(
    client: httpx.AsyncClient, given: dict[str, str], field: str
) -> None:
    answer = await client.post("/api/v1/silences", json=given | {"ends_at": ENDS})

    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(f"`{field}`: there is no {field}")
    assert (await client.get("/api/v1/silences")).json()["silences"] == []


async def test_the_nearest_app_is_named(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/silences", json={"app": "loan-asistant", "ends_at": ENDS})

    assert "'loan-assistant'" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["series?app=loan-assistant&", "traces?"])
async def test_a_metric_that_is_none_is_refused(client: httpx.AsyncClient, path: str) -> None:
    wrong = await client.get(f"/api/v1/{path}metric=fatihfulness")
    right = await client.get(f"/api/v1/{path}metric=faithfulness")

    assert (wrong.status_code, right.status_code) == (422, 200)
    assert "'faithfulness'" in wrong.json()["detail"]


@pytest.mark.parametrize("name", ["faithfullness", "Faithfulness", "faithfulness_score"])
async def test_a_mark_on_a_metric_that_is_none_is_refused_with_those_there_are(
    client: httpx.AsyncClient, services: Services, name: str
) -> None:
    mark = {"trace_id": "a" * 32, "value": 0, "metric": name}

    answer = await client.post("/api/v1/feedback", json=mark)

    assert answer.status_code == 422
    detail = answer.json()["detail"]
    assert f"`metric`: there is no metric {name!r}. Did you mean 'faithfulness'?" in detail
    assert all(known in detail for known in METRIC_NAMES)
    assert answer.json()["errors"][0]["field"] == "metric"
    assert services.feedback.marks == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [*METRIC_NAMES, None])
async def test_a_mark_on_any_metric_there_is_is_taken(
    client: httpx.AsyncClient, name: str | None
) -> None:
    mark = {"trace_id": "a" * 32, "value": 0, "metric": name}

    answer = await client.post("/api/v1/feedback", json=mark)

    assert (answer.status_code, answer.json()["metric"]) == (201, name)


async def test_an_older_mark_on_something_else_is_still_shown(
    client: httpx.AsyncClient, services: Services
) -> None:
    key, stored = next(iter(services.traces.stored.items()))  # type: ignore[attr-defined]
    mark = Feedback(
        project=key[0], trace_id=key[1], value=1.0, metric="helpfulness", created_at=EPOCH
    )
    services.traces.stored[key] = replace(stored, feedback=(mark,))  # type: ignore[attr-defined]

    trace = await client.get(f"/api/v1/traces/{key[1]}")
    page = await client.get(f"/traces/{key[1]}", headers={"accept": "text/html"})

    assert [one["metric"] for one in trace.json()["feedback"]] == ["helpfulness"]
    assert (page.status_code, "helpfulness" in page.text.lower()) == (200, True)


async def test_the_document_lists_the_metrics_there_are(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()

    mark = document["components"]["schemas"]["FeedbackIn"]["properties"]["metric"]
    asked = document["paths"]["/api/v1/series"]["get"]["parameters"]
    assert mark["anyOf"][0]["enum"] == list(METRIC_NAMES)
    (series,) = [one["schema"]["enum"] for one in asked if one["name"] == "metric"]
    assert series == [*METRIC_NAMES, *FAULT_METRICS, "satisfaction_rate", *SESSION_METRICS]


async def test_a_time_is_no_metric_and_said_to_be_elsewhere(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/series?app=loan-assistant&metric=end_to_end_ms")

    assert answer.status_code == 422
    assert "is a time, not a score; `/api/v1/summary` has it" in answer.json()["detail"]


async def test_two_releases_are_compared_in_words_and_numbers(client: httpx.AsyncClient) -> None:
    where = "/api/v1/releases/compare?app=loan-assistant&release=2.1.0&against="

    found = (await client.get(where + "2.0.3")).json()["changes"]
    wrong = await client.get(where + "2.0.4")

    assert len(found) == len({item["metric"] for item in found})
    change = next(item for item in found if item["metric"] == "faithfulness")
    assert change["sentence"].startswith("faithfulness, 2.1.0 against 2.0.3: ")
    assert "95% interval" in change["sentence"]
    assert change["lower"] <= change["value"] <= change["upper"]
    assert (change["first"]["release"], change["second"]["release"]) == ("2.1.0", "2.0.3")
    assert wrong.status_code == 422
    assert wrong.json()["detail"].startswith("`against`: there is no release '2.0.4'. Did you mean")
    assert "'2.0.3'" in wrong.json()["detail"]


@pytest.mark.parametrize("given", ["q-1", "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"])
async def test_an_id_of_the_senders_own_is_refused_with_where_the_traces_id_is(
    client: httpx.AsyncClient, given: str
) -> None:
    marked = await client.post("/api/v1/feedback", json={"trace_id": given, "value": 0})
    read = await client.get(f"/api/v1/traces/{given}")

    for answer in (marked, read):
        assert answer.status_code == 422
        assert "32 hex digits" in answer.json()["detail"]
        assert "`trace_ids` in the answer of POST /api/v1/traces" in answer.json()["detail"]


async def test_a_trace_id_in_capitals_is_the_same(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/feedback", json={"trace_id": "A" * 32, "value": 0})

    assert (answer.status_code, answer.json()["trace_id"]) == (201, "a" * 32)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("alerts?stat=firing", "'state'"),
        ("summary?windw=24h", "'window'"),
        ("traces?relase=1", "'release'"),
        ("keys?page=2", "Known are project."),
        ("rules?app=a", "None is taken here."),
    ],
)
async def test_a_parameter_that_is_none_is_refused(
    client: httpx.AsyncClient, path: str, hint: str
) -> None:
    answer = await client.get(f"/api/v1/{path}")

    assert answer.status_code == 422
    assert hint in answer.json()["detail"]
    name = path.partition("?")[2].partition("=")[0]
    assert answer.json()["detail"].startswith(f"`{name}`: there is no parameter {name!r}.")
