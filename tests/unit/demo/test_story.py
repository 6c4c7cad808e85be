"""The parts of the story that need no processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from rag_monitor.demo.monitor import (
    MonitorApi,
    Observed,
    median_timing,
    watched_rules,
    with_demo_rules,
)
from rag_monitor.demo.processes import StoryError
from rag_monitor.demo.story import (
    base_environment,
    chosen_questions,
    firing,
    grown_stage,
    monitor_environment,
)

SHIPPED: dict[str, Any] = {
    "name": "faithfulness drops",
    "app": "*",
    "kind": "drop",
    "metric": "faithfulness",
    "window_s": 3600.0,
    "severity": "page",
    "params": {"min_drop": 0.1},
}


def test_shipped_rules_keep_their_names_and_the_missing_one_is_written() -> None:
    other = {"name": "slow", "kind": "latency", "metric": "end_to_end_ms"}

    rules = with_demo_rules([SHIPPED, other], ("faithfulness", "context_precision"))

    by_metric = {rule["metric"]: rule for rule in rules}
    assert by_metric["faithfulness"]["name"] == "faithfulness drops"
    assert by_metric["faithfulness"]["severity"] == "page"
    assert by_metric["faithfulness"]["params"]["min_drop"] == 0.1
    assert by_metric["context_precision"]["kind"] == "drop"
    assert by_metric["end_to_end_ms"] == other


def test_only_rules_of_what_is_broken_are_watched() -> None:
    rules = with_demo_rules([SHIPPED], ("context_precision",))

    assert watched_rules(rules, ("context_precision",)) == {
        "context_precision": "context_precision drop"
    }
    assert SHIPPED in rules


def test_the_stage_whose_share_grew_most_is_told() -> None:
    def phase(*stages: str | None) -> Observed:
        return Observed(
            traces={
                str(place): {"scores": [], "faults": [{"stage": stage}, {"stage": "routing"}]}
                for place, stage in enumerate(stages)
            }
        )

    before = phase("generation", None, None, None)
    after = phase("generation", "retrieval", "retrieval", None)

    assert before.stages_at_fault() == {"generation": 0.25}
    assert after.stages_at_fault() == {"retrieval": 0.5, "generation": 0.25}
    assert grown_stage(before, after) == "retrieval"
    assert grown_stage(after, after) is None
    assert grown_stage(before, Observed()) is None


def test_questions_alternate_between_languages_and_repeat_when_there_are_too_few() -> None:
    chosen = chosen_questions(200)

    assert len(chosen) == 200
    assert [q.language for q in chosen[:4]] == ["zh", "en", "zh", "en"]
    assert {q.plugin for q in chosen[:10]} == {"rate_calculator", "order_lookup", None}


def test_settings_of_the_machine_do_not_change_the_story() -> None:
    env = {"PATH": "/bin", "RAG_MONITOR_API_KEY": "k", "OTEL_SDK_DISABLED": "true"}

    assert set(base_environment(env)) & set(env) == {"PATH"}
    monitor = monitor_environment(env, Path("/tmp/x.db"), "http://127.0.0.1:1")
    assert monitor["RAG_MONITOR_DATABASE_URL"] == "sqlite:////tmp/x.db"


def test_means_leave_out_what_was_not_scored() -> None:
    def score(status: str, value: float | None) -> dict[str, Any]:
        return {"metric": "faithfulness", "status": status, "value": value, "judge": "embedded/m/1"}

    seen = Observed(
        traces={
            "a": {"scores": [score("scored", 1.0)], "timings": {"first_byte_ms": 3.0}},
            "b": {"scores": [score("scored", 0.5)], "timings": {"first_byte_ms": 5.0}},
            "c": {"scores": [score("not_applicable", None)], "timings": None},
        }
    )

    assert seen.mean("faithfulness") == 0.75
    assert seen.mean("context_precision") is None
    assert seen.scored() == 2
    assert seen.judges() == ["embedded"]
    assert median_timing(seen.traces.values(), "first_byte_ms") == 4.0


def test_only_firing_alerts_count() -> None:
    assert firing([{"rule": "a", "state": "pending"}, {"rule": "b", "state": "firing"}]) == ["b"]


async def test_following_skips_what_was_seen_and_reads_every_page() -> None:
    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        if request.url.path == "/api/v1/traces":
            second = request.url.params.get("cursor") == "2"
            return httpx.Response(
                200,
                json={
                    "items": [{"trace_id": "c"}] if second else [{"trace_id": i} for i in "ab"],
                    "next_cursor": None if second else "2",
                },
            )
        scores = [] if request.url.path.endswith("c") else [{"metric": "m", "status": "scored"}]
        return httpx.Response(200, json={"scores": scores})

    seen = Observed()
    transport = httpx.MockTransport(handler)
    async with httpx.AsyncClient(transport=transport, base_url="http://m") as http:
        await MonitorApi(http, "service-desk").follow(seen, skip=["a"])

    assert list(seen.traces) == ["b"]
    assert "/api/v1/traces/a" not in asked


async def test_hit_rates_come_from_the_prometheus_page() -> None:
    text = (
        "# TYPE rag_monitor_hit_ratio gauge\n"
        'rag_monitor_hit_ratio{app="service-desk",kind="plugin",name="p",basis="all"} 0.25\n'
        'rag_monitor_hit_ratio{app="other",kind="plugin",name="p",basis="all"} 1\n'
    )
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=text))
    async with httpx.AsyncClient(transport=transport, base_url="http://m") as http:
        assert await MonitorApi(http, "service-desk").hit_rates() == {"plugin/p/all": 0.25}


async def test_a_refusal_of_the_monitor_ends_the_story_with_its_words() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(422, text="no such metric"))
    async with httpx.AsyncClient(transport=transport, base_url="http://m") as http:
        with pytest.raises(StoryError, match=r"422 to PUT /api/v1/rules: no such metric"):
            await MonitorApi(http, "service-desk").save_rules([SHIPPED])
