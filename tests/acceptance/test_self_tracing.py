"""A monitor that is told of its own work: apart from the rest, judged by nobody, without end."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rag_monitor import semconv
from rag_monitor.self_tracing import INGEST, JUDGE, RULES
from tests.acceptance.running import Monitor, eventually, http
from tests.security.databases import new_database

KEY = "operator"
QUESTIONS = 3


def call(monitor: Monitor, method: str, path: str, body: Any = None, key: str = KEY) -> Any:
    """A JSON request that succeeds."""
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    reply = http(method, monitor.url + path, content, headers)
    assert reply.status == 200, reply.body
    return reply.json


def otlp(number: int) -> dict[str, Any]:
    """A request of an application: one span with a question and an answer."""
    attributes = {
        "openinference.span.kind": "CHAIN",
        "input.value": f"How long is warranty {number}?",
        "output.value": "It lasts 24 months.",
    }
    given: list[dict[str, Any]] = [
        {"key": key, "value": {"stringValue": value}} for key, value in attributes.items()
    ]
    span = {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "answer",
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": "1790000001000000000",
        "attributes": [*given, {"key": semconv.COMPLETE, "value": {"boolValue": True}}],
    }
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [span]}]}]}


def work(monitor: Monitor, key: str) -> Counter[str]:
    """What the monitor was told of its own work, by name."""
    items = call(monitor, "GET", "/api/v1/traces?limit=500", key=key)["items"]
    return Counter(item["question"] for item in items)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_own_work_is_a_project_apart_and_brings_no_further_work(tmp_path: Path) -> None:
    with new_database("sqlite", tmp_path) as url:
        monitor = Monitor(tmp_path, url, RAG_MONITOR_API_KEY=KEY)
        monitor.start()
        given = {"name": "own", "project": "own", "scopes": ["ingest", "read", "write"]}
        made = http(
            "POST",
            f"{monitor.url}/api/v1/keys",
            json.dumps(given).encode(),
            {"X-API-Key": KEY, "Content-Type": "application/json"},
        ).json
        own = made["secret"]
        monitor.stop()
        (tmp_path / "rag_monitor.toml").write_text(
            f"""
            [worker]
            rules_every_s = 0.5
            [own_traces]
            endpoint = "{monitor.url}"
            api_key = "{own}"
            allow_private = true
            ingest_rate = 1.0
            every_s = 0.2
            """,
            encoding="utf-8",
        )
        monitor.start()
        try:
            for number in range(QUESTIONS):
                call(monitor, "POST", "/v1/traces", otlp(number))
            eventually(lambda: work(monitor, own)[INGEST] == QUESTIONS, 120)
            eventually(lambda: work(monitor, own)[JUDGE] >= 1, 120)
            judged = eventually(lambda: _all_judged(monitor), 120)
            before = work(monitor, own)
            # Runs of the rules are noted all the time: that many more requests have come in.
            eventually(lambda: work(monitor, own)[RULES] >= before[RULES] + 6, 120)
            after = work(monitor, own)
            eventually(lambda: _nothing_waits(monitor), 120)

            assert after[INGEST] == QUESTIONS
            assert after[JUDGE] <= QUESTIONS
            assert set(after) == {INGEST, JUDGE, RULES}
            assert {item["app"] for item in judged} != {"rag-monitor"}
            assert len(judged) == QUESTIONS
            for item in call(monitor, "GET", "/api/v1/traces?limit=500", key=own)["items"]:
                stored = call(monitor, "GET", f"/api/v1/traces/{item['trace_id']}", key=own)
                assert stored["app"] == "rag-monitor"
                assert stored["scores"] == []
                assert stored["timings"]["end_to_end_ms"] >= 0
        finally:
            assert monitor.stop() == 0


def _all_judged(monitor: Monitor) -> Any:
    items = call(monitor, "GET", "/api/v1/traces")["items"]
    stored = [call(monitor, "GET", f"/api/v1/traces/{item['trace_id']}") for item in items]
    return items if stored and all(trace["scores"] for trace in stored) else None


def _nothing_waits(monitor: Monitor) -> bool:
    ready = http("GET", f"{monitor.url}/metrics", headers={"X-API-Key": KEY}).body.decode()
    return 'rag_monitor_queue_depth{queue="evaluation"} 0' in ready
