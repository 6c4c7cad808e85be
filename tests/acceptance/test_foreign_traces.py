"""Traces that other instrumentations send, posted as they are, end up understood."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.running import Monitor, eventually, monitor

pytestmark = [pytest.mark.slow, pytest.mark.shared, pytest.mark.timeout(240)]

FILES = ("min_genai.json", "min_openinference.json", "min_openllmetry.json", "min_langfuse.json")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    folder = tmp_path_factory.mktemp("foreign")
    with monitor(
        folder,
        f"sqlite:///{folder / 'monitor.db'}",
        RAG_MONITOR_STORE_ROOT_DELAY_S="1",
        RAG_MONITOR_STORE_ROOTLESS_DELAY_S="2",
    ) as started:
        yield started


def _one_by_one(payload: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """Every span as a request of its own, in any order."""
    requests = [
        {"resourceSpans": [{**resource, "scopeSpans": [{**scope, "spans": [span]}]}]}
        for resource in payload["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    random.Random(seed).shuffle(requests)
    return requests


@pytest.mark.parametrize("split", [False, True], ids=["whole", "span by span"])
@pytest.mark.parametrize("name", FILES)
def test_what_can_be_recovered_is_recovered(
    running: Monitor, shared_data: Path, name: str, split: bool
) -> None:
    payload = json.loads((shared_data / "otlp" / name).read_text())
    expected = json.loads((shared_data / "otlp" / "expected.json").read_text())
    requests = _one_by_one(payload, seed=len(name)) if split else [payload]

    for request in requests:
        assert running.post("/v1/traces", json.dumps(request).encode()).status == 200

    for wanted in expected["files"][name]["traces"]:
        path = f"/api/v1/traces/{wanted['trace_id']}"
        found = eventually(
            lambda path=path: (reply := running.get(path)).status == 200 and reply.json, 30
        )
        assert found["question"] == wanted["question"]
        assert found["answer"] == wanted["answer"]
        assert found["model"] == wanted["model"]
        assert found["session_id"] == wanted["conversation_id"]
        documents = [(d.get("id"), d.get("content"), d.get("score")) for d in found["contexts"]]
        assert documents == [(d["id"], d["text"], d["score"]) for d in wanted["contexts"]]
