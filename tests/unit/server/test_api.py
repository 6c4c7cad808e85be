"""The API over fakes: what each endpoint answers, and how it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote

import httpx
import pytest

from rag_monitor.domain.alert import AlertRule, RuleKind
from rag_monitor.server.readiness import HealthReport
from rag_monitor.server.services import Services
from rag_monitor.store.label_queue import LabelQuery
from tests.unit.server.conftest import open_client


async def first_id(client: httpx.AsyncClient) -> str:
    page = (await client.get("/api/v1/traces", params={"limit": 1})).json()
    return str(page["items"][0]["trace_id"])


async def test_traces_are_listed_page_by_page(client: httpx.AsyncClient) -> None:
    first = (await client.get("/api/v1/traces", params={"limit": 40})).json()
    second = (
        await client.get("/api/v1/traces", params={"limit": 40, "cursor": first["next_cursor"]})
    ).json()

    assert len(first["items"]) == 40
    assert len(second["items"]) == 20
    assert second["next_cursor"] is None


async def test_every_filter_reaches_the_store(
    client: httpx.AsyncClient, services: Services
) -> None:
    params = {
        "app": "support-bot",
        "release": "2.1.0",
        "from": "2026-01-01T00:00:00Z",
        "to": "2026-02-01T00:00:00+08:00",
        "metric": "faithfulness",
        "below": "0.8",
        "status": "ok",
        "q": "warranty",
    }

    answer = await client.get("/api/v1/traces", params=params)

    query = services.traces.queries[-1]
    assert answer.status_code == 200
    assert (query.app, query.release, query.metric) == ("support-bot", "2.1.0", "faithfulness")
    assert (query.below, query.status, query.q) == (0.8, "ok", "warranty")
    assert query.since is not None
    assert query.until is not None


@pytest.mark.parametrize(
    "query",
    [
        "limit=-1",
        "limit=0",
        "limit=1000000000",
        "limit=NaN",
        "limit=1;DROP TABLE",
        "cursor=nonsense",
        "below=0.5",
        "metric=faithfulness&below=NaN",
        "metric=(select 1)",
        "status=great",
        "from=yesterday",
        "from=2026-01-01T00:00:00",
        "from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
        "order_by=password",
        "q=" + "%25" * 600,
        "app=a%00b",
    ],
)
async def test_a_wrong_query_is_refused(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.get(f"/api/v1/traces?{query}")

    assert answer.status_code == 422
    assert answer.json()["detail"]


async def test_a_trace_is_read_with_its_scores(client: httpx.AsyncClient) -> None:
    trace = (await client.get(f"/api/v1/traces/{await first_id(client)}")).json()

    faithfulness = next(s for s in trace["scores"] if s["metric"] == "faithfulness")
    assert faithfulness["judge"] == "embedded/full/3f9a/v1"
    assert faithfulness["verdicts"][1]["reason"] == "number_mismatch"
    assert faithfulness["detail"] is None
    failed = next(s for s in trace["scores"] if s["status"] == "failed")
    assert (failed["reason"], failed["detail"]) == (
        "judge_timeout",
        "the judge did not answer within 30.0 s",
    )
    assert [d["id"] for d in trace["contexts"]] == ["doc-1", "doc-2", "doc-3"]
    assert trace["timings"]["first_byte_ms"] == 310.0


async def test_the_decisions_of_a_trace_say_why(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"/api/v1/decisions/{await first_id(client)}")

    assert answer.json()["decisions"][0]["reason"] == "always"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/api/v1/traces/{'0' * 31}1", 404),
        ("/api/v1/traces/xyz", 422),
        ("/api/v1/traces/..%2f..%2fetc%2fpasswd", 404),
        ("/nothing/here", 404),
        ("/v1/traces", 405),
    ],
)
async def test_what_is_not_there_is_said_to_be_not_there(
    client: httpx.AsyncClient, path: str, status: int
) -> None:
    answer = await client.get(path)

    assert answer.status_code == status


async def test_traces_that_wait_for_a_mark_say_why(
    client: httpx.AsyncClient, services: Services
) -> None:
    answer = await client.get("/api/v1/labels/waiting?window=24h&limit=2&reviewer=amy")

    items = answer.json()["items"]
    assert [(item["reason"], item["low"], item["high"]) for item in items] == [
        ("drawn", None, None),
        ("judges_disagree", 0.2, 0.9),
    ]
    assert items[0]["trace"]["question"]
    ((query, limit),) = services.label_queue.asked
    since = services.clock.now() - timedelta(hours=24)
    assert query == LabelQuery(project="default", since=since, reviewer="amy")
    assert limit == 2
    assert (await client.get("/api/v1/labels/waiting?limit=0")).status_code == 422


async def test_the_summary_holds_every_app(client: httpx.AsyncClient) -> None:
    summary = (await client.get("/api/v1/summary", params={"window": "24h"})).json()

    loan = next(a for a in summary["apps"] if a["app"] == "loan-assistant")
    assert [a["app"] for a in summary["apps"]] == ["loan-assistant", "support-bot"]
    assert loan["open_alerts"] == 1
    assert loan["traces"]["ok"] == 2117
    assert {m["metric"] for m in loan["metrics"]} >= {"faithfulness", "context_precision"}
    assert loan["latency"][0]["p90"] == 640.0
    assert loan["routing"][0]["fn"] == 13
    (base,) = loan["knowledge_bases"]
    assert base["name"] == "贷款知识库"
    assert {m["knowledge_base"] for m in base["metrics"]} == {"贷款知识库"}
    assert "faithfulness" in {m["metric"] for m in base["metrics"]}
    assert {m["knowledge_base"] for m in loan["metrics"]} == {None}


async def test_a_series_has_one_point_per_step(client: httpx.AsyncClient) -> None:
    params = {"app": "support-bot", "metric": "faithfulness", "window": "24h", "step": "1h"}

    series = (await client.get("/api/v1/series", params=params)).json()

    assert len(series["points"]) == 24
    assert series["judge"] == "combined"
    assert series["points"][0]["lower"] < series["points"][0]["value"]


@pytest.mark.parametrize(
    "query",
    [
        "metric=faithfulness",
        "app=a&metric=faithfulness&window=400d&step=1m",
        "app=a&metric=faithfulness&window=forever",
        "app=a&metric=faithfulness&window=500d",
        "app=a&metric=faithfulness&from=1026-01-01T00:00:00Z",
        "app=a&metric=faithfulness&from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    ],
)
async def test_a_wrong_window_is_refused(client: httpx.AsyncClient, query: str) -> None:
    assert (await client.get(f"/api/v1/series?{query}")).status_code == 422


async def test_a_summary_of_an_unknown_app_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/summary?app=nobody")).status_code == 404


async def test_rules_are_replaced_as_a_set(client: httpx.AsyncClient, services: Services) -> None:
    rule = {"name": "low", "kind": "threshold", "metric": "faithfulness", "params": {"limit": 0.7}}

    answer = await client.put("/api/v1/rules", json={"rules": [rule]})

    assert answer.status_code == 200
    assert [r["name"] for r in answer.json()["rules"]] == ["low"]
    assert services.rules.all("default") == [
        AlertRule(
            name="low",
            kind=RuleKind.THRESHOLD,
            metric="faithfulness",
            window_s=None,
            params={"limit": 0.7},
        )
    ]


async def test_one_wrong_rule_saves_none(client: httpx.AsyncClient, services: Services) -> None:
    good = {"name": "quiet", "kind": "no_data"}
    wrong = {"name": "low", "kind": "threshold", "metric": "faithfulness"}

    answer = await client.put("/api/v1/rules", json={"rules": [good, wrong]})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "rules.1"
    assert "quiet" not in services.rules.rules


@pytest.mark.parametrize(
    "change",
    [
        {"window_s": 0},
        {"window_s": 1e12},
        {"min_judged": 0},
        {"kind": "magic"},
        {"params": {"x": float("inf")}},
        {"expression": "1 + 1"},
    ],
)
async def test_a_rule_out_of_bounds_is_refused(
    client: httpx.AsyncClient, change: dict[str, object]
) -> None:
    body = json.dumps({"name": "r", "kind": "no_data", **change})

    answer = await client.post(
        "/api/v1/rules/check", content=body, headers={"content-type": "application/json"}
    )

    assert answer.status_code == 422


async def test_a_rule_is_checked_without_being_saved(
    client: httpx.AsyncClient, services: Services
) -> None:
    good = await client.post("/api/v1/rules/check", json={"name": "r", "kind": "no_data"})
    wrong = await client.post("/api/v1/rules/check", json={"name": "r", "kind": "threshold"})

    assert (good.status_code, good.json()["ok"]) == (200, True)
    assert wrong.status_code == 422
    assert "params.limit" in wrong.json()["detail"]
    assert "r" not in services.rules.rules


async def test_a_rule_for_an_app_without_traces_comes_with_a_warning(
    client: httpx.AsyncClient, services: Services
) -> None:
    (known, *_) = services.traces.apps("default")
    rule = {"name": "r", "kind": "no_data"}

    for app, warned in (("*", 0), (known.app, 0), (known.app + "s", 1)):
        answer = await client.post("/api/v1/rules/check", json={**rule, "app": app})
        assert answer.status_code == 200
        warnings = answer.json()["warnings"]
        assert len(warnings) == warned
    assert f"did you mean {known.app!r}?" in warnings[0]


async def test_an_alert_is_acknowledged(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/alerts/al-1/acknowledge", json={"by": "mei"})
    bodyless = await client.post("/api/v1/alerts/al-2/acknowledge")
    unknown = await client.post("/api/v1/alerts/al-9/acknowledge")

    assert answer.json()["acknowledged_by"] == "mei"
    assert bodyless.json()["acknowledged_by"] == "local"
    assert unknown.status_code == 404


async def test_alerts_are_listed_by_state(client: httpx.AsyncClient) -> None:
    firing = (await client.get("/api/v1/alerts?state=firing")).json()["alerts"]
    every = (await client.get("/api/v1/alerts")).json()["alerts"]

    assert [a["id"] for a in firing] == ["al-1"]
    assert [a["id"] for a in every] == ["al-1", "al-2"]
    assert firing[0]["finding"]["baseline"] == 0.912
    assert firing[0]["finding"]["level"] == 0.95
    assert firing[0]["finding"]["onset_at"] == "2026-01-05T11:18:00Z"


async def test_a_silence_lives_and_ends(client: httpx.AsyncClient) -> None:
    made = await client.post(
        "/api/v1/silences", json={"app": "loan-assistant", "ends_at": "2026-01-05T13:00:00Z"}
    )
    listed = (await client.get("/api/v1/silences")).json()["silences"]
    gone = await client.delete(f"/api/v1/silences/{made.json()['id']}")
    again = await client.delete(f"/api/v1/silences/{made.json()['id']}")

    assert made.status_code == 201
    assert len(listed) == 1
    assert (gone.status_code, again.status_code) == (204, 404)
    assert "content-type" not in gone.headers


@pytest.mark.parametrize("ends_at", ["2026-01-05T11:00:00Z", "2196-01-05T11:00:00Z"])
async def test_a_silence_that_is_over_or_endless_is_refused(
    client: httpx.AsyncClient, ends_at: str
) -> None:
    answer = await client.post("/api/v1/silences", json={"ends_at": ends_at})

    assert answer.status_code == 422


async def test_a_silence_that_would_be_over_already_is_refused_with_the_time(
    client: httpx.AsyncClient,
) -> None:
    """It would mute nothing, and be found out in the night it was made for."""
    times = {"starts_at": "2026-01-05T09:00:00Z", "ends_at": "2026-01-05T11:00:00Z"}
    answer = await client.post("/api/v1/silences", json=times)

    assert answer.status_code == 422
    assert "it is 2026-01-05T12:00:00Z now" in answer.json()["detail"]


async def test_a_backfill_is_previewed_before_it_starts(
    client: httpx.AsyncClient, services: Services
) -> None:
    preview = (await client.post("/api/v1/evaluations", json={"app": "support-bot"})).json()
    started = (await client.post("/api/v1/evaluations", json={"preview": False})).json()

    assert (preview["traces"], preview["queued"]) == (120, 0)
    assert started["queued"] == 120
    assert len(services.evaluations.started) == 1


async def test_a_user_is_erased(client: httpx.AsyncClient, services: Services) -> None:
    answer = await client.delete("/api/v1/users/u-7")

    assert answer.json()["traces"] == 2
    assert services.traces.erased == ["u-7"]


@pytest.mark.parametrize(
    "user", ["team/alice", "https://id.example/u?7#x", "a\tb", "50%", "用户", "x" * 900]
)
async def test_a_user_of_any_name_is_erased(
    client: httpx.AsyncClient, services: Services, user: str
) -> None:
    answer = await client.delete(f"/api/v1/users/{quote(user, safe='')}")

    assert answer.json()["user_id"] == user
    assert services.traces.erased == [user]


@pytest.mark.parametrize("user", ["", "a%00b", "x" * 1001])
async def test_a_name_that_no_user_can_have_is_refused(
    client: httpx.AsyncClient, services: Services, user: str
) -> None:
    assert (await client.delete(f"/api/v1/users/{user}")).status_code == 422
    assert services.traces.erased == []


async def test_the_process_says_how_it_is(client: httpx.AsyncClient) -> None:
    metrics = await client.get("/metrics")

    assert (await client.get("/healthz")).json()["status"] == "ok"
    assert (await client.get("/readyz")).json()["checks"] == {"store": "ok"}
    assert metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert metrics.content.startswith(b"# HELP")


async def test_a_process_that_is_ready_though_something_is_wrong_says_so(
    services: Services,
) -> None:
    checks = {"store": "ok", "ingest": "the disk of the database is full"}
    report = HealthReport(ready=True, checks=checks)
    async with open_client(replace(services, health=lambda: report)) as client:
        answer = await client.get("/readyz")

    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["checks"] == checks


async def test_a_latency_is_no_series_of_scores(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/series?app=bank-faq&metric=first_byte_ms")

    assert answer.status_code == 422
    assert "summary" in answer.json()["detail"]


@pytest.mark.parametrize(
    "moment", ["9999-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
)
async def test_a_time_far_from_ours_is_refused_in_words_people_read(
    client: httpx.AsyncClient, moment: str
) -> None:
    answer = await client.get("/api/v1/summary", params={"from": moment})

    assert answer.status_code == 422
    assert "`from`: must be a time from 1990-01-01 to 2200-01-01" in answer.json()["detail"]
