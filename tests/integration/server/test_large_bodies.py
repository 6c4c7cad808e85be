"""One setting says how large a body may be, compressed or not, on every way in."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from rag_monitor.config import load_settings
from rag_monitor.domain.clock import SystemClock
from rag_monitor.server.app import create_app
from rag_monitor.server.wiring import wire_services
from rag_monitor.store.store import Store
from rag_monitor.worker.runtime import build_runtime
from tests.unit.ingest.evidence import request, span
from tests.unit.server.conftest import open_app

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(("allowed", "status"), [(2_000_000, 200), (500_000, 413)])
async def test_the_largest_body_is_the_one_that_was_set(
    tmp_path: Path, allowed: int, status: int
) -> None:
    given = {
        "RAG_MONITOR_DATABASE_URL": f"sqlite:///{tmp_path / 'm.db'}",
        "RAG_MONITOR_ROLE": "ingest",
        "RAG_MONITOR_HTTP_MAX_BODY_BYTES": str(allowed),
    }
    settings = load_settings(None, given)
    clock = SystemClock()
    store = Store.open(settings.store_options, clock)
    runtime = build_runtime(settings, store, clock, "test")
    app = create_app(wire_services(settings, store, runtime, clock))
    spans = request(span(1, "root", {"input.value": "q" * 1_000_000}))
    row = json.dumps({"question": "q" * 1_000_000, "answer": "a"}).encode()
    packed = JSON | {"content-encoding": "gzip"}
    store.writer.start()
    try:
        async with open_app(app) as client:
            answers = [
                await client.post("/v1/traces", content=spans, headers=JSON),
                await client.post("/v1/traces", content=gzip.compress(spans), headers=packed),
                await client.post("/api/v1/traces", content=row, headers=JSON),
            ]
    finally:
        store.close()
        await runtime.close()

    assert [answer.status_code for answer in answers] == [status] * 3


def test_a_limit_of_its_own_keeps_what_is_read_smaller() -> None:
    given = {"RAG_MONITOR_INGEST_MAX_BYTES": "1000", "RAG_MONITOR_HTTP_MAX_BODY_BYTES": "5000"}
    assert load_settings(None, given).ingest_options.max_bytes == 1000


def test_what_is_read_grows_with_what_is_admitted() -> None:
    given = {"RAG_MONITOR_HTTP_MAX_BODY_BYTES": str(64 * 2**20)}
    assert load_settings(None, given).ingest_options.max_bytes == 64 * 2**20
